"""From an op to a function on CPU tensors: its numpy kernel, boxed so that it takes and gives tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.casting import caster, unwrapper
from ..._dispatch.checks import check_broadcast, check_result_type, check_writable, explain
from ..._dispatch.memory_order import joins_layouts, settle
from ..._dispatch.plan import inplace_function
from ..._dispatch.registry import CHECKS, INPLACE, KERNELS, UFUNCS
from ..._dispatch.resolve import device_boxers
from ..._dispatch.return_types import return_type
from ..._dispatch.views import box_view
from ..._dispatch.widening import Widened
from ..._keys import CPU
from ..._ops.table import Op
from ..._quiet import cast as cast_array
from ..._quiet import copyto, quiet
from ..._tensor import Tensor, bump_version, wrap

Boxed = Callable[..., Any]


_NUMBERS = (int, float, bool, complex)


def box(op: Op) -> Boxed:
    """A function on tensors that runs the op's numpy kernel."""
    kernel = KERNELS.get(op.name)
    if op.inplace_of is not None and kernel is None:
        return _box_inplace_twin(op)
    if kernel is None:
        raise NotImplementedError(f"{op.event} ({op.name}) has no CPU kernel")
    if op.is_view:
        return box_view(op, kernel)
    if op.writes:
        return _box_writing(op, kernel)
    return _box_plain(op, kernel)


def _box_plain(op: Op, kernel: Boxed) -> Boxed:
    cast = caster(op)
    out_type = op.rule.out if op.rule else "numpy"
    names = return_type(op)
    joins = joins_layouts(op)

    def boxed(*args: Any) -> Any:
        arrays, common = cast(args)
        try:
            result = settle(kernel(*arrays), arrays) if joins else kernel(*arrays)
        except ValueError as error:
            raise explain(op, args, error) from None
        if result.__class__ is tuple or result.__class__ is list:
            made = [None if r is None else wrap(r) for r in result]
            return tuple(made) if names is None else names(*made)
        if result is None or result.__class__ in _NUMBERS:
            return result
        t = wrap(result)
        if out_type == "cast" and t.dtype is not common and common is not None:
            t._array, t.dtype = cast_array(t._array, common.np), common
        return t

    return boxed


def _box_writing(op: Op, kernel: Boxed) -> Boxed:
    """An op that is declared in place: its kernel writes into the first array."""
    unwrap = unwrapper(op)

    def boxed(*args: Any) -> Any:
        target = args[0]
        check_writable(target)
        try:
            kernel(*unwrap(args))
        except ValueError as error:
            raise explain(op, args, error) from None
        bump_version(target)
        return target

    return boxed


def _box_inplace_twin(op: Op) -> Boxed:
    """The in-place form of a functional op: a kernel that writes if there is one, else compute and copy."""
    assert op.inplace_of is not None
    source = op.inplace_of
    if (composite := inplace_function(op)) is not None:
        return composite
    kernel = KERNELS[source.name]
    writer = INPLACE.get(source.name)
    ufunc = UFUNCS.get(source.name)
    run_ufunc = None if ufunc is None else quiet(ufunc, Widened(source.name, ufunc))
    cast = caster(op)
    rule_out = op.rule.out if op.rule else "numpy"
    inputs = 1 if ufunc is None else ufunc.nin
    elementwise = op.rule is not None and op.rule.elementwise
    check = CHECKS.get(source.name)

    def boxed(*args: Any) -> Any:
        target = args[0]
        check_writable(target)
        if check is not None:
            check(*args)
        if elementwise:
            check_broadcast(args, target._array.shape)
        arrays, common = cast(args)
        if common is not None and rule_out == "cast":
            check_result_type(common, target.dtype)
        direct = arrays[0] is target._array and (common is None or common is target.dtype)
        try:
            if direct and writer is not None:
                writer(*arrays)
            elif direct and run_ufunc is not None and rule_out != "bool":
                run_ufunc(*arrays[:inputs], out=target._array)
            else:
                _copy_result(target, np.asarray(kernel(*arrays)))
        except ValueError as error:
            raise explain(op, args, error) from None
        bump_version(target)
        return target

    return boxed


def _copy_result(target: Tensor, result: np.ndarray) -> None:
    if result.shape != target._array.shape:
        raise RuntimeError(
            f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    copyto(target._array, result, casting="unsafe")


device_boxers[CPU] = box
