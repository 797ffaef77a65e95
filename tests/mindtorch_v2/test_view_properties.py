"""Properties of views: chains of them share memory, and writes and gradients pass through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mindtorch_v2 as torch

from .property_inputs import FULL_SHAPES, SHAPES, assert_same, layouts, random_values, to_tensor


# --- views
def _factors(data: Any, count: int) -> tuple[int, ...]:
    """A shape with this many elements."""
    shape: list[int] = []
    while count > 1 and len(shape) < 4:
        n = data.draw(st.sampled_from([d for d in range(1, count + 1) if count % d == 0]))
        shape.append(n)
        count //= n
    return (*shape, count) if count > 1 or data.draw(st.booleans()) else tuple(shape)


def _step(data: Any, t: Any, a: np.ndarray) -> tuple[Any, np.ndarray]:
    """One view op, done to a tensor and to its model."""
    of_any, of_dimensions = ["unsqueeze", "view", "expand"], ["transpose", "permute", "narrow", "select", "slice"]
    of_dimensions += ["squeeze", "flatten", "unfold", "diagonal"]
    kinds = of_any if a.ndim == 0 else [*of_dimensions, *of_any]
    kind = data.draw(st.sampled_from(kinds))
    dim = data.draw(st.integers(0, a.ndim - 1)) if a.ndim else 0
    n = a.shape[dim] if a.ndim else 1
    if kind == "transpose":
        other = data.draw(st.integers(0, a.ndim - 1))
        return t.transpose(dim, other), a.swapaxes(dim, other)
    if kind == "permute":
        order = data.draw(st.permutations(range(a.ndim)))
        return t.permute(order), a.transpose(order)
    if kind == "narrow":
        start = data.draw(st.integers(0, n))
        length = data.draw(st.integers(0, n - start))
        return t.narrow(dim, start, length), a[(slice(None),) * dim + (slice(start, start + length),)]
    if kind == "select" and n:
        i = data.draw(st.integers(-n, n - 1))
        return t.select(dim, i), a[(slice(None),) * dim + (i, ...)]
    if kind == "slice":
        part = data.draw(st.builds(slice, st.integers(-3, 3), st.integers(-3, 4), st.integers(1, 3)))
        return t[(slice(None),) * dim + (part,)], a[(slice(None),) * dim + (part,)]
    if kind == "squeeze":
        return t.squeeze(dim), a.squeeze(dim) if n == 1 else a
    if kind == "expand":
        lead = data.draw(st.integers(1, 2))
        shape = (lead, *(data.draw(st.integers(1, 3)) if m == 1 else m for m in a.shape))
        return t.expand(shape), np.broadcast_to(a, shape)
    if kind == "view":
        shape = _factors(data, a.size) if a.size else (0,)
        return _viewed(t, a, shape)
    if kind == "flatten":
        return _viewed(t, a, (-1,))
    if kind == "unfold" and n:
        size = data.draw(st.integers(1, n))
        step = data.draw(st.integers(1, 2))
        windows = np.lib.stride_tricks.sliding_window_view(a, size, dim) if a.size else None
        if windows is not None:
            return t.unfold(dim, size, step), windows[(slice(None),) * dim + (slice(None, None, step),)]
    if kind == "diagonal" and a.ndim > 1 and a.size:
        first, second = data.draw(st.permutations(range(a.ndim)))[:2]
        return t.diagonal(0, first, second), a.diagonal(0, first, second)
    return t.unsqueeze(dim), np.expand_dims(a, dim)


def _viewed(t: Any, a: np.ndarray, shape: tuple[int, ...]) -> tuple[Any, np.ndarray]:
    """view succeeds exactly where numpy need not copy."""
    try:
        wanted = np.reshape(a, shape, copy=False)
    except ValueError:
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            t.view(shape)
        copy = t.reshape(shape)
        assert_same(copy, t.detach().numpy().reshape(shape))
        assert not np.shares_memory(copy.detach().numpy(), t.detach().numpy())
        return t, a
    assert t.reshape(shape).data_ptr() == t.view(shape).data_ptr()
    return t.view(shape), wanted


def _address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


@given(st.data(), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), st.integers(1, 5))
@settings(max_examples=400)
def test_chains_of_views_share_memory(data: Any, shape: tuple[int, ...], length: int) -> None:
    base = random_values(shape)
    root = t = torch.from_numpy(base)
    a = base
    for _ in range(length):
        t, a = _step(data, t, a)
        assert_same(t, a)
    if a.size:
        assert t.data_ptr() == _address(a)
        assert [s for s, n in zip(t.stride(), t.shape) if n > 1] == [
            s // 8 for s, n in zip(a.strides, a.shape) if n > 1
        ]
        assert t.storage_offset() == (_address(a) - _address(base)) // 8
    assert t is root or t._base is root
    assert t.is_contiguous() == bool(a.flags.c_contiguous)
    copy = t.contiguous()
    assert copy.is_contiguous() and (copy is t) == t.is_contiguous()
    again = torch.as_strided(root, t.size(), t.stride(), t.storage_offset())
    assert_same(again, a)


@given(st.data(), hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4), st.integers(1, 4))
@settings(max_examples=250)
def test_writes_through_views_reach_the_base(data: Any, shape: tuple[int, ...], length: int) -> None:
    base = random_values(shape)
    want = base.copy()
    root = t = torch.from_numpy(base)
    a = want
    for _ in range(length):
        t, a = _step(data, t, a)
    positions = _positions(want, a)
    assume(np.unique(positions).size == positions.size)
    memory = want.reshape(-1)
    memory[positions] = memory[positions] * 3 + 1
    t.mul_(3).add_(1)
    assert_same(root, want)
    assert root._version == 2 == t._version


def _positions(base: np.ndarray, view: np.ndarray) -> np.ndarray:
    """Which element of the base's memory each element of a view is."""
    offset = (_address(view) - _address(base)) // 8 if view.size else 0
    return np.lib.stride_tricks.as_strided(np.arange(base.size)[offset:], view.shape, view.strides)


