"""Shape arithmetic of the movement ops, shared by the output rules, the kernels and the composites."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .._shape import contiguous_strides, normalize_dim

Shape = tuple[int, ...]


def check_cat(shapes: Sequence[Shape], dim: int) -> tuple[int, list[int]]:
    """The dimension along which shapes are joined and the positions of those that take part.

    Tensors of shape (0,) are skipped, as PyTorch does for old programs. Raises PyTorch's errors.
    """
    if not shapes:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, shape in enumerate(shapes):
        if not shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    used = [i for i, shape in enumerate(shapes) if shape != (0,)]
    if not used:
        return normalize_dim(dim, 1), used
    first = shapes[used[0]]
    axis = normalize_dim(dim, len(first))
    for i in used[1:]:
        shape = shapes[i]
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d, (n, want) in enumerate(zip(shape, first)):
            if n != want and d != axis:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {want} but got "
                    f"size {n} for tensor number {i} in the list."
                )
    return axis, used


def check_stack(shapes: Sequence[Shape], dim: int) -> tuple[int, Shape]:
    """The dimension that stack adds, and the shape that all its inputs have. Raises PyTorch's errors."""
    if not shapes:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = shapes[0]
    at = normalize_dim(dim, len(first) + 1)
    for i, shape in enumerate(shapes):
        if shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(shape)} at "
                f"entry {i}"
            )
    return at, first


@lru_cache(maxsize=1024)
def expand_geometry(shape: Shape, strides: Shape, size: Shape) -> tuple[Shape, Shape]:
    """The shape and strides (any unit) of `expand(size)`, which has no fewer dimensions; -1 keeps a size, repeated
    dimensions get stride 0.
    """
    lead = len(size) - len(shape)
    out_shape, out_strides = list(size), [0] * len(size)
    for i in range(len(size) - 1, -1, -1):
        target = size[i]
        if i >= lead:
            n, step = shape[i - lead], strides[i - lead]
        else:
            n, step = 1, out_shape[i + 1] * out_strides[i + 1] if i + 1 < len(size) else 1
        if target == -1:
            if i < lead:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )
            target = out_shape[i] = n
        if n != target:
            if n != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({target}) must match the existing size ({n}) at "
                    f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
                )
            step = 0
        out_strides[i] = step
    return tuple(out_shape), tuple(out_strides)


def _is_dense(shape: Shape, strides: Shape) -> bool:
    """Whether the elements fill one piece of memory, each at its own address, in some order of the dimensions."""
    expected = 1
    for step, n in sorted((s, n) for n, s in zip(shape, strides) if n != 1):
        if step != expected:
            return False
        expected *= n
    return True


def _stands_after(a: int, b: int, shape: Shape, operands: Sequence[Shape]) -> int:
    """1 if dimension `a` must move outside of `b` in memory, -1 if it stays inside, 0 if the strides do not tell."""
    for strides in operands:
        if strides[a] == 0 or strides[b] == 0:
            continue
        if strides[a] != strides[b]:
            return 1 if strides[a] > strides[b] else -1
        if shape[a] > shape[b]:
            return 1
    return 0


def dense_strides(shape: Shape, *operands: Shape) -> Shape:
    """The strides in elements of a fresh tensor of this shape that keeps the memory order of its operands, whose
    strides are given; an operand that comes first decides before those after it.
    """
    if 0 in shape or not operands:
        return contiguous_strides(shape)
    if all(strides == operands[0] for strides in operands) and _is_dense(shape, operands[0]):
        return operands[0]
    order = list(range(len(shape) - 1, -1, -1))  # innermost first
    for i in range(1, len(order)):  # insertion sort: ambiguous neighbours keep their order
        moving = i
        for j in range(i - 1, -1, -1):
            verdict = _stands_after(order[j], order[moving], shape, operands)
            if verdict > 0:
                order[moving], order[j] = order[j], order[moving]
                moving = j
            elif verdict < 0:
                break
    out, step = [0] * len(shape), 1
    for d in order:
        out[d] = step
        step *= shape[d]
    return tuple(out)


_RANKS = {"channels_last": 4, "channels_last_3d": 5}


def ordered_strides(memory_format: Any, shape: Shape) -> Shape | None:
    """Strides in elements of a format with channels innermost, None for any other; RuntimeError unless the rank
    fits.
    """
    rank = _RANKS.get(memory_format.name) if memory_format is not None else None
    if rank is None:
        return None
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {memory_format.name} format")
    return format_strides(shape)


def is_channels_last(shape: Shape, strides: Shape) -> bool:
    """Whether an image or a volume lies in memory with its channels innermost. Strides may be in any unit; they
    decide also for dimensions of one element, but never where the channels lie as in row-major order.
    """
    if len(shape) not in (4, 5) or strides[-1] < strides[1] or strides[1] == 0 or 0 in shape:
        return False
    least = 0
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def format_strides(shape: Shape) -> Shape:
    """Strides in elements of an image or a volume with its channels innermost."""
    n, c, *space = shape
    strides = contiguous_strides((n, *space, c))
    return (strides[0], 1, *strides[1:-1])


def format_of(shape: Shape, *sources: Any) -> Shape | None:
    """Strides of a result that lies as its sources (tensors) do: None for row-major order."""
    return format_strides(shape) if any(is_channels_last(t._array.shape, t._array.strides) for t in sources) else None


def storage_extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements a storage needs to hold every element of this geometry."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides))
