"""Helpers around training: checkpointing, data loading and hooks. The parts are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PARTS = (
    "_contextlib",
    "_python_dispatch",
    "_pytree",
    "backend_registration",
    "backend_toolkit",
    "benchmark",
    "bottleneck",
    "checkpoint",
    "collect_env",
    "cpp_extension",
    "data",
    "deterministic",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "weak",
)
_BACKENDS = ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend")


def __getattr__(name: str) -> Any:
    if name in _BACKENDS:
        return getattr(import_module(f"{__name__}.backend_registration"), name)
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchanges what two tensors are: every name of the one now means the other."""
    from ._swap import swap

    swap(t1, t2)


def set_module(obj: Any, mod: str) -> None:
    """Sets an object's `__module__`."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS, *_BACKENDS})
