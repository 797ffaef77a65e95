"""Python functions of single elements, in place: `apply_`, `map_`, `map2_`. Slow; for tensors on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._dispatch import aten
from .._dispatch.checks import type_word
from .._keys import CPU
from .._tensor import Tensor, wrap


def _write(self: Tensor, name: str, function: Callable[..., Any], others: tuple[Tensor, ...]) -> Tensor:
    for t in (self, *others):
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}(): expected a tensor, got {type(t).__name__}")
        if t.requires_grad:
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
            )
        if not t._keys & CPU:
            raise TypeError(f"{name} is only implemented on CPU tensors")
        if t.dtype is not self.dtype:
            expected, found = type_word(self.dtype), type_word(t.dtype)
            raise TypeError(f"{name}: expected torch.{expected}Tensor for 'other' (got torch.{found}Tensor)")
    columns = [aten.expand(t, list(self.shape)).reshape(-1).tolist() for t in others]
    made = [function(*elements) for elements in zip(self.reshape(-1).tolist(), *columns)]
    array = np.array(made, dtype=self._array.dtype).reshape(tuple(self.shape))
    return aten.copy_(self, wrap(array, self.dtype))


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replaces each element by what the function gives for it."""
    return _write(self, "apply_", callable, ())


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replaces each element by what the function gives for it and for that of another tensor of the same type, which
    is broadcast.
    """
    return _write(self, "map_", callable, (tensor,))


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """The same with the elements of two other tensors."""
    return _write(self, "map2_", callable, (x, y))


for _function in (apply_, map_, map2_):
    setattr(Tensor, _function.__name__, _function)
