"""Properties that hold for all shapes, layouts and index expressions, with numpy as the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mindtorch_v2 as torch

from .property_inputs import FULL_SHAPES, SHAPES, assert_same, layouts, random_values, to_tensor

# --- broadcasting
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "atan2": np.arctan2,
    "lt": np.less,
    "eq": np.equal,
    "ge": np.greater_equal,
    "hypot": np.hypot,
    "fmod": np.fmod,
    "logical_and": np.logical_and,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "copysign": np.copysign,
}


@given(
    st.data(),
    hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, min_side=0, max_side=3),
    st.sampled_from(sorted(BINARY)),
)
def test_two_operands_broadcast_as_in_numpy(data: Any, shapes: Any, name: str) -> None:
    a, b = (data.draw(layouts(s)) for s in shapes.input_shapes)
    got = getattr(torch, name)(to_tensor(a), to_tensor(b))
    assert_same(got, BINARY[name](a, b))
    if (
        a.shape == shapes.result_shape
        and got.dtype is torch.float64
        and hasattr(target := to_tensor(a).clone(), f"{name}_")
    ):
        assert getattr(target, f"{name}_")(to_tensor(b)) is target
        assert_same(target, BINARY[name](a, b))
    out = torch.empty(0, dtype=got.dtype)
    if hasattr(torch, name) and name not in ("floor_divide",):
        assert getattr(torch, name)(to_tensor(a), to_tensor(b), out=out) is out
        assert_same(out, BINARY[name](a, b))


@given(st.data(), hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3))
def test_gradients_of_broadcast_operands_are_summed(data: Any, shapes: Any) -> None:
    a, b, c = (torch.from_numpy(random_values(s)).requires_grad_() for s in shapes.input_shapes)
    (a * b + c).sum().backward()
    for x, want in ((a, b.detach()), (b, a.detach()), (c, torch.ones(()))):
        whole = np.broadcast_to(want.numpy(), shapes.result_shape)
        lead = whole.ndim - x.dim()
        axes = (*range(lead), *(lead + i for i, n in enumerate(x.shape) if n == 1))
        assert_same(x.grad, whole.sum(axes, keepdims=True).reshape(x.shape))


@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=4, min_side=0, max_side=3), st.data())
def test_three_operands_broadcast(shapes: Any, data: Any) -> None:
    c, a, b = (data.draw(layouts(s)) for s in shapes.input_shapes)
    assert_same(torch.where(to_tensor(c % 2 == 0), to_tensor(a), to_tensor(b)), np.where(c % 2 == 0, a, b))
    assert_same(torch.addcmul(to_tensor(a), to_tensor(b), to_tensor(c)), a + b * c)


@given(st.lists(SHAPES, min_size=2, max_size=3))
def test_shapes_that_do_not_broadcast_raise(shapes: list[tuple[int, ...]]) -> None:
    try:
        whole = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(RuntimeError, match="must match the size of tensor"):
            torch.broadcast_shapes(*shapes)
        return
    assert torch.broadcast_shapes(*shapes) == whole
    for s in shapes:
        assert_same(torch.from_numpy(random_values(s)).broadcast_to(whole), np.broadcast_to(random_values(s), whole))


@given(st.data())
def test_matmul_broadcasts_as_in_numpy(data: Any) -> None:
    batch = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=1, max_side=3))
    n, k, m = (data.draw(st.integers(0, 3)) for _ in range(3))
    left = (k,) if data.draw(st.booleans()) else (*batch.input_shapes[0], n, k)
    right = (k,) if data.draw(st.booleans()) else (*batch.input_shapes[1], k, m)
    a, b = data.draw(layouts(left)), data.draw(layouts(right))
    got, want = torch.matmul(to_tensor(a), to_tensor(b)), np.matmul(a, b)
    assert tuple(got.shape) == np.shape(want)
    np.testing.assert_allclose(got.numpy(), want)


# --- reductions
REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "amax": np.max,
    "amin": np.min,
    "var": lambda a, axis, keepdims: np.var(a, axis=axis, ddof=1, keepdims=keepdims),
    "any": np.any,
    "all": np.all,
    "logsumexp": lambda a, axis, keepdims: np.log(np.sum(np.exp(a), axis=axis, keepdims=keepdims)),
}


@given(st.data(), SHAPES, st.sampled_from(sorted(REDUCTIONS)), st.booleans())
def test_reductions_over_any_dimensions(data: Any, shape: tuple[int, ...], name: str, keepdim: bool) -> None:
    a = data.draw(layouts(shape)) / 10
    dims = tuple(
        data.draw(st.lists(st.sampled_from(range(-len(shape), len(shape))), unique_by=lambda d: d % len(shape)))
        if shape
        else []
    )
    axes = tuple(d % len(shape) for d in dims) or tuple(range(len(shape)))
    count = int(np.prod([shape[d] for d in axes], dtype=int))
    assume(count > (name == "var") or name in ("sum", "any", "all"))
    got = getattr(torch, name)(
        to_tensor(a), dim=dims if name in ("sum", "mean", "var") else dims or axes, keepdim=keepdim
    )
    want = np.asarray(REDUCTIONS[name](a, axis=axes, keepdims=keepdim))
    assert tuple(got.shape) == want.shape
    # a variance is a sum of squares of differences, each wrong by up to some units of the largest element
    unit = 8 * np.finfo(float).eps * (float(np.abs(a).max()) if a.size else 0)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-10, atol=unit**2 if name == "var" else 0)


@given(
    st.data(),
    FULL_SHAPES,
    st.sampled_from(["cumsum", "cumprod", "argmax", "argmin", "sort", "argsort", "prod", "flip"]),
)
def test_functions_along_one_dimension(data: Any, shape: tuple[int, ...], name: str) -> None:
    order = data.draw(st.permutations(range(int(np.prod(shape)))))
    a = (np.array(order, float).reshape(shape) - 3) / 7
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    a = np.ascontiguousarray(np.moveaxis(a, dim, 0))
    a = np.moveaxis(a, 0, dim)
    got = getattr(torch, name)(torch.from_numpy(a), (dim,) if name == "flip" else dim)
    got = got[0] if name == "sort" else got
    want = getattr(np, name)(a, axis=dim)
    np.testing.assert_allclose(got.numpy(), want)
