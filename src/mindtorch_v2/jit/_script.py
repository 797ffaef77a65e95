"""Scripting and tracing: what comes in goes out. Classes are here to be derived from and asked for."""

from __future__ import annotations

import types
import typing
import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ..nn.modules.module import Module

T = TypeVar("T")
Attribute = namedtuple("Attribute", ["value", "type"])  # noqa: PYI024 - torch.jit.Attribute


class Error(RuntimeError):
    """What a script raises."""

    __module__ = "torch.jit"


class TracerWarning(Warning):
    """Warns of values that a trace would fix."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Silences those of the library itself, of which there are none."""


class ScriptWarning(Warning):
    """Warns of what a script cannot hold."""


class TracingCheckError(Exception):
    """A trace that does not repeat what the function does."""


class ScriptFunction:
    """A compiled function. None is made here: `torch.jit.script` gives the Python function itself."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "functions are not compiled to TorchScript here; torch.jit.script gives the Python function itself"
        )


class ScriptModule(Module):
    """A base class of modules whose methods are marked with `script_method`; they run as Python."""


class RecursiveScriptModule(ScriptModule):
    """A compiled module. None is made here: `torch.jit.script` gives the module itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("modules are not compiled to TorchScript here; torch.jit.script gives the module itself")


class TracedModule(ScriptModule):
    """A traced module. None is made here: `torch.jit.trace` gives the module itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("modules are not traced here; torch.jit.trace gives the module itself")


class TopLevelTracedModule(TracedModule):
    """The outermost traced module: see `TracedModule`."""


class RecursiveScriptClass:
    """A compiled class. None is made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("classes are not compiled to TorchScript here; torch.jit.script gives the class itself")


class CompilationUnit:
    """A collection of compiled functions: made of TorchScript source, which is not compiled here."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            raise NotImplementedError("TorchScript source is not compiled here")


def script(obj: T, optimize: None = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """The function, module or class itself: it runs as Python. TypeError for what cannot be scripted."""
    if isinstance(obj, (int, float, str, bytes, complex)) or obj is None:
        raise TypeError(f"{type(obj)} is a built-in class")
    return obj


def script_method(fn: T) -> T:
    """The method itself."""
    return fn


def script_if_tracing(fn: T) -> T:
    """The function itself: nothing is traced."""
    return fn


def interface(obj: T) -> T:
    """The class itself, which says what methods a module has."""
    if not isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    return obj


def annotate(the_type: Any, the_value: T) -> T:
    """The value; the type is for compilers of scripts."""
    return the_value


def trace(
    func: T,
    example_inputs: Any = None,
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> T:
    """The function or module itself: it is not fixed to what the example inputs take through it."""
    if not callable(func):
        raise RuntimeError(f"torch.jit.trace expects a function or a module, got {type(func).__name__}")
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    return func


def trace_module(mod: T, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> T:
    """The module itself; `inputs` maps names of its methods to example inputs."""
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    return mod


def freeze(mod: T, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> T:
    """The module itself, in evaluation mode: PyTorch folds its parameters into a graph, which does not exist here."""
    if not isinstance(mod, Module):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
            "'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
            "before freezing."
        )
    return mod


def optimize_for_inference(mod: T, other_methods: list[str] | None = None) -> T:
    """The module itself, in evaluation mode."""
    return freeze(mod.eval()) if isinstance(mod, Module) else freeze(mod)


def run_frozen_optimizations(
    mod: Any, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Nothing to optimise: modules run as Python."""


# --- torch.jit.isinstance
_EMPTY = (
    "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For example, List[int] "
    "would become list and therefore falsely return True for List[float] or List[str]."
)


def is_of(obj: Any, target_type: Any) -> bool:
    """Whether the object is of the type, looking into containers: `torch.jit.isinstance(x, List[int])`."""
    if isinstance(target_type, tuple):
        return any(is_of(obj, t) for t in target_type)
    if target_type in (list, tuple, dict, typing.List, typing.Tuple, typing.Dict):  # noqa: UP006
        word = typing.get_origin(target_type) or target_type
        raise RuntimeError(
            f"Attempted to use {word.__name__} without a contained type. Please add a contained type, e.g. "
            f"{word.__name__}[int]"
        )
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return isinstance(obj, type(None) if target_type is None else target_type)
    if origin is typing.Union or origin is types.UnionType:
        return any(is_of(obj, type(None) if t is None else t) for t in inner)
    if not isinstance(obj, origin):
        return False
    if not obj:
        warnings.warn(_EMPTY, stacklevel=2)
        return True
    return _CONTAINERS[origin](obj, inner) if origin in _CONTAINERS else True


_CONTAINERS: dict[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    list: lambda obj, inner: all(is_of(x, inner[0]) for x in obj),
    dict: lambda obj, inner: all(is_of(k, inner[0]) and is_of(v, inner[1]) for k, v in obj.items()),
    tuple: lambda obj, inner: len(obj) == len(inner) and all(is_of(x, t) for x, t in zip(obj, inner)),
}
