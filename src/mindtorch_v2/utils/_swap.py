"""Exchanging two tensors in place."""

from __future__ import annotations

import weakref
from typing import Any

from .._python.tensor_methods import FIELDS
from .._tensor import Tensor


def swap(t1: Tensor, t2: Tensor) -> None:
    """Every name of the one now means the other.

    RuntimeError where a weak reference or a graph holds on to one of them.
    """
    for t in (t1, t2):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {'t1' if t is t1 else 't2'} because it has weakref associated with it")
    a: Any = t1
    b: Any = t2
    for name in FIELDS if "_array" not in a.__dict__ else ():  # without the native core they are ordinary attributes
        if hasattr(a, name) and hasattr(b, name):
            mine, theirs = getattr(a, name), getattr(b, name)
            setattr(a, name, theirs)
            setattr(b, name, mine)
    a.__class__, b.__class__ = b.__class__, a.__class__
    mine, theirs = dict(getattr(a, "__dict__", {})), dict(getattr(b, "__dict__", {}))
    if hasattr(a, "__dict__") and hasattr(b, "__dict__"):
        for target, values in ((a, theirs), (b, mine)):
            target.__dict__.clear()
            target.__dict__.update(values)
