"""The Python executor of call plans: from arguments in the schema's order to the dispatcher.

With a native core this runs for what C hands on: special modes, instances of subclasses, wrong arguments, the first
call of an op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import wrong_argument
from .._keys import CPU, DEVICES, OBSERVED, SPECIAL, SUBCLASS
from .._ops.schema import Param
from .._ops.table import Op
from .._tensor import Tensor
from . import modes, overrides
from .dispatcher import dispatch_below_autograd, dispatch_with_keyset
from .outputs import counting_from_zero
from .plan import CallPlan
from .resolve import key_of_device

Runner = Callable[[tuple[Any, ...]], Any]
_NUMBERS = (int, float, complex, np.number, np.bool_)
_state, _SPACE = modes.state, modes.SPACE


def runner(plan: CallPlan, form: str) -> Runner:
    """The function that runs calls of an op on arguments in the schema's order. `form` as in `bind.Signature`."""
    op = plan.op
    if not op.schema.tensor_params:
        return _factory(plan, form)
    if plan.function is not None and plan.kernel is None and op.derivative is None:
        return _composite(plan, form)
    return _leaf(plan, form)


def _entry(op: Op, form: str) -> Callable[..., Any]:
    """How a call enters the dispatcher.

    Public names of factories enter below autograd, as PyTorch's Python functions do.
    """
    below = form == "function" and op.is_factory and op.family in ("creation", "random")
    return dispatch_below_autograd if below else dispatch_with_keyset


def _function_of(plan: CallPlan) -> Callable[..., Any] | None:
    """What runs a composite while nobody watches."""
    made = plan.function
    return counting_from_zero(made, plan.below_autograd) if made is not None and plan.makes_new else made


def _factory(plan: CallPlan, form: str) -> Runner:
    """Calls without tensors: their device chooses the kernel."""
    op, function, entry = plan.op, _function_of(plan), _entry(plan.op, form)
    position = next((i for i, p in enumerate(op.schema.params) if p.type == "Device"), -1) if op.is_factory else -1

    def run(args: tuple[Any, ...]) -> Any:
        mode = _SPACE["_mode"]
        if mode & SPECIAL and _state.function_modes:
            return overrides.override(op, form, args)
        if function is not None and not mode & (OBSERVED | SPECIAL):
            return function(*args)
        key = CPU if position < 0 or args[position].type == "cpu" else key_of_device(args[position])
        return (entry if mode & OBSERVED else dispatch_with_keyset)(op, key | mode, args)

    return run


def _composite(plan: CallPlan, form: str) -> Runner:
    """Calls that are nothing but their steps, which look at the tensors themselves."""
    op, function, keys_of = plan.op, _function_of(plan), _key_reader(plan)
    entry = _entry(op, form)
    assert function is not None

    def run(args: tuple[Any, ...]) -> Any:
        mode = _SPACE["_mode"]
        if mode & SPECIAL and _state.function_modes or overrides.asks(args):
            return overrides.override(op, form, args)
        if not mode & (OBSERVED | SPECIAL):
            try:
                return function(*args)
            except (AttributeError, TypeError):
                if (error := _find_misuse(op, args, form)) is not None:
                    raise error from None
                raise
        try:
            keys = keys_of(args) & ~SUBCLASS
        except AttributeError:
            return _refuse(op, args, form)
        return entry(op, keys | mode, args)

    return run


def _leaf(plan: CallPlan, form: str) -> Runner:
    """Calls of everything else: the union of the tensors' keys tells what is to be done."""
    op, keys_of = plan.op, _key_reader(plan)
    entry, kernels = _entry(op, form), op.backends
    first_may_be_number = op.schema.params[0].name in op.numbers

    def run(args: tuple[Any, ...]) -> Any:
        if _SPACE["_mode"] & SPECIAL and _state.function_modes:
            return overrides.override(op, form, args)
        try:
            keys = keys_of(args)
        except AttributeError:
            return _refuse(op, args, form)
        if keys == CPU and not _SPACE["_mode"] and CPU in kernels:
            return kernels[CPU](*args)  # what the dispatcher would do
        if keys & SUBCLASS:
            if overrides.asks(args):
                return overrides.override(op, form, args)
            keys &= ~SUBCLASS
        if first_may_be_number and not keys & DEVICES:
            keys |= CPU
        return entry(op, keys | _SPACE["_mode"], args)

    return run


