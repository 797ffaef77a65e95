"""Discrete Fourier transforms: `torch.fft`."""

from __future__ import annotations

from typing import Any

from ._python.install import NamespaceModule as _NamespaceModule

_functions = _NamespaceModule("fft", "fft_")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [public for public in __dir__() if not public.startswith("_") and public not in ("Any", "annotations")]
    if name.startswith("__"):
        raise AttributeError(name)
    made = _functions.function(name)
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions.names()})
