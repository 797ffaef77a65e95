"""`torch.overrides`: classes and modes that are asked before functions of torch run (`__torch_function__`)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ._dispatch.modes import state
from ._dispatch.overrides import (
    DisableTorchFunctionSubclass,
    Stack,
    TorchFunctionMode,
    _in_order,
    _instances,
    ask,
    asks,
    no_answer,
)
from ._tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is asked before functions run, or the class of one of the arguments."""
    return bool(state.function_modes) or asks(tuple(relevant_args))


def has_torch_function_unary(arg: Any) -> bool:
    """The same for one argument."""
    return bool(state.function_modes) or asks((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """The same for arguments given one by one."""
    return bool(state.function_modes) or asks(args)


def handle_torch_function(public_api: Any, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Asks the innermost mode, or the classes of the relevant arguments, what `public_api(*args, **kwargs)` gives;
    TypeError if none answers.
    """
    relevant = tuple(relevant_args)
    answer = ask(public_api, relevant, args, kwargs)
    if answer is NotImplemented:
        raise no_answer(resolve_name(public_api) or str(public_api), relevant)
    return answer


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """A decorator: the arguments that `dispatcher(*args, **kwargs)` gives are asked before the function runs."""

    def wrap(func: Any) -> Any:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            return (
                handle_torch_function(call, relevant, *args, **kwargs)
                if has_torch_function(relevant)
                else func(*args, **kwargs)
            )

        return call

    return wrap


def is_tensor_like(inp: Any) -> bool:
    """Whether the object is a tensor or has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


@functools.cache
def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions before which classes are asked, by where programs find them."""
    import mindtorch_v2 as torch

    found: dict[Any, list[Any]] = {}
    for space in (torch, torch.nn.functional, torch.linalg, torch.special, Tensor):
        names = [
            n for n in dir(space) if not n.startswith("_") or space is Tensor and n.startswith("__") and n in _OPERATORS
        ]
        values = [getattr(space, n, None) for n in names]
        found[space] = [
            v for v in values if callable(v) and not isinstance(v, type) and v not in get_ignored_functions()
        ]
    return found


_OPERATORS = {
    f"__{n}__"
    for n in (
        "add",
        "radd",
        "sub",
        "rsub",
        "mul",
        "rmul",
        "truediv",
        "rtruediv",
        "floordiv",
        "mod",
        "pow",
        "rpow",
        "matmul",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "and",
        "or",
        "xor",
        "neg",
        "abs",
        "invert",
        "getitem",
        "setitem",
        "len",
        "iadd",
        "isub",
        "imul",
        "itruediv",
    )
}


@functools.cache
def get_ignored_functions() -> set[Any]:
    """Functions of torch before which nobody is asked: they take no tensors, or make them."""
    import mindtorch_v2 as torch

    names = (
        "is_tensor",
        "is_storage",
        "set_default_dtype",
        "get_default_dtype",
        "get_rng_state",
        "set_rng_state",
        "manual_seed",
        "initial_seed",
        "seed",
        "save",
        "load",
        "no_grad",
        "enable_grad",
        "set_grad_enabled",
        "set_printoptions",
        "typename",
        "from_numpy",
        "frombuffer",
        "from_dlpack",
        "as_tensor",
        "asarray",
        "tensor",
        "arange",
        "empty",
        "ones",
        "zeros",
        "full",
        "rand",
        "randn",
        "randint",
        "randperm",
        "eye",
        "linspace",
        "logspace",
        "compile",
        "can_cast",
        "promote_types",
        "finfo",
        "iinfo",
        "get_num_threads",
        "set_num_threads",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "inference_mode",
    )
    return {getattr(torch, n) for n in names if hasattr(torch, n)}


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results the default `__torch_function__` leaves as they are."""
    return {vars(Tensor).get(n) for n in ("_base", "grad", "_grad")} - {None}


def get_testing_overrides() -> dict[Any, Any]:
    """A function that returns -1 and takes the same arguments, for every overridable function."""

    def make(function: Any) -> Any:
        def override(*args: Any, **kwargs: Any) -> int:
            return -1

        return functools.wraps(function)(override)

    return {f: make(f) for functions in get_overridable_functions().values() for f in functions}


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether the function is a method of Tensor, or reads or writes a property of it."""
    return func in get_overridable_functions()[Tensor] or getattr(func, "__name__", "") in ("__get__", "__set__")


def resolve_name(f: Any) -> str | None:
    """A readable name of a function that a `__torch_function__` was given."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None)
    return None if name is None else f"torch.{name}"


def _is_torch_function_enabled() -> bool:
    return not state.subclasses_are_plain


def _get_overloaded_args(relevant_args: Iterable[Any], get_type_fn: Any = None) -> list[Any]:
    """One instance of every class that is asked, in the order of asking."""
    return _in_order(tuple(relevant_args))


def _overloaded_args(relevant_args: Iterable[Any]) -> list[Any]:
    """The instances among the arguments that are asked."""
    return list(_instances(tuple(relevant_args)))


def _get_current_function_mode() -> Any:
    """The innermost mode, or None."""
    return state.function_modes[-1] if state.function_modes else None


def _get_current_function_mode_stack() -> list[Any]:
    """All modes, the innermost last."""
    return list(state.function_modes)


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """A block without the innermost mode, which it gets."""
    mode = state.function_modes[-1]
    with Stack("function_modes", state.function_modes[:-1]):
        yield mode


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Inside a `__torch_dispatch__`, a block in which functions go the whole way again, gradients included."""
    from ._autograd.grad_mode import enable_grad

    with enable_grad():
        yield
