"""The CPU kernel of an op on the tensors' arrays as they are, where nothing is to be cast and no step is to be shown.

This is what the native executor does in `_native/core/call.c` (`takes_arrays`, `run_on_arrays`); everything else is left to the general
kernel on tensors.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _dtype as dt
from .. import _observer
from .._keys import GRAD
from .._tensor import Tensor, wrap
from . import modes
from .plan import ArgumentKind, CallPlan, Makes, ResultType

Boxed = Callable[..., Any]


def on_arrays(plan: CallPlan, general: Boxed) -> Boxed:
    """A kernel on tensors of the CPU that takes the short path where it applies, and `general` elsewhere."""
    kernel, op = plan.kernel, plan.op
    if kernel is None or plan.makes != Makes.TENSOR or not op.schema.tensor_params:
        return general
    if any(p.is_list for p in op.schema.params if p.is_tensor):
        return general
    from .resolve import explain, settle
    fits, steps = _fitting(plan), plan.has_steps
    result_type, lead, joins = plan.result_type, plan.lead, plan.joins

    def boxed(*args: Any) -> Any:
        if (steps and _observer.active is not None) or not fits(args):
            return general(*args)
        arrays = [a._array if isinstance(a, Tensor) else a for a in args]
        try:
            made = settle(kernel(*arrays), arrays) if joins else kernel(*arrays)
        except ValueError as error:
            raise explain(op, args, error) from None
        kind = args[lead].dtype if result_type == ResultType.OF_LEAD else dt.bool_ if result_type == ResultType.BOOL else None
        return wrap(made, kind)
    return boxed


def _fitting(plan: CallPlan) -> Callable[[tuple[Any, ...]], bool]:
    """A function that tells whether the kernel can take the arrays as they are."""
    kinds = [a.kind for a in plan.arguments]
    numbers = tuple(i for i, kind in enumerate(kinds) if kind == ArgumentKind.NUMBER)
    reals = tuple(i for i, kind in enumerate(kinds) if kind == ArgumentKind.REAL)
    others, lead, wants_inexact = tuple(i for i in plan.casting if i not in numbers), plan.lead, plan.wants_inexact
    through = plan.function is not None and plan.gradient is None     # differentiated through its steps

    def fits(args: tuple[Any, ...]) -> bool:
        first = args[lead]
        if first.__class__ is not Tensor and not isinstance(first, Tensor):
            return False
        kind = first.dtype
        if wants_inexact and not kind.inexact:
            return False
        for i in others:
            if args[i] is not None and args[i].dtype is not kind:
                return False
        for i in numbers:
            value = args[i]
            if isinstance(value, Tensor):
                if i in plan.casting and value.dtype is not kind:
                    return False
            elif (value.__class__ is not float and value.__class__ is not int) or not kind.inexact:
                return False
        for i in reals:
            if args[i].__class__ is not float and args[i].__class__ is not int and args[i] is not None:
                return False
        return not through or not modes.state.grad or not any(isinstance(a, Tensor) and a._keys & GRAD for a in args)
    return fits
