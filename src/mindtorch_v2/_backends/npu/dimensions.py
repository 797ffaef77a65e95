"""Dimensions that calls name, checked before anything is launched: operators take them as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._ops.table import Op
from ..._shape import normalize_dim, normalize_dims


def dimension_check(op: Op) -> Callable[[Sequence[Any]], None]:
    """Raises for dimensions that the first argument, a tensor, does not have.

    A gradient may have fewer than it names.
    """
    params = op.schema.params
    named = [i for i, p in enumerate(params) if p.name in ("dim", "dims") and p.type == "int"]
    if not named or "backward" in op.base or not params[0].is_tensor or params[0].is_list or params[0].optional:
        return _nothing
    at, once = named[0], op.base != "roll"

    def check(args: Sequence[Any]) -> None:
        dims, ndim = args[at], args[0]._array.ndim
        if dims.__class__ is int:
            normalize_dim(dims, ndim)
        elif dims is not None and once:
            normalize_dims(dims, ndim)
        elif dims is not None:
            for dim in (dims,) if isinstance(dims, int) else dims:
                normalize_dim(dim, ndim)

    return check


def _nothing(args: Sequence[Any]) -> None:
    """Most ops name no dimensions."""
