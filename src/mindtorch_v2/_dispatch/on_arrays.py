"""The CPU kernel of an op on the tensors' arrays as they are, where nothing is to be cast and no step is to be listed.

This is what the native executor does in `_native/core/call.c` (`takes_arrays`, `run_on_arrays`); everything else is
left to the general kernel on tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _dtype as dt
from .. import _observer
from .._keys import GRAD
from .._tensor import Tensor, wrap
from . import modes
from .checks import explain
from .memory_order import settle
from .plan import ArgumentKind, CallPlan, Makes, ResultType

Boxed = Callable[..., Any]
_REAL = (float, int)


def on_arrays(plan: CallPlan, general: Boxed) -> Boxed:
    """A kernel on tensors of the CPU that takes the short path where it applies, and `general` elsewhere."""
    kernel, op = plan.kernel, plan.op
    if kernel is None or plan.makes != Makes.TENSOR or not op.schema.tensor_params:
        return general
    if any(p.is_list for p in op.schema.params if p.is_tensor):
        return general
    fits, steps, run = _fit_test(plan), plan.has_steps, _kernel_runner(plan)
    of_lead, is_bool, lead, joins = (
        plan.result_type == ResultType.OF_LEAD,
        plan.result_type == ResultType.BOOL,
        plan.lead,
        plan.joins,
    )

    def boxed(*args: Any) -> Any:
        if (steps and _observer.active is not None) or not fits(args):
            return general(*args)
        arrays = []
        for a in args:  # a comprehension is a call of its own before Python 3.12
            arrays.append(a._array if isinstance(a, Tensor) else a)
        try:
            made = run(arrays)
        except ValueError as error:
            raise explain(op, args, error) from None
        if joins and made.strides != arrays[0].strides:
            made = settle(made, arrays)
        return wrap(made, args[lead].dtype if of_lead else dt.bool_ if is_bool else None)

    return boxed


def _kernel_runner(plan: CallPlan) -> Callable[[list[Any]], Any]:
    """Runs the kernel on the arguments; its direct form where all that are not tensors have their defaults."""
    kernel, direct = plan.kernel, plan.direct
    assert kernel is not None
    kinds = [ArgumentKind.TENSOR <= a.kind <= ArgumentKind.NUMBER for a in plan.arguments]
    tensors = sum(kinds)
    if direct is None or not all(kinds[:tensors]):
        return lambda arrays: kernel(*arrays)
    unset = tuple((i, a.default) for i, a in enumerate(plan.arguments) if i >= tensors)

    if tensors == 2 and len(unset) == 1:  # add, sub: two operands and a factor
        ((_, one),) = unset
        return lambda arrays: direct(arrays[0], arrays[1]) if arrays[2] is one else kernel(*arrays)

    def run(arrays: list[Any]) -> Any:
        for i, default in unset:
            if arrays[i] is not default:  # True equals 1, but is another object
                return kernel(*arrays)
        return direct(*arrays[:tensors])

    return run if unset else lambda arrays: direct(*arrays)


def _fit_test(plan: CallPlan) -> Callable[[tuple[Any, ...]], bool]:
    """A function that tells whether the kernel can take the arrays as they are."""
    kinds = [a.kind for a in plan.arguments]
    numbers = tuple((i, i in plan.casting) for i, kind in enumerate(kinds) if kind == ArgumentKind.NUMBER)
    reals = tuple(i for i, kind in enumerate(kinds) if kind == ArgumentKind.REAL)
    others, lead, wants_inexact = (
        tuple(i for i in plan.casting if kinds[i] != ArgumentKind.NUMBER),
        plan.lead,
        plan.wants_inexact,
    )
    through = plan.function is not None and plan.gradient is None  # differentiated through its steps

    def fits(args: tuple[Any, ...]) -> bool:
        first = args[lead]
        if not isinstance(first, Tensor):
            return False
        kind = first.dtype
        if wants_inexact and not kind.inexact:
            return False
        for i in others:
            if args[i] is not None and args[i].dtype is not kind:
                return False
        for i, is_cast in numbers:
            if isinstance(args[i], Tensor):
                if is_cast and args[i].dtype is not kind:
                    return False
            elif args[i].__class__ not in _REAL or not kind.inexact:
                return False
        for i in reals:
            if args[i].__class__ not in _REAL and args[i] is not None:
                return False
        return not through or not modes.state.grad or not any(isinstance(a, Tensor) and a._keys & GRAD for a in args)

    return fits
