"""`__torch_dispatch__`: modes and classes that run instead of an operator, below autograd.

A mode sets the bit SPECIAL; instances of classes carry the key SUBCLASS. Both take the general path, where the
kernel of an operator that is not made of others is replaced by a call of Python, with gradients off. Autograd has
then recorded what it needs, or will.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import cache
from typing import Any

from .. import _observer
from .._keys import GRAD, SUBCLASS
from .._ops.table import Op
from .._shape import contiguous_strides
from .._tensor import Tensor
from . import overrides
from .modes import SPACE, Switch, call_in_event, state
from .registry import COMPOSITES


class TorchDispatchMode(overrides.StackedMode):
    """A block in which `__torch_dispatch__(func, types, args, kwargs)` of this object runs instead of every
    operator.

    `func` is a `torch.ops.aten.<name>.<overload>`. While it runs, the mode itself is set aside, so that it may call
    the operator.
    """

    _kind = "dispatch_modes"
    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._blocks: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether the mode belongs to PyTorch's own machinery."""
        return False


class _Below(Switch):
    """The block in which Python runs instead of an operator."""

    _special = True

    def __init__(self, modes: tuple[Any, ...]) -> None:
        self._changes = {"dispatch_modes": modes, "grad": False}


def _instances(values: Any) -> Iterator[Any]:
    for v in values:
        if v.__class__ is list or v.__class__ is tuple:
            yield from _instances(v)
        elif isinstance(v, Tensor) and v._dispatches:
            yield v


def takes_over(args: tuple[Any, ...]) -> bool:
    """Whether Python runs instead of kernels in a call with these arguments."""
    return bool(state.dispatch_modes) or SPACE["_dispatching"] and next(_instances(args), None) is not None


def kernel_of(op: Op) -> Any:
    """What stands for the op's kernel: a call of Python, or the steps of an op that is made of others, which come
    here one by one.
    """
    if op.name in COMPOSITES and op.derivative is None and not op.is_factory:
        return COMPOSITES[op.name]

    def run(*args: Any) -> Any:
        from .packets import aten

        func = getattr(getattr(aten, op.base), op.overload or "default")
        positional, keywords = overrides._as_given(op, args)
        if state.dispatch_modes:
            mode, rest = state.dispatch_modes[-1], state.dispatch_modes[:-1]
            answer = _call_in_event(
                "PythonDispatchMode", op, args, _ask_mode, mode, rest, func, args, positional, keywords
            )
        else:
            answer = _call_in_event("PythonSubclass", op, args, _ask_classes, func, args, positional, keywords)
        return (
            args[0]
            if op.inplace_of is not None and answer is not None and not isinstance(answer, (tuple, list))
            else answer
        )

    return run


@cache
def _event_op(op: Op, event: str) -> Op:
    """An operator with the same arguments whose calls bear another name in profiles."""
    made = copy(op)
    made.event, made.overload = event, ""
    return made


def _call_in_event(event: str, op: Op, args: tuple[Any, ...], function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls the function. In a profile the Python that runs instead of an operator is an event of its own, inside the
    operator's, with the operator's arguments.
    """
    observer = _observer.active
    if observer is None:
        return function(*arguments)
    return call_in_event(observer, _event_op(op, event), args, -1, function, *arguments)


def _ask_mode(
    mode: Any,
    outer_modes: tuple[Any, ...],
    func: Any,
    args: tuple[Any, ...],
    positional: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    types = tuple({type(t): None for t in _instances(args)})
    with _Below(outer_modes):
        return mode.__torch_dispatch__(func, types, positional, keywords)


def _ask_classes(func: Any, args: tuple[Any, ...], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    found = list(_instances(args))
    types = tuple({type(t): None for t in found})
    with _Below(()):
        for kind in types:
            answer = kind.__torch_dispatch__(func, types, positional, keywords)
            if answer is not NotImplemented:
                return answer
    raise TypeError(
        f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        + "".join(f"  - tensor subclass {kind}\n" for kind in types)
    )


def _make_wrapper_subclass(
    cls: Any,
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
) -> Any:
    """An instance of the class with a shape, a type and a device, but without memory: what it does, its
    `__torch_dispatch__` says.
    """
    from .. import _device
    from .. import _dtype as dt
    from .namespace import aten

    if not cls._dispatches:
        raise RuntimeError(f"_make_wrapper_subclass: {cls.__name__} must define __torch_dispatch__")
    shape = tuple(size)
    steps = contiguous_strides(shape) if strides is None else tuple(strides)
    with overrides.DisableTorchFunctionSubclass():
        made = aten.empty_strided(shape, steps, dtype=dtype or dt.get_default_dtype(), device=_device.META)
    made = overrides.become(made, cls)
    made._keys |= SUBCLASS | (GRAD if requires_grad else 0)
    made._device = _device.CPU if device is None else _device.device(device)
    return made


SPACE["_dispatching"] = False
Tensor._make_wrapper_subclass = classmethod(  # type: ignore[attr-defined]
    lambda own, cls, *args, **kwargs: _make_wrapper_subclass(cls, *args, **kwargs)
)
