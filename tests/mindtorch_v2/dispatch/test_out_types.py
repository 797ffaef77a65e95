"""Which types `out=` may have: PyTorch's answers for ops whose declaration alone does not tell."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch

FLOATS, WHOLE = torch.tensor([[0.25, 0.5], [0.75, 1.0]]), torch.tensor([1, 2, 3])
BOUNDS = [torch.clamp, torch.clip]
ONE_BOUND = [torch.clamp_min, torch.clamp_max]


@pytest.mark.parametrize("function", [*BOUNDS, *ONE_BOUND], ids=lambda f: f.__name__)
@pytest.mark.parametrize("out", ["float64", "float16", "complex64", "int64"])
def test_bounds_that_are_numbers_keep_the_type(function: Any, out: str) -> None:
    words = {"float64": "Double", "float16": "Half", "complex64": "ComplexFloat", "int64": "Long"}
    target = torch.empty(0, dtype=getattr(torch, out))
    with pytest.raises(RuntimeError, match=f"Found dtype {words[out]} but expected Float"):
        function(FLOATS, 0.5, out=target)
    assert target.numel() == 0


@pytest.mark.parametrize("function", [*BOUNDS, *ONE_BOUND], ids=lambda f: f.__name__)
def test_bounds_that_are_numbers(function: Any) -> None:
    target = torch.empty(2, 2)
    assert function(FLOATS, 0.5, out=target) is target and torch.equal(target, function(FLOATS, 0.5))


@pytest.mark.parametrize("function", [*BOUNDS, *ONE_BOUND], ids=lambda f: f.__name__)
def test_bounds_that_are_tensors_are_cast(function: Any) -> None:
    target = torch.empty(3, dtype=torch.float64)
    assert function(WHOLE, torch.tensor([3, 2, 1]), out=target) is target
    assert target.tolist() == function(WHOLE, torch.tensor([3, 2, 1])).tolist()


@pytest.mark.parametrize(
    "arguments", [(WHOLE, 2), (2, WHOLE), (WHOLE, torch.tensor([2]))], ids=["number", "of", "tensors"]
)
def test_membership(arguments: tuple[Any, Any]) -> None:
    want = torch.isin(*arguments)
    target = torch.empty_like(want)
    assert torch.isin(*arguments, out=target) is target and torch.equal(target, want)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype bool, but got float instead"):
        torch.isin(*arguments, out=torch.empty(0))


@pytest.mark.parametrize(
    "function, arguments", [(torch.nuclear_norm, ()), (torch.nuclear_norm, ((0, 1),)), (torch.frobenius_norm, (0,))]
)
def test_norms(function: Any, arguments: tuple[Any, ...]) -> None:
    want = function(FLOATS, *arguments)
    target = torch.empty_like(want)
    assert function(FLOATS, *arguments, out=target) is target and torch.equal(target, want)
    said = "dtype Float but got: Double" if function is torch.nuclear_norm else "dtype float, but got double instead"
    with pytest.raises(RuntimeError, match=f"[eE]xpected out tensor (to have )?{said}"):
        function(FLOATS, *arguments, out=torch.empty(0, dtype=torch.float64))
