"""The class of nested tensors: a batch of tensors of different sizes.

The elements lie in one ordinary tensor, so that gradients reach it without further rules: packed along the first
dimension (layout `torch.jagged`), or as a vector (`torch.strided`). As a tensor of its own a nested tensor lies on the
meta device: an operator that does not know about nested tensors finds no data, instead of zeros.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .._dispatch import aten
from .._dispatch.overrides import become
from .._keys import META
from .._shape import Size, normalize_dim
from .._tensor import Tensor, jagged, layout, strided, wrap

_ids = itertools.count(1)


class RaggedSize:
    """The size of the dimension in which the parts of a jagged tensor differ; equal for tensors of the same offsets."""

    def __init__(self, offsets: Tensor) -> None:
        self.offsets, self._id = offsets, next(_ids)

    def __repr__(self) -> str:
        return f"j{self._id}"

    def __index__(self) -> int:
        raise RuntimeError(f"{self} has no single value: the parts of the nested tensor differ in this dimension")


class NestedTensor(Tensor):
    """Parts of different sizes. `_values` is [sum of ragged sizes, ...] (jagged) or a vector (strided).

    In the jagged layout the parts differ in their dimension `_ragged`, which is always the first of `_values`.
    """

    _layout: layout
    _values: Any
    _sizes: list[tuple[int, ...]]  # of the parts
    _ragged: int
    _ragged_size: Any
    is_nested = True
    is_meta = False
    _is_layout = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ._functions import call

        return call(func, args, kwargs or {})

    # --- what it is
    @property
    def layout(self) -> Any:
        return self._layout

    @property
    def device(self) -> Any:
        return self._values.device

    @property
    def is_cpu(self) -> bool:
        return self._values.is_cpu

    @property
    def shape(self) -> Any:
        if self._layout is strided:
            raise RuntimeError("nested tensors of the strided layout have no shape; size(dim) gives regular sizes")
        rest = list(self._sizes[0]) if self._sizes else list(self._values.shape)
        rest[self._ragged] = self._ragged_size
        return tuple.__new__(Size, (len(self._sizes), *rest))

    def size(self, dim: int | None = None) -> Any:
        if dim is None:
            return self.shape
        d = normalize_dim(dim, self.dim())
        if d == 0:
            return len(self._sizes)
        if self._layout is jagged:
            return self.shape[d]
        found = {size[d - 1] for size in self._sizes}
        if len(found) != 1:
            raise RuntimeError(f"Given dimension {d} is irregular and does not have a size.")
        return found.pop()

    def dim(self) -> int:
        return 1 + (self._values.dim() if self._layout is jagged else len(self._sizes[0]) if self._sizes else 0)

    @property
    def ndim(self) -> int:
        return self.dim()

    def numel(self) -> int:
        return self._values.numel()

    nelement = numel

    def __len__(self) -> int:
        return len(self._sizes)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return self._ragged == 0

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:  # type: ignore[override]
        return self._values.requires_grad

    @property
    def grad_fn(self) -> Any:
        return self._values.grad_fn

    @property
    def is_leaf(self) -> bool:
        return self._values.is_leaf

    @property  # type: ignore[misc]
    def grad(self) -> Any:  # type: ignore[override]
        """The gradient, as a nested tensor of the same sizes."""
        return None if self._values.grad is None else with_values(self, self._values.grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._values.grad = None if value is None else value._values

    def requires_grad_(self, requires_grad: bool = True) -> NestedTensor:
        if requires_grad != self.requires_grad:
            self._values = self._values.detach().requires_grad_(requires_grad)
        return self

    def retain_grad(self) -> None:
        self._values.retain_grad()

    # --- its elements
    def values(self) -> Any:
        """The packed elements [sum of sizes, ...] (jagged), or all elements as a vector (strided)."""
        return self._values

    def offsets(self) -> Any:
        """Where each part begins in `values()`, and where the last one ends: [parts + 1]."""
        if self._layout is not jagged:
            raise AttributeError("'Tensor' object has no attribute 'offsets'")
        return self._ragged_size.offsets

    def lengths(self) -> None:
        """None: there are no holes between the parts."""

    def _nested_tensor_size(self) -> Any:
        """The sizes of the parts: [parts, dimensions]."""
        return wrap(np.array(self._sizes, np.int64).reshape(len(self._sizes), -1))

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:  # type: ignore[override]
        """The parts, as views."""
        if normalize_dim(dim, self.dim()) != 0:
            raise RuntimeError(f"unbind: nested tensors are taken apart along dimension 0, got {dim}")
        ragged = self._layout is jagged
        lengths = [size[self._ragged] if ragged else prod(size) for size in self._sizes]
        if not lengths:
            return ()
        pieces = aten.split_with_sizes(self._values, lengths)
        if ragged:
            return tuple(aten.transpose(p, 0, self._ragged) if self._ragged else p for p in pieces)
        return tuple(aten.view(p, list(size)) for p, size in zip(pieces, self._sizes))

    def __getitem__(self, index: Any) -> Any:
        first, *rest = index if isinstance(index, tuple) else (index,)
        if not isinstance(first, int):
            raise NotImplementedError("nested tensors are indexed by an integer first; unbind() gives the parts")
        part = self.unbind()[first]
        return part[tuple(rest)] if rest else part

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __repr__(self, **kwargs: Any) -> str:
        grad = (
            ""
            if not self.requires_grad
            else ", requires_grad=True"
            if self.is_leaf
            else f", grad_fn=<{self.grad_fn.name()}>"
        )
        if self._layout is jagged:
            size = f"({', '.join(map(str, self.shape))})"
            return f"NestedTensor(size={size}, offsets={self.offsets()}{grad}, contiguous={self.is_contiguous()})"
        parts = ",\n".join("  " + repr(p.detach()).replace("\n", "\n  ") for p in self.unbind())
        return f"nested_tensor([\n{parts}\n]{grad})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (self._layout, self._values.detach(), self._sizes, self._ragged, self.requires_grad)

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        values = self._values.detach().clone().requires_grad_(self.requires_grad)
        return make_nested(self._layout, values, self._sizes, self._ragged, self._ragged_size)


def _rebuild(kind: Any, values: Any, sizes: Any, ragged: int, requires_grad: bool) -> NestedTensor:
    return make_nested(kind, values, sizes, ragged).requires_grad_(requires_grad)


def make_nested(
    kind: Any, values: Any, sizes: Sequence[tuple[int, ...]], ragged: int = 0, ragged_size: Any = None
) -> NestedTensor:
    """A nested tensor of these values; nothing is checked."""
    made = become(wrap(np.broadcast_to(np.zeros((), values._array.dtype), ()), values.dtype, META), NestedTensor)
    if kind is jagged and ragged_size is None:
        lengths = [size[ragged] for size in sizes]
        ragged_size = RaggedSize(wrap(np.cumsum([0, *lengths]).astype(np.int64)))
    made._layout, made._values, made._sizes = kind, values, list(sizes)
    made._ragged, made._ragged_size = ragged, ragged_size
    return made


def with_values(self: NestedTensor, values: Any) -> NestedTensor:
    """Other elements in the same parts; trailing sizes of the jagged layout may be others."""
    if self._layout is strided:
        return make_nested(strided, values, self._sizes)
    sizes = []
    packed = aten.transpose(values, 0, self._ragged) if self._ragged else values
    for size in self._sizes:
        part = list(packed.shape)
        part[self._ragged] = size[self._ragged]
        sizes.append(tuple(part))
    return make_nested(jagged, values, sizes, self._ragged, self._ragged_size)


def from_parts(parts: Sequence[Any], kind: Any, ragged: int = 0, ragged_size: Any = None) -> NestedTensor:
    """A nested tensor of tensors, through which gradients flow."""
    sizes = [tuple(p.shape) for p in parts]
    if len({len(size) for size in sizes}) > 1:
        raise RuntimeError(f"All Tensors given to nested_tensor must have the same dimension, got sizes {sizes}")
    if kind is strided:
        return make_nested(strided, aten.cat([aten.reshape(p, [-1]) for p in parts]), sizes)
    if len({tuple(n for d, n in enumerate(size) if d != ragged) for size in sizes}) > 1:
        raise RuntimeError(
            "No support for jagged layout with more than one ragged dimension: the tensors must be of equal sizes but "
            f"for their first dimension, got {sizes}"
        )
    packed = aten.cat([aten.transpose(p, 0, ragged) if ragged else p for p in parts])
    return make_nested(jagged, packed, sizes, ragged, ragged_size)


def map_parts(self: NestedTensor, function: Callable[[Any], Any]) -> NestedTensor:
    """A function of one part, applied to all; in the jagged layout at once, so it must leave the ragged dimension."""
    if self._layout is strided:
        return from_parts([function(p) for p in self.unbind()], strided)
    if not self._ragged:
        return with_values(self, function(self._values))
    made = function(aten.transpose(self._values, 0, self._ragged))
    return with_values(self, aten.transpose(made, 0, self._ragged))