# --- keys -------------------------------------------------------------------------------------------------------------
def _key_reader(plan: CallPlan) -> Callable[[tuple[Any, ...]], int]:
    """A function that unites the keys of the tensors among the arguments; AttributeError where one is none."""
    params = plan.op.schema.params
    required = tuple(i for i, p in enumerate(params) if p.is_tensor and not _is_special(plan.op, p))
    others = tuple(
        (i, _reader(plan.op, p))
        for i, p in enumerate(params)
        if p.is_tensor and not p.is_list and _is_special(plan.op, p)
    )
    lists = tuple(
        (i, _keys_with_holes if p.holes else _list_keys) for i, p in enumerate(params) if p.is_tensor and p.is_list
    )
    if len(required) == 1 and not others and not lists:
        (only,) = required
        return lambda args: args[only]._keys if args[only].__class__ is Tensor else _tensor_keys(args[only])
    if len(required) == len(others) == 1 and not lists:  # a tensor, and one that may be a number: x + y
        (first,), ((second, read_second),) = required, others

        def keys_of_two(args: tuple[Any, ...]) -> int:
            value = args[second]
            keys = args[first]._keys if args[first].__class__ is Tensor else _tensor_keys(args[first])
            return keys | (value._keys if value.__class__ is Tensor else read_second(value))

        return keys_of_two

    def keys_of(args: tuple[Any, ...]) -> int:
        keys = 0
        for i in required:
            keys |= _tensor_keys(args[i])
        for i, read in others:
            value = args[i]
            keys |= read(value) if value.__class__ is not Tensor else value._keys
        for i, read in lists:
            keys |= read(args[i])
        return keys

    return keys_of


def _is_special(op: Op, p: Param) -> bool:
    return p.is_list or p.optional or p.name in op.numbers


def _reader(op: Op, p: Param) -> Callable[[Any], int]:
    if p.name in op.numbers:
        return lambda x: 0 if x is None and p.optional else _number_key(x)
    return lambda x: 0 if x is None else _tensor_keys(x)


def _tensor_keys(x: Any) -> int:
    """The keys of a tensor; AttributeError for all else, also for objects that forward what they lack to a tensor."""
    if x.__class__ is not Tensor and not isinstance(x, Tensor):
        raise AttributeError(f"a tensor is wanted, not {type(x).__name__}")
    return x._keys


def _list_keys(tensors: Any) -> int:
    keys = 0
    if isinstance(tensors, Tensor):
        raise AttributeError("a tensor stands where a list of tensors is wanted")
    for t in tensors:
        keys |= _tensor_keys(t)
    return keys


def _keys_with_holes(tensors: Any) -> int:
    return _list_keys([t for t in tensors if t is not None])


def _number_key(x: Any) -> int:
    return 0 if isinstance(x, _NUMBERS) else _tensor_keys(x)


# --- misuse -----------------------------------------------------------------------------------------------------------
def _refuse(op: Op, args: tuple[Any, ...], form: str) -> Any:
    """What a call gives whose arguments are not the tensors that the op wants."""
    if overrides.asks(args):
        return overrides.override(op, form, args)
    if form == "operator":
        return NotImplemented
    raise _bad_tensor_argument(op, args, int(form == "function")) from None


def _bad_tensor_argument(op: Op, args: tuple[Any, ...], first: int) -> TypeError:
    """The error for the first argument that should have been a tensor; arguments are counted from `first`."""
    for i, (p, x) in enumerate(zip(op.schema.params, args)):
        if not p.is_tensor or (x is None and p.optional) or (isinstance(x, Tensor) and not p.is_list):
            continue
        if p.is_list:
            if not isinstance(x, (list, tuple)):
                return wrong_argument(op.base, p.name, i + first, "tuple of Tensors", x)
            for k, t in enumerate(x):
                if not isinstance(t, Tensor):
                    return TypeError(f"expected Tensor as element {k} in argument {i}, but got {type(t).__name__}")
        elif not (p.name in op.numbers and isinstance(x, (int, float, complex))):
            return wrong_argument(op.base, "input" if p.name == "self" else p.name, i + first, "Tensor", x)
    return TypeError(f"{op.base}(): arguments do not fit {op.text}")


def _find_misuse(op: Op, args: tuple[Any, ...], form: str) -> TypeError | None:
    """The error for an argument of a composite op that should have been a tensor, or None if all are."""
    if all(_fits(op, p, x) for p, x in zip(op.schema.params, args) if p.is_tensor):
        return None
    return _bad_tensor_argument(op, args, int(form == "function"))


def _fits(op: Op, p: Param, x: Any) -> bool:
    if p.is_list:
        return isinstance(x, (list, tuple)) and all(isinstance(t, Tensor) or (t is None and p.holes) for t in x)
    return (
        isinstance(x, Tensor)
        or (x is None and p.optional)
        or (p.name in op.numbers and isinstance(x, (int, float, complex)))
    )
