"""Helpers around training: checkpointing, data loading and hooks. The parts are loaded when first used."""

from __future__ import annotations

from typing import Any

from .._lazy_parts import lazy_parts as _lazy_parts

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


__getattr__, __dir__ = _lazy_parts(__name__, _PARTS, dict.fromkeys(_BACKENDS, "utils.backend_registration"))


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchanges what two tensors are: every name of the one now means the other."""
    from ._swap import swap

    swap(t1, t2)


def set_module(obj: Any, mod: str) -> None:
    """Sets an object's `__module__`."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
