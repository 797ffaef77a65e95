"""Properties that hold for all shapes, layouts and index expressions, with numpy as the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mindtorch_v2 as torch

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
FULL_SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


def _numbers(shape: tuple[int, ...]) -> np.ndarray:
    """Distinct values in order."""
    return np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)


@st.composite
def layouts(draw: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An array of the shape whose elements lie in memory in order, transposed, with gaps, or repeated."""
    kind = draw(st.sampled_from(["plain", "transposed", "gaps", "expanded"]))
    values = _numbers(shape)
    if kind == "transposed" and len(shape) > 1:
        order = draw(st.permutations(range(len(shape))))
        values = np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))
    elif kind == "gaps" and shape:
        wide = np.zeros((*shape[:-1], shape[-1] * 2 + 1))
        wide[..., 1::2] = values
        values = wide[..., 1::2]
    elif kind == "expanded" and shape:
        first = values[:1].copy()
        values = np.lib.stride_tricks.as_strided(first, shape, (0, *first.strides[1:])) if shape[0] > 1 else values
    return values


def _tensor(array: np.ndarray) -> Any:
    """A tensor over the array's memory; an expanded one for an array that repeats its first row."""
    array = np.asarray(array)
    if array.ndim and array.shape[0] > 1 and array.strides[0] == 0:
        return torch.from_numpy(array[:1]).expand(array.shape)
    return torch.from_numpy(array)


def _same(t: Any, a: Any) -> None:
    a = np.asarray(a)
    assert tuple(t.shape) == a.shape
    np.testing.assert_array_equal(t.detach().numpy(), a)


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
    got = getattr(torch, name)(_tensor(a), _tensor(b))
    _same(got, BINARY[name](a, b))
    if (
        a.shape == shapes.result_shape
        and got.dtype is torch.float64
        and hasattr(target := _tensor(a).clone(), f"{name}_")
    ):
        assert getattr(target, f"{name}_")(_tensor(b)) is target
        _same(target, BINARY[name](a, b))
    out = torch.empty(0, dtype=got.dtype)
    if hasattr(torch, name) and name not in ("floor_divide",):
        assert getattr(torch, name)(_tensor(a), _tensor(b), out=out) is out
        _same(out, BINARY[name](a, b))


@given(st.data(), hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3))
def test_gradients_of_broadcast_operands_are_summed(data: Any, shapes: Any) -> None:
    a, b, c = (torch.from_numpy(_numbers(s)).requires_grad_() for s in shapes.input_shapes)
    (a * b + c).sum().backward()
    for x, want in ((a, b.detach()), (b, a.detach()), (c, torch.ones(()))):
        whole = np.broadcast_to(want.numpy(), shapes.result_shape)
        lead = whole.ndim - x.dim()
        axes = (*range(lead), *(lead + i for i, n in enumerate(x.shape) if n == 1))
        _same(x.grad, whole.sum(axes, keepdims=True).reshape(x.shape))


@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=4, min_side=0, max_side=3), st.data())
def test_three_operands_broadcast(shapes: Any, data: Any) -> None:
    c, a, b = (data.draw(layouts(s)) for s in shapes.input_shapes)
    _same(torch.where(_tensor(c % 2 == 0), _tensor(a), _tensor(b)), np.where(c % 2 == 0, a, b))
    _same(torch.addcmul(_tensor(a), _tensor(b), _tensor(c)), a + b * c)


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
        _same(torch.from_numpy(_numbers(s)).broadcast_to(whole), np.broadcast_to(_numbers(s), whole))


@given(st.data())
def test_matmul_broadcasts_as_in_numpy(data: Any) -> None:
    batch = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=1, max_side=3))
    n, k, m = (data.draw(st.integers(0, 3)) for _ in range(3))
    left = (k,) if data.draw(st.booleans()) else (*batch.input_shapes[0], n, k)
    right = (k,) if data.draw(st.booleans()) else (*batch.input_shapes[1], k, m)
    a, b = data.draw(layouts(left)), data.draw(layouts(right))
    got, want = torch.matmul(_tensor(a), _tensor(b)), np.matmul(a, b)
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
        _tensor(a), dim=dims if name in ("sum", "mean", "var") else dims or axes, keepdim=keepdim
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
    t = _tensor(a)
    got, want = t[_key(items, as_lists)], _model_read(a, items)
    _same(got, want)
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
    a = _numbers(shape)
    items = data.draw(index_items(shape))
    assume(_broadcasts(items))
    positions = _model_read(np.arange(a.size).reshape(shape), items)
    want, t = a.copy(), torch.from_numpy(a.copy())
    unique = np.unique(positions).size == positions.size
    value: Any = -1.0
    if source != "number" and unique:
        value = -_numbers(positions.shape if source == "tensor" else positions.shape[-1:])
    want.reshape(-1)[positions.reshape(-1)] = np.broadcast_to(value, positions.shape).reshape(-1)
    t[_key(items, as_lists)] = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
    _same(t, want)
    assert t._version == 1


