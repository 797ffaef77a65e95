"""Plans of calls: what the launcher in C needs to do calls of an op by itself, for arguments like ones it has seen
before.

A plan says which operator is launched, where each of its operands comes from, and what the results look like. It
holds for all calls with the same shapes, strides, types and further values (see `_native/npu/plans.c`, which keeps
them). Numbers that are handed on as they are count by their type only.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._ops.rules import Spec
from ..._ops.table import Op
from ..._tensor import Tensor, wrap
from . import launcher
from .copies import NPU
from .launcher import Entry

# helpers of rows that launch nothing and draw nothing
_PURE = {"only", "every", "dim_index", "zeros", "no_row", "cube", "float"}
_FROM_ARGUMENT, _FROM_OUTPUT, _CONSTANT = range(3)  # the codes of _native/npu/plans.h
_BY_VALUE, _BY_TYPE = range(2)
_MOST_ARGUMENTS, _MOST_OUTPUTS = 16, 4

Origin = tuple[str, int] | None  # ("argument", 1), ("output", 0), or None for an expression


class Form:
    """What can be said about a row's operands from its text alone."""

    __slots__ = ("origins", "inside", "is_pure")

    def __init__(self, body: ast.expr, names: Sequence[str], outputs: Sequence[str]) -> None:
        parts = body.elts if isinstance(body, ast.Tuple) else [body]
        known = {
            **{n: ("argument", i) for i, n in enumerate(names)},
            **{n: ("output", i) for i, n in enumerate(outputs)},
        }
        self.origins: list[Origin] = [known.get(p.id) if isinstance(p, ast.Name) else None for p in parts]
        within = [node for part, origin in zip(parts, self.origins) if origin is None for node in ast.walk(part)]
        self.inside = {node.id for node in within if isinstance(node, ast.Name)}  # names that expressions use
        self.is_pure = all(
            isinstance(n.func, ast.Name) and n.func.id in _PURE for n in within if isinstance(n, ast.Call)
        ) and not any(isinstance(n, (ast.Starred, ast.ListComp)) for n in within)


def with_plan(
    op: Op, forms: Sequence[Form], function: Callable[..., Any], planner: Callable[..., Any]
) -> Callable[..., Any]:
    """`function`, with the launcher in C before it where that can do calls of the op."""
    shim, params = launcher.configured_launcher(), op.schema.params
    if (
        not shim
        or not launcher.plans_calls
        or len(params) > _MOST_ARGUMENTS
        or not all(form.is_pure for form in forms)
        or any((p.is_tensor and p.is_list) or p.type in ("Device", "Generator") for p in params)
    ):
        return function
    inside = set().union(*(form.inside for form in forms))
    numbers = [(p.type == "Scalar" or p.name in op.numbers) and p.name not in inside for p in params]
    return shim.Planned(function, planner, tuple(_BY_TYPE if number else _BY_VALUE for number in numbers))


def stand_in(spec: Spec, device: Any) -> Tensor:
    """A tensor that looks like an output and has no memory."""
    return wrap(np.broadcast_to(np.empty((), spec.dtype.np), spec.shape), spec.dtype, NPU, device)


def plan_of(
    entry: Entry,
    form: Form,
    args: Sequence[Any],
    operands: Sequence[Any],
    outputs: Sequence[Tensor],
    returns: Any,
    single: bool,
    writes: bool,
) -> tuple[Any, ...] | None:
    """The plan of a launch with these operands, which were made from these arguments and outputs; None where there
    can be none.
    """
    if len(outputs) > _MOST_OUTPUTS or len(operands) != len(form.origins):
        return None
    found = []
    for code, named, operand in zip(entry.code, form.origins, operands):
        origin = _origin(code, named, operand, args, writes)
        if origin is None:
            return None
        found.append(origin)
    described = tuple((tuple(t._array.shape), t.dtype) for t in outputs)
    return (
        entry.first_address,
        entry.second_address,
        entry.label,
        entry.code,
        tuple(found),
        described,
        returns,
        single,
        writes,
    )


def _origin(code: str, origin: Origin, operand: Any, args: Sequence[Any], writes: bool) -> tuple[int, int, Any] | None:
    """(where an operand comes from, its position there, its value)"""
    is_tensor = isinstance(operand, Tensor)
    if code == "L" or (code == "t" and not is_tensor and operand is not None):
        return None  # a tensor would have to be made of a number first
    if origin is not None and origin[0] == "output":
        return (_FROM_ARGUMENT, 0, None) if writes else (_FROM_OUTPUT, origin[1], None)
    if origin is not None:
        return _FROM_ARGUMENT, origin[1], None
    if is_tensor:  # an expression that hands an argument on
        at = next((i for i, x in enumerate(args) if x is operand), None)
        return None if at is None else (_FROM_ARGUMENT, at, None)
    return _CONSTANT, 0, operand
