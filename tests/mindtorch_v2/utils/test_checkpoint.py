"""Activation checkpointing, both forms."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_early_stop


def _grads(use_reentrant: bool | None) -> list[Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1))
    x = torch.randn(5, 4, requires_grad=True)
    torch.manual_seed(1)
    out = net(x) if use_reentrant is None else checkpoint(net, x, use_reentrant=use_reentrant)
    out.sum().backward()
    return [out.detach(), x.grad, *(p.grad for p in net.parameters())]


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradients_are_the_same(use_reentrant: bool) -> None:
    for got, want in zip(_grads(use_reentrant), _grads(None)):
        assert torch.equal(got, want)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_the_function_runs_twice(use_reentrant: bool) -> None:
    calls: list[int] = []

    def f(x: Any, scale: int) -> Any:
        calls.append(scale)
        return (x * scale).exp()

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(f, x, 3, use_reentrant=use_reentrant)
    assert calls == [3]
    y.sum().backward()
    assert calls == [3, 3]


def test_recomputation_stops_early_unless_told_not_to() -> None:
    steps: list[str] = []

    def f(x: Any) -> Any:
        y = x.exp()
        steps.append("after exp")
        return y + 1

    x = torch.ones(2, requires_grad=True)
    checkpoint(f, x, use_reentrant=False).sum().backward()
    assert steps == ["after exp"]
    with set_checkpoint_early_stop(False):
        checkpoint(f, x, use_reentrant=False).sum().backward()
    assert steps == ["after exp"] * 3


def test_keyword_arguments_and_nested_outputs() -> None:
    x = torch.ones(2, requires_grad=True)
    out = checkpoint(lambda a, b: {"y": a * b, "n": 3}, x, b=x * 2, use_reentrant=False)
    out["y"].sum().backward()
    assert x.grad.tolist() == [4, 4] and out["n"] == 3


def test_nested_checkpoints() -> None:
    x = torch.tensor([0.5], requires_grad=True)

    def inner(a: Any) -> Any:
        return a.sin().exp()

    y = checkpoint(lambda a: checkpoint(inner, a * 2, use_reentrant=False).tanh(), x, use_reentrant=False)
    y.backward()
    z = torch.tensor([0.5], requires_grad=True)
    inner(z * 2).tanh().backward()
    assert torch.equal(x.grad, z.grad)


def test_sequences() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(5)])
    x = torch.randn(2, 3, requires_grad=True)
    checkpoint_sequential(net, 2, x, use_reentrant=False).sum().backward()
    got, x.grad = x.grad, None
    net(x).sum().backward()
    assert torch.equal(got, x.grad)


def test_a_function_that_changes_is_an_error() -> None:
    runs: list[int] = []

    def f(x: Any) -> Any:
        runs.append(1)
        return (x * x).tanh() if len(runs) == 1 else x * 1

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(
        CheckpointError, match="A different number of tensors was saved during the original forward and recomputation"
    ):
        checkpoint(f, x, use_reentrant=False).sum().backward()


def test_a_type_that_changes_is_an_error() -> None:
    runs: list[int] = []

    def f(x: Any) -> Any:
        runs.append(1)
        return (x * x).tanh() if len(runs) == 1 else (x.double() * x).tanh()

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(CheckpointError, match="different metadata than during the forward pass"):
        checkpoint(f, x, use_reentrant=False).sum().backward()


def test_reentrant_errors() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        checkpoint(lambda a: a.detach(), x, use_reentrant=True).sum().backward()
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(torch.tanh, x, use_reentrant=True, foo=3)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.tanh, torch.ones(2), use_reentrant=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.tanh, x)