@given(st.data(), hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3), st.integers(1, 3), st.booleans())
@settings(max_examples=250)
def test_gradients_pass_through_writes_to_views(
    data: Any, shape: tuple[int, ...], length: int, transposed: bool
) -> None:
    """The base of the views is itself computed, in any layout; what is written is scaled, and so are its gradients."""
    x = torch.from_numpy(random_values(shape)).requires_grad_()
    base = (x.t() if transposed and x.dim() == 2 else x) * 1.0
    scale = np.ones(tuple(base.shape)).copy(order="F" if transposed and x.dim() == 2 else "C")
    t, a = base, scale
    for _ in range(length):
        t, a = _step(data, t, a)
    positions = _positions(scale, a)
    assume(np.unique(positions).size == positions.size)
    scale.ravel(order="K")[positions] *= 3
    t.mul_(3)
    weights = torch.from_numpy(random_values(tuple(base.shape)))
    (base * weights).sum().backward()
    want = weights.numpy() * scale
    assert_same(x.grad, want.T if transposed and x.dim() == 2 else want)


# --- pieces
@given(st.data(), FULL_SHAPES)
def test_pieces_join_to_the_whole(data: Any, shape: tuple[int, ...]) -> None:
    a = data.draw(layouts(shape))
    t, dim = to_tensor(a), data.draw(st.integers(0, len(shape) - 1))
    size, count = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    for pieces in (t.split(size, dim), t.chunk(count, dim), t.tensor_split(count, dim)):
        assert all(p._base is not None and p.data_ptr() >= t.data_ptr() for p in pieces)
        assert_same(torch.cat(pieces, dim), a)
    assert_same(torch.stack(t.unbind(dim), dim), a)
    for got, want in zip(t.tensor_split(count, dim), np.array_split(a, count, dim)):
        assert_same(got, want)


@given(st.data(), SHAPES)
def test_copies_are_equal_and_apart(data: Any, shape: tuple[int, ...]) -> None:
    a = data.draw(layouts(shape))
    t = to_tensor(a)
    for copy in (t.clone(), t.contiguous().clone(), torch.tensor(a), t.to(torch.float64, copy=True)):
        assert_same(copy, a)
        assert not np.shares_memory(copy.numpy(), a)
    assert_same(t.to(torch.int64), a.astype(np.int64))
    assert t.tolist() == a.tolist() and torch.equal(t, torch.tensor(a))
