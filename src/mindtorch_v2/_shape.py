"""Pure arithmetic on sizes, strides and dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from operator import index
from typing import Any


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple whose slices and sums stay Sizes.

    >>> torch.Size([2, 3]).numel()
    6
    """

    def __new__(cls, sizes: Iterable[int] = ()) -> Size:
        made = tuple.__new__(cls, sizes)
        for i, n in enumerate(made):
            if n.__class__ is not int:
                if not hasattr(n, "__index__"):
                    raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(n).__name__}')")
                return tuple.__new__(cls, map(index, tuple(made)))  # tensors and numpy's integers
        return made

    def numel(self) -> int:
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n: Any) -> Any:
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements, as PyTorch gives them (a size of 0 counts as 1)."""
    return _contiguous_strides(tuple(shape))


@lru_cache(maxsize=4096)
def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def normalize_dim(dim: int, ndim: int) -> int:
    """A dimension in [0, ndim); IndexError with PyTorch's text otherwise. A scalar has one dimension, 0."""
    n = ndim or 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


def normalize_dims(dims: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Dimensions to reduce, each once; None or an empty list means all."""
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    if len(dims) == 0:
        return tuple(range(ndim))
    found = tuple(normalize_dim(d, ndim) for d in dims)
    for d in found:
        if found.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return found if ndim else ()


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape; RuntimeError with PyTorch's text when there is none."""
    rank = max((len(s) for s in shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for i in range(len(shape) - 1, -1, -1):  # of several differences PyTorch names the last dimension
            have, n = out[offset + i], shape[i]
            if have == 1:
                out[offset + i] = n
            elif n not in (1, have):
                raise RuntimeError(
                    f"The size of tensor a ({have}) must match the size of tensor b ({n}) "
                    f"at non-singleton dimension {offset + i}"
                )
    return tuple(out)


def reduced_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    """The shape after reducing `dims` (already normalised)."""
    if keepdim:
        return tuple(1 if i in dims else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in dims)


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """`shape` with a single -1 replaced by what `numel` leaves; RuntimeError as PyTorch words it."""
    known, hole = 1, None
    for i, n in enumerate(shape):
        if n == -1:
            if hole is not None:
                raise RuntimeError("only one dimension can be inferred")
            hole = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    if hole is None:
        if known != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    if known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if known == 0 or numel % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return (*shape[:hole], numel // known, *shape[hole + 1 :])
