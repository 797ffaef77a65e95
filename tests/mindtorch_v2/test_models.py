"""Seeded models start from PyTorch's weights and train along PyTorch's losses."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import mindtorch_v2 as torch

from ..tolerances import nudged, rounding_of_run
from . import models

ANSWERS = json.loads((pathlib.Path(__file__).parent / "data" / "models.json").read_text())


def _nudge(number: int) -> models.Change | None:
    def change(model: object) -> None:
        with torch.no_grad():
            for i, p in enumerate(model.parameters()):  # type: ignore[attr-defined]
                p.copy_(torch.from_numpy(nudged(p.detach().numpy(), 1000 * number + i)))

    return change if number else None


def _numbers(answer: dict) -> list[float]:
    return [*answer["losses"], *answer["norms"], answer["eval"], *answer["state"].values()]


@pytest.mark.parametrize("name", models.MODELS)
@pytest.mark.parametrize("optimizer", models.OPTIMIZERS)
def test_trains_as_pytorch(name: str, optimizer: str) -> None:
    want = ANSWERS[f"{name}-{optimizer}"]
    got = models.train(torch, name, optimizer)
    assert got["state"].keys() == want["state"].keys()
    bound = rounding_of_run(lambda k: _numbers(models.train(torch, name, optimizer, _nudge(k))))
    difference = np.abs(np.subtract(_numbers(got), _numbers(want)))
    wrong = {
        key: (a, b)
        for key, a, b, is_off in zip(_labels(want), _numbers(got), _numbers(want), difference > bound)
        if is_off
    }
    assert not wrong, f"(ours, PyTorch's) where they differ by more than rounding: {wrong}"


@pytest.mark.parametrize("name", models.MODELS)
@pytest.mark.parametrize("optimizer", models.OPTIMIZERS)
def test_trains_as_pytorch_in_double_precision(name: str, optimizer: str) -> None:
    """Rounding is a billion times smaller here, so that any difference in a formula shows."""
    want = ANSWERS[f"{name}-{optimizer}-float64"]
    got = models.train(torch, name, optimizer, dtype="float64")
    assert dict(zip(_labels(got), _numbers(got))) == pytest.approx(
        dict(zip(_labels(want), _numbers(want))), rel=1e-9, abs=1e-12
    )


def _labels(answer: dict) -> list[str]:
    steps = [f"{what} {i}" for what in ("loss", "norm") for i in range(len(answer["losses"]))]
    return [*steps, "eval", *answer["state"]]
