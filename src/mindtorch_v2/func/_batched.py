"""Batched tensors: what a function sees under `vmap`. One tensor stands for as many as the batch is large, and shows
the shape of one.

A `Batched` holds a tensor, its `value`, whose first dimension is the batch. Operators on it are run by
`_batching.run`, which is asked with the operator and its arguments in the schema's order (`Tensor._takes_ops`).
Levels number the nested calls of `vmap`; a batched tensor's value may be batched itself, at a lower level. Its own
array has no memory, so nothing can read one sample by mistake.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from .._dispatch.specs import meta_array
from .._keys import META, SUBCLASS
from .._ops.rules import Spec
from .._tensor import Tensor, _new


class Level(NamedTuple):
    """A call of `vmap` that is under way: its id, the batch size and what random operators do."""

    id: int
    size: int
    randomness: str


class _Levels(threading.local):
    stack: tuple[Level, ...] = ()


levels = _Levels()


class Batched(Tensor):
    """A tensor under `vmap`."""

    _value: Tensor
    _level: int

    @property
    def device(self) -> Any:
        return self._value.device

    @property
    def is_cpu(self) -> bool:
        return self._value.is_cpu

    @property
    def is_meta(self) -> bool:
        return self._value.is_meta

    @property
    def grad_fn(self) -> Any:
        return self._value.grad_fn

    @property
    def is_leaf(self) -> bool:
        return self._value.is_leaf

    @property
    def requires_grad(self) -> bool:
        return self._value.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._value.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Batched:
        self._value.requires_grad_(requires_grad)
        return self

    def item(self) -> Any:
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
            "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere "
            "inside PyTorch internals, please file a bug report."
        )

    def __bool__(self) -> bool:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
            "support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
        )

    __int__ = __float__ = __index__ = __complex__ = item

    def tolist(self) -> Any:
        raise RuntimeError(
            "vmap: a batched tensor has no single list of values; return it and call .tolist() outside of vmap"
        )

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "vmap: a batched tensor has no single array of values; return it and call .numpy() outside of vmap"
        )

    __array__ = numpy

    def backward(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "vmap: .backward() writes into .grad, which a batch cannot do; use torch.func.grad or vjp inside vmap"
        )

    def __repr__(self) -> str:
        return f"BatchedTensor(lvl={self._level}, bdim=0, value={self._value!r})"

    def __hash__(self) -> int:
        return id(self)


def make_batched(value: Tensor, level: int) -> Batched:
    """A batched tensor over `value`, whose first dimension is the batch."""
    made = _new(Batched)
    shape = tuple(value.shape)[1:]
    made._array = meta_array(Spec(shape, value.dtype, tuple(value.stride())[1:] if value.numel() else None))
    made._keys = META | SUBCLASS
    made.dtype = value.dtype
    made._value, made._level = value, level
    return made


def level_of(value: Any) -> int:
    """The highest level among a value and, if it is a list, its elements; 0 where nothing is batched."""
    if isinstance(value, Batched):
        return value._level
    if value.__class__ is list or value.__class__ is tuple:
        return max(map(level_of, value), default=0)
    return 0


def inner(value: Any, level: int) -> Any:
    """A batched tensor's value at this level; everything else as it is."""
    return value._value if isinstance(value, Batched) and value._level == level else value


def is_at(value: Any, level: int) -> bool:
    """Whether a value is batched at this level."""
    return isinstance(value, Batched) and value._level == level


def rewrap(value: Any, level: int) -> Any:
    """Results of an operator on values: tensors become batched, in tuples and lists as well."""
    if isinstance(value, Tensor):
        return make_batched(value, level)
    if isinstance(value, (tuple, list)):
        parts = [rewrap(v, level) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def as_batched(value: Tensor, level: Level) -> Batched:
    """The tensor itself if it is batched at this level, else one that is the same for the whole batch."""
    if is_at(value, level.id):
        return value  # type: ignore[return-value]
    return make_batched(value.unsqueeze(0).expand(level.size, *value.shape), level.id)
