"""What calls with `out=` give, refuse and warn of, beyond the element types of single ops: PyTorch's answers."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import mindtorch_v2 as torch

NUMBERS = torch.arange(3.0)


def warned(function: Any, *args: Any, **kwargs: Any) -> int:
    """How often a call warns that it gave its `out` another shape."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args, **kwargs)
    return sum("was resized" in str(w.message) for w in caught)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "mean", "nansum", "nanmean"])
@pytest.mark.parametrize("given, out", [("float32", "float64"), ("float64", "float32")])
def test_a_type_that_is_given_is_the_type_of_out(name: str, given: str, out: str) -> None:
    words = {"float32": ("float", "Float"), "float64": ("double", "Double")}
    said = f"Expected out tensor to have dtype {words[given][0]}, but got {words[out][0]} instead"
    if name.startswith("nan"):
        said = f"nansum: provided dtype must match dtype of result. Got {words[out][1]} and {words[given][1]}."
    target = torch.full((3,) if name.startswith("cum") else (), 7.0, dtype=getattr(torch, out))
    before = target.clone()
    with pytest.raises(RuntimeError, match=said):
        getattr(torch, name)(NUMBERS, 0, dtype=getattr(torch, given), out=target)
    assert torch.equal(target, before)


def test_a_type_without_a_mean() -> None:
    with pytest.raises(RuntimeError, match=r"nanmean\(\): could not infer output dtype.*Got: Long"):
        torch.nanmean(NUMBERS, 0, dtype=torch.int64, out=torch.empty(()))


@pytest.mark.parametrize("name", ["floor_divide", "heaviside"])
def test_ops_without_a_gradient_refuse_an_out_that_has_one(name: str) -> None:
    function, x = getattr(torch, name), torch.ones(3, requires_grad=True)
    target = torch.zeros(3)
    assert function(x, torch.full((3,), 2.0), out=target) is target and not target.requires_grad
    with pytest.raises(RuntimeError, match=rf"aten::{name}\(\): functions with out=... arguments don't support"):
        function(x.detach(), torch.ones(3), out=torch.zeros(3, requires_grad=True))


@pytest.mark.parametrize("name", ["kthvalue", "mode", "median"])
def test_two_outputs_of_another_shape(name: str) -> None:
    k = (1,) if name == "kthvalue" else ()
    outs = torch.empty(5), torch.empty(5, dtype=torch.int64)
    assert warned(getattr(torch, name), torch.eye(3), *k, dim=0, out=outs) == 2
    assert [t.shape for t in outs] == [(3,), (3,)]


def test_who_does_not_warn() -> None:
    outs = torch.empty(5), torch.empty(5, dtype=torch.int64)
    assert warned(torch.mode, torch.tensor(1.0), 0, out=outs) == 0
    assert warned(torch.addbmm, torch.ones(3, 2), torch.ones(4, 3, 5), torch.ones(4, 5, 2), out=torch.empty(5)) == 0


def test_outputs_have_names() -> None:
    outs = torch.empty(2), torch.empty(2, dtype=torch.int64)
    made = torch.max(torch.eye(2), 0, out=outs)
    assert made.values is outs[0] and made.indices is outs[1]
    assert type(made) is torch.return_types.max_out and repr(made).startswith("torch.return_types.max_out(\nvalues=")


@pytest.mark.parametrize("name", ["unbind_copy", "split_copy"])
def test_copies_of_pieces(name: str) -> None:
    more = (1,) if name == "split_copy" else ()
    made = getattr(torch, name)(NUMBERS, *more)
    assert isinstance(made, tuple) and [t.item() for t in made] == [0, 1, 2]
    outs = [torch.empty(t.shape) for t in made]
    assert getattr(torch, name)(NUMBERS, *more, out=outs) is None
    assert [t.item() for t in outs] == [0, 1, 2]


@pytest.mark.parametrize(
    "name, arguments", [("arange", (6.0,)), ("linspace", (0, 5, 6)), ("logspace", (0, 5, 6)), ("range", (0, 5))]
)
def test_factories_fill_what_has_as_many_elements(name: str, arguments: tuple[Any, ...]) -> None:
    target = torch.zeros(3, 2).t()
    want = getattr(torch, name)(*arguments)
    assert getattr(torch, name)(*arguments, out=target) is target
    assert target.shape == (2, 3) and target.stride() == (1, 2) and torch.equal(target.reshape(-1), want)


def test_moduli_of_complex_numbers() -> None:
    x = torch.tensor([3 + 4j])
    for kind in (torch.float64, torch.complex64):
        assert torch.abs(x, out=torch.empty(0, dtype=kind)).tolist() == [5]
    with pytest.raises(RuntimeError, match="Found dtype ComplexDouble but expected ComplexFloat"):
        torch.abs(x, out=torch.empty(0, dtype=torch.complex128))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.abs(x, out=torch.empty(0, dtype=torch.int64))


def test_the_order_of_new_memory() -> None:
    x = torch.eye(3)
    assert torch.linalg.cholesky(x, out=torch.empty(0)).stride() == (1, 3)
    assert torch.cholesky_solve(x, x, out=torch.empty(0)).stride() == (3, 1)


def test_a_vector_that_does_not_fit_in_place() -> None:
    said = r"Bad in-place call: input tensor size \[1\] and output tensor size \[5\] should match"
    with pytest.raises(RuntimeError, match=said):
        torch.ones(1).addmv_(torch.ones(5, 2), torch.ones(2))
