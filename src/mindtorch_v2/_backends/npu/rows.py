"""Rows of `ops.py` made callable, and the casts that their operands need."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Sequence
from typing import Any

from ... import _dtype as dt
from ..._dispatch.casting import casting_positions
from ..._dispatch.loading import call_as_loading
from ..._dispatch.registry import CHECKS
from ..._ops.rules import as_float, result_type
from ..._ops.table import Op
from ..._tensor import Tensor
from . import abi, copies, row_helpers
from .dimensions import dimension_check
from .launcher import Entry, Rejected, entry_of, launch
from .plans import Form, plan_of

Boxed = Callable[..., Any]
NUMBERS = (int, float, bool, complex)


class Row:
    """A row made callable: `operands(*arguments, *outputs)` gives what the operator takes."""

    __slots__ = ("name", "operands", "form", "wraps", "_entry")

    def __init__(self, text: str, op: Op, outputs: int) -> None:
        self.name, _, body = text.partition(":")
        self.name = self.name.strip()
        names = [f"{p.name}_" if keyword.iskeyword(p.name) else p.name for p in op.schema.params]
        outs = ["out"] if outputs == 1 else [f"out{i}" for i in range(outputs)]
        source = f"lambda {', '.join([*names, *outs])}: ({body.strip()},)"
        tree = ast.parse(source, mode="eval")
        assert isinstance(tree.body, ast.Lambda)
        self.form = Form(tree.body.body, names, outs if outputs else [])
        self.operands = eval(source, dict(row_helpers.HELPERS))
        self._entry: Entry | None = None
        # Whether an operand may have to be made of a number: rows that name one where the operator wants a tensor.
        scalars = {p.name for p in op.schema.params if p.type == "Scalar" or p.name in op.numbers}
        listed = [part.strip() for part in body.split(",")]
        self.wraps = any(
            c == "t" and part in scalars and part not in op.numbers for c, part in zip(abi.OPERATORS[self.name], listed)
        )

    def plan(self, args: Sequence[Any], outs: Sequence[Any], returns: Any, single: bool, writes: bool) -> Any:
        """What the launcher in C does for calls like this one; None where it can do nothing."""
        entry = entry_of(self.name)
        if entry is None:
            return None
        return plan_of(
            entry, self.form, args, self.operands(*args, *outs), () if writes else outs, returns, single, writes
        )

    def launch(self, args: Sequence[Any], outs: Sequence[Any], index: int, kind: dt.dtype | None, device: Any) -> None:
        entry = self._entry
        if entry is None:
            entry = self._entry = entry_of(self.name)
            if entry is None:
                raise Rejected(f"the libraries have no aclnn{self.name}")
        operands = self.operands(*args, *outs)
        for code, x in zip(entry.code, operands):
            if code == "t" and x is not None and not isinstance(x, Tensor):
                operands = tuple(
                    row_helpers.full_scalar(x, kind or dt.of_number(x), device)
                    if c == "t" and isinstance(x, NUMBERS)
                    else x
                    for c, x in zip(entry.code, operands)
                )
                break
        launch(entry, operands, index)

    def launch_plain(self, args: Sequence[Any], out: Any, index: int) -> None:
        """The same where every operand that should be a tensor is one."""
        entry = self._entry
        if entry is None or self.wraps:
            lead = args[0] if isinstance(args[0], Tensor) else args[1]
            self.launch(args, (out,), index, lead.dtype, out._device)
        else:
            launch(entry, self.operands(*args, out), index)


def _rows(op: Op, text: str, outputs: int) -> tuple[Row, Row | None, int]:
    """The row for tensors, the one for a number, and which argument decides between them."""
    first, _, second = text.partition("|")
    at = next((i for i, p in enumerate(op.schema.params) if p.name in op.numbers and i), -1)
    return Row(first, op, outputs), Row(second, op, outputs) if second.strip() else None, at


Types = Callable[[Sequence[Any]], dt.dtype | None]


def _common_type(op: Op) -> tuple[Types, list[int]]:
    """What gives the type that the op's rule brings its operands to, after the op's own test of them, and which
    operands those are.
    """
    rule = op.rule
    if rule is None or rule.cast is None:
        return lambda args: None, []
    where, to_float = casting_positions(op), rule.cast == "float"
    check = CHECKS.get(op.name if op.inplace_of is None else op.inplace_of.name)

    def common_type(args: Sequence[Any]) -> dt.dtype:
        if check is not None:
            check(*args)
        common = result_type(*[args[i] for i in where if args[i] is not None])
        return as_float(common) if to_float else common

    return common_type, where


def _caster(op: Op) -> Callable[[tuple[Any, ...]], tuple[Sequence[Any], dt.dtype | None]]:
    """Brings tensors to the type that the op's rule asks for, on the device."""
    common_type, where = _common_type(op)

    def cast(args: tuple[Any, ...]) -> tuple[Sequence[Any], dt.dtype | None]:
        common = common_type(args)
        for i in where:
            x = args[i]
            if isinstance(x, Tensor) and x.dtype is not common:
                args = (*args[:i], copies.cast(x, common), *args[i + 1 :])  # type: ignore[arg-type]
        return args, common

    return cast


def _fits(op: Op) -> Callable[[Sequence[Any]], bool]:
    """Whether arguments can be operands as they are: none is to be cast, none is empty."""
    common_type, where = _common_type(op)

    def fits(args: Sequence[Any]) -> bool:
        common = common_type(args)
        return all(args[i].dtype is common for i in where if isinstance(args[i], Tensor)) and all(
            x._array.size for x in args if isinstance(x, Tensor)
        )

    return fits


def _quietly(op: Op, plan: Boxed) -> Boxed:
    """A planner: calls that the operator does not take have no plan. A plan is made once per kind of arguments, which
    a profile shows as loading."""
    check, what = dimension_check(op), f"plan of {op.event}"

    def planner(*args: Any) -> Any:
        check(args)
        try:
            return call_as_loading(what, plan, args)
        except Rejected:
            return None

    return planner
