"""Properties of indexing: any index expression reads, writes and differentiates as numpy's does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mindtorch_v2 as torch

from .property_inputs import FULL_SHAPES, assert_same, layouts, random_values, to_tensor


# --- indexing
@st.composite
def index_items(draw: Any, shape: tuple[int, ...]) -> list[Any]:
    """Items of an index expression: int, slice, None, Ellipsis, integer arrays that broadcast together, masks."""
    items: list[Any] = []
    rank, dim, ellipsis = draw(st.integers(0, 2)), 0, False
    common = draw(hnp.array_shapes(min_dims=1, max_dims=rank or 1, min_side=1, max_side=3))
    while dim < len(shape):
        kind = draw(st.sampled_from(["int", "slice", "slice", "none", "ellipsis", "array", "mask", "stop"]))
        n = shape[dim]
        if kind == "stop":
            break
        if kind == "none":
            if len(items) < 6:
                items.append(None)
            continue
        if kind == "ellipsis":
            if not ellipsis:
                items.append(Ellipsis)
                ellipsis = True
                dim += draw(st.integers(0, len(shape) - dim))
                items.append(("skipped", dim))
            continue
        if kind == "int" and n:
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "array" and n:
            part = draw(st.sampled_from([common, common[-1:], (1,)]))
            items.append(draw(hnp.arrays(np.int64, part, elements=st.integers(-n, n - 1))))
        elif kind == "mask":
            width = draw(st.integers(1, min(2, len(shape) - dim)))
            mask = draw(hnp.arrays(np.bool_, shape[dim : dim + width]))
            items.append(mask)
            dim += width
            continue
        else:
            items.append(
                draw(
                    st.builds(
                        slice,
                        st.none() | st.integers(-5, 5),
                        st.none() | st.integers(-5, 5),
                        st.none() | st.integers(1, 3),
                    )
                )
            )
        dim += 1
    return _settled(items, shape)


def _settled(items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Drops the notes on skipped dimensions, and all that follows an ellipsis unless it ends at the last dimension."""
    out = [i for i in items if not isinstance(i, tuple)]
    if any(i is Ellipsis for i in out):
        used = sum(
            i.ndim if isinstance(i, np.ndarray) and i.dtype == bool else 0 if i is None or i is Ellipsis else 1
            for i in out
        )
        start = next(k for k, i in enumerate(out) if i is Ellipsis)
        after = out[start + 1 :]
        widths = [i.ndim if isinstance(i, np.ndarray) and i.dtype == bool else 0 if i is None else 1 for i in after]
        if used > len(shape) or not _fits_end(after, widths, shape):
            return out[: start + 1]
    return out


def _fits_end(items: list[Any], widths: list[int], shape: tuple[int, ...]) -> bool:
    """Whether the items that follow an ellipsis are valid for the last dimensions."""
    dim = len(shape) - sum(widths)
    for item, width in zip(items, widths):
        n = shape[dim] if dim < len(shape) else 0
        if isinstance(item, int) and not -n <= item < n:
            return False
        if isinstance(item, np.ndarray):
            if item.dtype == bool and item.shape != shape[dim : dim + width]:
                return False
            if item.dtype != bool and item.size and not (-n <= item.min() and item.max() < n):
                return False
        dim += width
    return True


def _two_steps(items: list[Any], ndim: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """PyTorch applies integers, slices and None first; then arrays and masks index what is left. numpy counts
    integers among the arrays, which puts the result's dimensions elsewhere.
    """
    first, second = [], []
    widths = [
        i.ndim if isinstance(i, np.ndarray) and i.dtype == bool else 0 if i is None or i is Ellipsis else 1
        for i in items
    ]
    for item, width in zip(items, widths):
        if item is Ellipsis:
            rest = ndim - sum(widths)
            first += [slice(None)] * rest
            second += [slice(None)] * rest
        elif isinstance(item, np.ndarray):
            first += [slice(None)] * width
            second.append(item)
        else:
            first.append(item)
            second += [] if isinstance(item, int) else [slice(None)]
    return tuple(first), tuple(second)


def _model_read(a: np.ndarray, items: list[Any]) -> np.ndarray:
    first, second = _two_steps(items, a.ndim)
    return a[first][second]


def _key(items: list[Any], as_lists: bool) -> Any:
    """The index expression with its arrays as tensors or as lists."""

    def one(i: Any) -> Any:
        listed = as_lists and isinstance(i, np.ndarray) and i.size > 0
        return i.tolist() if listed else torch.from_numpy(i) if isinstance(i, np.ndarray) else i

    made = tuple(one(i) for i in items)
    return made[0] if len(made) == 1 and not isinstance(made[0], list) else made


def _broadcasts(items: list[Any]) -> bool:
    arrays = [i if i.dtype != bool else np.zeros(int(i.sum())) for i in items if isinstance(i, np.ndarray)]
    try:
        np.broadcast_shapes(*(i.shape for i in arrays))
    except ValueError:
        return False
    return True


@given(st.data(), hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4), st.booleans())
@settings(max_examples=400)
def test_reading_any_index_expression(data: Any, shape: tuple[int, ...], as_lists: bool) -> None:
    a = data.draw(layouts(shape))
    items = data.draw(index_items(shape))
    assume(_broadcasts(items))
    t = to_tensor(a)
    got, want = t[_key(items, as_lists)], _model_read(a, items)
    assert_same(got, want)
    advanced = any(isinstance(i, np.ndarray) for i in items)
    if got.numel():
        assert np.shares_memory(got.numpy(), a) is not advanced
    assert (got._base is not None) is not advanced or t._base is not None


