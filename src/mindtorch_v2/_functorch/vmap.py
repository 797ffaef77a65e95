"""`vmap` under an older name, and the parts of it that libraries use for containers of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._C._functorch import _add_batch_dim, _remove_batch_dim
from .._tensor import Tensor
from ..func import vmap
from ..func._vmap import broadcast_tree as _broadcast_to_and_flatten
from ..utils._pytree import tree_flatten, tree_unflatten

__all__ = [
    "Tensor",
    "_add_batch_dim",
    "_broadcast_to_and_flatten",
    "_get_name",
    "_maybe_remove_batch_dim",
    "_remove_batch_dim",
    "tree_flatten",
    "tree_unflatten",
    "vmap",
]


def _get_name(func: Callable[..., Any]) -> str:
    """What messages call a function."""
    if isinstance(func, functools.partial):
        return f"functools.partial({_get_name(func.func)}, ...)"
    return str(getattr(func, "__name__", repr(func)))


def _maybe_remove_batch_dim(name: str, batched_output: Any, level: int, batch_size: int, out_dim: Any) -> Any:
    """A result of a mapped function with its batch along `out_dim`; as it is where that is None."""
    if out_dim is None:
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to "
            "set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, level, batch_size, out_dim)
