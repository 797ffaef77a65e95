"""Which events carry a sequence number, and which one: PyTorch's answers."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.utils.checkpoint  # noqa: F401  (cases call it)

from ...oracle.sequence_cases import all_calls, numbered_events

ANSWERS = json.loads((pathlib.Path(__file__).parents[2] / "oracle" / "data" / "sequence_numbers.json").read_text())


@pytest.mark.parametrize("first", range(0, len(all_calls()), 40))
def test_numbers_are_pytorchs(first: int) -> None:
    wrong = {}
    for call in all_calls()[first : first + 40]:
        found = numbered_events(torch, np, call)
        if found != ANSWERS[call]:
            wrong[call] = (found, ANSWERS[call])
    assert not wrong


def test_factories_have_none_and_their_steps_neither() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    with torch.profiler.profile() as prof:
        torch.randn(2)
        torch.zeros(2)
        torch.tensor([1.0])
        torch.rand_like(x)
    assert {e.sequence_nr for e in prof.events() if e.name != "aten::detach_"} == {-1}


def test_within_an_operator_a_factory_that_takes_a_tensor_has_one() -> None:
    x = torch.ones(2, 2)
    with torch.profiler.profile() as prof:
        torch.nn.functional.dropout(x, 0.5)
    numbers = {e.name: e.sequence_nr for e in prof.events()}
    assert numbers["aten::empty_like"] == numbers["aten::dropout"] >= 0


def test_tensors_of_inference_mode_have_none() -> None:
    with torch.inference_mode():
        x = torch.ones(2)
    with torch.profiler.profile() as prof:
        x + x
        x + torch.ones(2)
    numbers = [e.sequence_nr for e in prof.events() if e.name == "aten::add"]
    assert numbers[0] == -1 and numbers[1] >= 0


def test_forward_and_backward_pair_by_number() -> None:
    """Every numbered backward node finds the operator that made it, and nothing that made none."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    with torch.profiler.profile() as prof:
        x = torch.randn(5, 4)
        loss = model(x).sum()
        loss.backward()
    forward: dict[int, list[str]] = {}
    for event in prof.events():
        if event.scope == 0 and event.sequence_nr >= 0 and not event.name.startswith("autograd::"):
            forward.setdefault(event.sequence_nr, []).append(event.name)
    pairs = {e.name: forward[e.sequence_nr] for e in prof.events() if e.scope == 1 and e.sequence_nr >= 0}
    assert pairs == {
        "SumBackward0": ["aten::sum"],
        "AddmmBackward0": ["aten::addmm"],
        "ReluBackward0": ["aten::relu"],
        "TBackward0": ["aten::linear", "aten::t"],
    }
