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


ANY_TYPE = ["float32", "float64", "complex64"]


@pytest.mark.parametrize("out", ANY_TYPE)
@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("function", [torch.matrix_power, torch.linalg.matrix_power])
def test_powers_that_are_copies_are_cast(function: Any, n: int, out: str) -> None:
    target = torch.empty(0, dtype=getattr(torch, out))
    assert function(FLOATS, n, out=target) is target and torch.equal(target.real.float(), function(FLOATS, n))


def test_powers_that_are_products_keep_the_type() -> None:
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got double instead"):
        torch.matrix_power(FLOATS, 2, out=torch.empty(0, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="matrix_power: Expected result to be safely castable from Float dtype"):
        torch.matrix_power(FLOATS, 0, out=torch.empty(0, dtype=torch.int32))


@pytest.mark.parametrize("out", [*ANY_TYPE, "int32", "bool"])
def test_sums_of_whole_numbers_go_into_any_type(out: str) -> None:
    target = torch.empty((), dtype=getattr(torch, out))
    assert torch.nansum(WHOLE, out=target) is target and target.item() == (True if out == "bool" else 6)


@pytest.mark.parametrize("out", ["int32", "bool", "complex64"])
def test_sums_of_floats_do_not(out: str) -> None:
    with pytest.raises(NotImplementedError, match='"nansum_cpu" not implemented'):
        torch.nansum(FLOATS, out=torch.empty((), dtype=getattr(torch, out)))
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        torch.nansum(FLOATS, dtype=torch.complex64)


def test_no_difference_at_all() -> None:
    target = torch.empty(0)
    assert torch.diff(FLOATS, n=0, out=target) is target and torch.equal(target, FLOATS)
    with pytest.raises(RuntimeError, match="expected scalar_type Float but found Double"):
        torch.diff(FLOATS, n=0, out=torch.empty(0, dtype=torch.float64))


def test_a_chain_of_one_matrix_is_copied() -> None:
    target = torch.empty(0, dtype=torch.int32)
    assert torch.chain_matmul(FLOATS, out=target) is target and target.tolist() == [[0, 0], [0, 1]]


NN = torch._C._nn
IMAGE = torch.arange(16.0).reshape(1, 4, 4) - 8
CALLS = {
    "linear": (lambda **k: NN.linear(FLOATS, FLOATS, **k), "Expected out tensor to have dtype float, but got double"),
    "avg_pool2d": (lambda **k: NN.avg_pool2d(IMAGE, 2, **k), "Expected out tensor to have dtype float, but got double"),
    "adaptive": (lambda **k: NN.adaptive_avg_pool2d(IMAGE, 2, **k), "expected dtype float for `output` but got dtype"),
    "hardtanh": (lambda **k: NN.hardtanh(IMAGE, **k), "Found dtype Double but expected Float"),
    "leaky_relu": (lambda **k: NN.leaky_relu(IMAGE, **k), "Found dtype Double but expected Float"),
    "elu": (lambda **k: NN.elu(IMAGE, **k), "Found dtype Double but expected Float"),
    "hash_tensor": (lambda **k: torch.hash_tensor(IMAGE, **k), "Expected result to be of dtype uint64, but got Double"),
}


@pytest.mark.parametrize("name", CALLS)
def test_low_level_functions(name: str) -> None:
    call, words = CALLS[name]
    want = call()
    target = torch.empty(0, dtype=want.dtype)
    assert call(out=target) is target and torch.equal(target, want)
    with pytest.raises(RuntimeError, match=words):
        call(out=torch.empty(0, dtype=torch.float64))