@given(st.data(), hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
def test_gradients_of_reading_count_how_often_a_place_is_read(data: Any, shape: tuple[int, ...]) -> None:
    items = data.draw(index_items(shape))
    assume(_broadcasts(items))
    x = torch.from_numpy(_numbers(shape)).requires_grad_()
    positions = _model_read(np.arange(x.numel()).reshape(shape), items)
    x[_key(items, False)].sum().backward()
    _same(x.grad, np.bincount(positions.reshape(-1), minlength=x.numel()).reshape(shape).astype(float))


@given(st.data(), FULL_SHAPES)
def test_adding_at_repeated_places(data: Any, shape: tuple[int, ...]) -> None:
    count = data.draw(st.integers(0, 5))
    index = [data.draw(hnp.arrays(np.int64, (count,), elements=st.integers(-n, n - 1))) for n in shape]
    a, values = _numbers(shape), _numbers((count,))
    want, t = a.copy(), torch.from_numpy(a.copy())
    np.add.at(want, tuple(index), values)
    t.index_put_([torch.from_numpy(i) for i in index], torch.from_numpy(values), accumulate=True)
    _same(t, want)


@given(st.data(), FULL_SHAPES)
def test_take_gather_and_scatter_along_a_dimension(data: Any, shape: tuple[int, ...]) -> None:
    dim = data.draw(st.integers(0, len(shape) - 1))
    a = data.draw(layouts(shape))
    sizes = tuple(
        data.draw(st.integers(0, 4)) if d == dim else data.draw(st.integers(0, n)) for d, n in enumerate(shape)
    )
    index = data.draw(hnp.arrays(np.int64, sizes, elements=st.integers(0, shape[dim] - 1)))
    part = a[tuple(slice(n) if d != dim else slice(None) for d, n in enumerate(sizes))]
    _same(torch.gather(_tensor(a), dim, torch.from_numpy(index)), np.take_along_axis(part, index, dim))
    want = np.zeros(shape)
    grid = list(np.indices(sizes))
    grid[dim] = index
    np.add.at(want, tuple(grid), 1.5)
    _same(
        torch.zeros(shape, dtype=torch.float64).scatter_add(
            dim, torch.from_numpy(index), torch.full(sizes, 1.5, dtype=torch.float64)
        ),
        want,
    )


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
    kinds = (
        ["unsqueeze", "view", "expand"]
        if a.ndim == 0
        else [
            "transpose",
            "permute",
            "narrow",
            "select",
            "slice",
            "unsqueeze",
            "squeeze",
            "expand",
            "view",
            "flatten",
            "unfold",
            "diagonal",
        ]
    )
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
        _same(copy, t.detach().numpy().reshape(shape))
        assert not np.shares_memory(copy.detach().numpy(), t.detach().numpy())
        return t, a
    assert t.reshape(shape).data_ptr() == t.view(shape).data_ptr()
    return t.view(shape), wanted


def _address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


@given(st.data(), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), st.integers(1, 5))
@settings(max_examples=400)
def test_chains_of_views_share_memory(data: Any, shape: tuple[int, ...], length: int) -> None:
    base = _numbers(shape)
    root = t = torch.from_numpy(base)
    a = base
    for _ in range(length):
        t, a = _step(data, t, a)
        _same(t, a)
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
    _same(again, a)


@given(st.data(), hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4), st.integers(1, 4))
@settings(max_examples=250)
def test_writes_through_views_reach_the_base(data: Any, shape: tuple[int, ...], length: int) -> None:
    base = _numbers(shape)
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
    _same(root, want)
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
    x = torch.from_numpy(_numbers(shape)).requires_grad_()
    base = (x.t() if transposed and x.dim() == 2 else x) * 1.0
    scale = np.ones(tuple(base.shape)).copy(order="F" if transposed and x.dim() == 2 else "C")
    t, a = base, scale
    for _ in range(length):
        t, a = _step(data, t, a)
    positions = _positions(scale, a)
    assume(np.unique(positions).size == positions.size)
    scale.ravel(order="K")[positions] *= 3
    t.mul_(3)
    weights = torch.from_numpy(_numbers(tuple(base.shape)))
    (base * weights).sum().backward()
    want = weights.numpy() * scale
    _same(x.grad, want.T if transposed and x.dim() == 2 else want)


# --- pieces
@given(st.data(), FULL_SHAPES)
def test_pieces_join_to_the_whole(data: Any, shape: tuple[int, ...]) -> None:
    a = data.draw(layouts(shape))
    t, dim = _tensor(a), data.draw(st.integers(0, len(shape) - 1))
    size, count = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    for pieces in (t.split(size, dim), t.chunk(count, dim), t.tensor_split(count, dim)):
        assert all(p._base is not None and p.data_ptr() >= t.data_ptr() for p in pieces)
        _same(torch.cat(pieces, dim), a)
    _same(torch.stack(t.unbind(dim), dim), a)
    for got, want in zip(t.tensor_split(count, dim), np.array_split(a, count, dim)):
        _same(got, want)


@given(st.data(), SHAPES)
def test_copies_are_equal_and_apart(data: Any, shape: tuple[int, ...]) -> None:
    a = data.draw(layouts(shape))
    t = _tensor(a)
    for copy in (t.clone(), t.contiguous().clone(), torch.tensor(a), t.to(torch.float64, copy=True)):
        _same(copy, a)
        assert not np.shares_memory(copy.numpy(), a)
    _same(t.to(torch.int64), a.astype(np.int64))
    assert t.tolist() == a.tolist() and torch.equal(t, torch.tensor(a))