@given(
    st.data(),
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4),
    st.booleans(),
    st.sampled_from(["number", "tensor", "row"]),
)
@settings(max_examples=400)
def test_writing_any_index_expression(data: Any, shape: tuple[int, ...], as_lists: bool, source: str) -> None:
    a = random_values(shape)
    items = data.draw(index_items(shape))
    assume(_broadcasts(items))
    positions = _model_read(np.arange(a.size).reshape(shape), items)
    want, t = a.copy(), torch.from_numpy(a.copy())
    unique = np.unique(positions).size == positions.size
    value: Any = -1.0
    if source != "number" and unique:
        value = -random_values(positions.shape if source == "tensor" else positions.shape[-1:])
    want.reshape(-1)[positions.reshape(-1)] = np.broadcast_to(value, positions.shape).reshape(-1)
    t[_key(items, as_lists)] = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
    assert_same(t, want)
    assert t._version == 1


@given(st.data(), hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
def test_gradients_of_reading_count_how_often_a_place_is_read(data: Any, shape: tuple[int, ...]) -> None:
    items = data.draw(index_items(shape))
    assume(_broadcasts(items))
    x = torch.from_numpy(random_values(shape)).requires_grad_()
    positions = _model_read(np.arange(x.numel()).reshape(shape), items)
    x[_key(items, False)].sum().backward()
    assert_same(x.grad, np.bincount(positions.reshape(-1), minlength=x.numel()).reshape(shape).astype(float))


@given(st.data(), FULL_SHAPES)
def test_adding_at_repeated_places(data: Any, shape: tuple[int, ...]) -> None:
    count = data.draw(st.integers(0, 5))
    index = [data.draw(hnp.arrays(np.int64, (count,), elements=st.integers(-n, n - 1))) for n in shape]
    a, values = random_values(shape), random_values((count,))
    want, t = a.copy(), torch.from_numpy(a.copy())
    np.add.at(want, tuple(index), values)
    t.index_put_([torch.from_numpy(i) for i in index], torch.from_numpy(values), accumulate=True)
    assert_same(t, want)


@given(st.data(), FULL_SHAPES)
def test_take_gather_and_scatter_along_a_dimension(data: Any, shape: tuple[int, ...]) -> None:
    dim = data.draw(st.integers(0, len(shape) - 1))
    a = data.draw(layouts(shape))
    sizes = tuple(
        data.draw(st.integers(0, 4)) if d == dim else data.draw(st.integers(0, n)) for d, n in enumerate(shape)
    )
    index = data.draw(hnp.arrays(np.int64, sizes, elements=st.integers(0, shape[dim] - 1)))
    part = a[tuple(slice(n) if d != dim else slice(None) for d, n in enumerate(sizes))]
    assert_same(torch.gather(to_tensor(a), dim, torch.from_numpy(index)), np.take_along_axis(part, index, dim))
    want = np.zeros(shape)
    grid = list(np.indices(sizes))
    grid[dim] = index
    np.add.at(want, tuple(grid), 1.5)
    assert_same(
        torch.zeros(shape, dtype=torch.float64).scatter_add(
            dim, torch.from_numpy(index), torch.full(sizes, 1.5, dtype=torch.float64)
        ),
        want,
    )


def test_true_and_false_alone_are_no_masks() -> None:
    x = torch.zeros(2, dtype=torch.int64)
    x[True] = torch.tensor(1.5)
    assert x.tolist() == [1, 1]
    x[False] = torch.ones(7)  # nothing is written, so nothing is checked
    assert x.tolist() == [1, 1]
    x[True, :] = 9
    x[False, :] = 8
    assert x.tolist() == [9, 9]
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match"):
        x[True, :] = torch.tensor(1.5)
    x[torch.tensor([True, False])] = torch.tensor(1.5)  # one element is cast for a mask
    assert x.tolist() == [1, 9]
