"""How arguments become arrays of one type, as an op's rule says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _dtype as dt
from .._ops.rules import as_float, result_type
from .._ops.table import Op
from .._quiet import cast as cast_array
from .._tensor import Tensor
from .registry import CHECKS


def cast_operands(operands: Sequence[Any], to_float: bool) -> tuple[list[Any], dt.dtype]:
    """Arrays (or numbers left as they are) of the operands in their common type, and that type."""
    operands = [x.item() if isinstance(x, np.generic) else x for x in operands]
    common = result_type(*[x for x in operands if x is not None])
    if to_float:
        common = as_float(common)
    out: list[Any] = []
    for x in operands:
        if isinstance(x, Tensor):
            out.append(x._array if x.dtype is common else cast_array(x._array, common.np))
        else:
            out.append(x if x is None or common.inexact else common.np.type(x) if x.__class__ is bool else x)
    return out, common


def unwrapper(op: Op) -> Callable[[tuple[Any, ...]], list[Any]]:
    """Turns the tensors among the arguments into arrays."""
    lists = {i for i, p in enumerate(op.schema.params) if p.is_tensor and p.is_list}
    singles = {i for i in op.schema.tensor_params if i not in lists}

    def unwrap(args: tuple[Any, ...]) -> list[Any]:
        out = list(args)
        for i in singles:
            x = out[i]
            if isinstance(x, Tensor):
                out[i] = x._array
        for i in lists:
            out[i] = [x._array if isinstance(x, Tensor) else x for x in out[i]]
        return out

    return unwrap


def casting_positions(op: Op) -> list[int]:
    """Where the arguments stand that decide the common type: tensors, and numbers that the rule names."""
    names = op.rule.names if op.rule is not None else None
    return [
        i
        for i, p in enumerate(op.schema.params)
        if (p.is_tensor and (names is None or p.name in names))
        or (p.type == "Scalar" and names is not None and p.name in names)
    ]


def caster(op: Op) -> Callable[[tuple[Any, ...]], tuple[list[Any], dt.dtype | None]]:
    """Arrays of all arguments, cast as the op's rule says, and the common type (None without casting)."""
    unwrap = unwrapper(op)
    rule = op.rule
    if rule is None or rule.cast is None:
        return lambda args: (unwrap(args), None)
    where = casting_positions(op)
    to_float = rule.cast == "float"
    check = CHECKS.get(op.name if op.inplace_of is None else op.inplace_of.name)

    def cast(args: tuple[Any, ...]) -> tuple[list[Any], dt.dtype | None]:
        if check is not None:
            check(*args)
        out = unwrap(args)
        arrays, common = cast_operands([args[i] for i in where], to_float)
        for i, a in zip(where, arrays):
            out[i] = a
        return out, common

    return cast
