"""Puts kernels of oneDNN before those that are registered."""

from __future__ import annotations

import os

from ..._dispatch.registry import DIRECT, KERNELS
from .library import VARIABLE, load, native


def accelerate(*names: str) -> None:
    """Puts the kernels of these names before those of the operators, whose families' CPU kernels are registered."""
    if native is None or os.environ.get(VARIABLE) == "0":
        return
    for name in names:
        KERNELS[name] = native.Kernel(name, KERNELS[name])
        if name in DIRECT:
            DIRECT[name] = native.Kernel(name, DIRECT[name])


if native is not None:
    native.set_finder(load)
