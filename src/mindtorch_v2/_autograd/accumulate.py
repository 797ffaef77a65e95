"""Adding a gradient to a leaf."""

from __future__ import annotations

from sys import getrefcount

import numpy as np

from .._dispatch import aten
from .._dispatch.modes import SPACE
from .._keys import CPU, DEVICES, OBSERVED, SPECIAL, SUBCLASS
from .._shape import contiguous_strides
from .._tensor import Tensor, _new, strided


def accumulate(leaf: Tensor, grad: Tensor, create_graph: bool, sole: bool = False) -> None:
    """Adds `grad`, as the leaf's hooks left it, to `leaf.grad`.

    With `sole` (only the engine holds the gradient) it is taken over instead of copied.
    """
    old = leaf._grad
    if grad._keys & SUBCLASS and grad.layout is not strided:
        leaf._grad = grad if old is None else grad + old
    elif old is None:
        leaf._grad = _first(leaf, grad, create_graph, sole)
    elif create_graph:
        leaf._grad = aten.add(old, grad)
    else:
        aten.overload("add_.Tensor")(old, grad)
    if leaf._post_hooks:
        for hook in list(leaf._post_hooks.values()):
            hook(leaf)


def _count_of_a_sole_local() -> int:
    only = object()
    return getrefcount(only)


SOLE_LOCAL = _count_of_a_sole_local()
"""What `getrefcount(local)` returns where nothing but that local variable holds the object: 2, or 1 where the
interpreter lends locals to the functions it calls instead of counting a reference for them (Python 3.14)."""


def owns_memory(grad: Tensor) -> bool:
    """Whether no other tensor or array can see this tensor's memory."""
    sole = SOLE_LOCAL + 1  # the local below, and the attribute that it was read from
    a = grad._array
    if getrefcount(a) > sole or not a.flags.writeable or 0 in a.strides:  # an expanded gradient repeats one element
        return False
    owner, base = a.base, grad._base
    if base is None:
        return owner is None or getrefcount(owner) <= sole
    viewed = base._array
    return getrefcount(base) <= sole and getrefcount(viewed) <= sole + 2 * (owner is viewed)


def is_dense(a: np.ndarray) -> bool:
    """Whether the elements lie side by side in some order, each once."""
    return a.flags.c_contiguous or a.transpose(sorted(range(a.ndim), key=lambda d: -a.strides[d])).flags.c_contiguous


def _first(leaf: Tensor, grad: Tensor, create_graph: bool, sole: bool) -> Tensor:
    a = grad._array
    if create_graph:
        return aten.clone(grad)
    own = leaf._array
    fits = a.flags.c_contiguous and own.flags.c_contiguous or a.strides == own.strides
    dense = fits or is_dense(own)
    fits = fits or (a.flags.c_contiguous and not dense)
    del a
    if sole and fits and owns_memory(grad):
        if SPACE["_mode"] & (OBSERVED | SPECIAL) or not grad._keys & CPU:
            return aten.detach(grad)
        out = _new(Tensor)
        out._array, out._keys, out.dtype = grad._array, grad._keys & DEVICES, grad.dtype
        out._storage = grad._storage
        if grad._device is not None:
            out._device = grad._device
        return out
    made = aten.new_empty_strided(
        grad, list(grad._array.shape), list(leaf.stride() if dense else contiguous_strides(grad._array.shape))
    )
    return aten.copy_(made, grad)
