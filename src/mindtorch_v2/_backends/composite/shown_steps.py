"""Observed calls that stay as cheap as unobserved ones: the events of an op's steps around the one kernel that does them all.

Each function here causes the same events as the stepwise or composite form of its op; see `registry.shown`. Steps of ops
that have a derivative run below autograd and carry no number.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _dtype as dt
from ... import _observer
from ..._device import CPU
from ..._dispatch.modes import SPACE, Seen
from ..._dispatch.namespace import public
from ..._dispatch.registry import COMPOSITES, node_inside, resolved_operands, shown, step_inside
from ..._keys import OUTPUTS, SPECIAL
from ..._ops.table import Op, find
from ..._shape import contiguous_strides
from ..._tensor import wrap

Kernel = Callable[..., np.ndarray]

_TRANSPOSE, _RESOLVE, _EXPAND, _MM = find("transpose.int"), find("resolve_conj"), find("expand"), find("mm")
_ONES_LIKE, _EMPTY_LIKE, _EMPTY_STRIDED, _FILL = find("ones_like"), find("empty_like"), find("empty_strided"), find("fill_.Scalar")


@shown("t", native=step_inside(_TRANSPOSE, 0, 1, dimensions=2))
def t(seen: Seen, number: int, kernel: Kernel, self: Any) -> np.ndarray:
    array = self._array
    n = array.ndim
    if n > 2:
        return kernel(array)
    return seen[2](_TRANSPOSE, (self, 0, 1 if n == 2 else 0), -1, kernel, array)


@shown("detach", native=node_inside("detach"))
def detach(seen: Seen, number: int, kernel: Kernel, self: Any) -> np.ndarray:
    seen.observer.enter_node("detach", -1, 0, (), False)
    try:
        return kernel(self._array)
    finally:
        seen.leave()


def _relu(name: str, step: Op) -> None:
    @shown(name, allocates_inside=True, native=step_inside(step, 0))
    def relu(seen: Seen, number: int, kernel: Kernel, self: Any) -> np.ndarray:
        return kernel(self._array) if self.dtype is dt.bool_ else seen[2](step, (self, 0), -1, kernel, self._array)


_relu("relu", find("clamp_min"))
_relu("relu_", find("clamp_min_"))


@shown("mm", native=resolved_operands(_RESOLVE, 0, True))
def mm(seen: Seen, number: int, kernel: Kernel, self: Any, mat2: Any) -> np.ndarray:
    seen[3](_RESOLVE, (self,), _RESOLVE, (mat2,))
    a, b = self._array, mat2._array
    out = kernel(a, b)
    if a.flags.c_contiguous and b.flags.c_contiguous:
        seen[3](_RESOLVE, (wrap(out),))
    return out


@shown("bmm", native=resolved_operands(_RESOLVE, 0, False))
def bmm(seen: Seen, number: int, kernel: Kernel, self: Any, mat2: Any) -> np.ndarray:
    seen[3](_RESOLVE, (self,), _RESOLVE, (mat2,))
    return kernel(self._array, mat2._array)


@shown("addmm", native=resolved_operands(_RESOLVE, 1, True, _EXPAND))
def addmm(seen: Seen, number: int, kernel: Kernel, self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> np.ndarray:
    a, b, c = mat1._array, mat2._array, self._array
    if a.ndim == 2 == b.ndim and a.shape[1] == b.shape[0] and c.shape != (shape := (a.shape[0], b.shape[1])):
        seen[3](_EXPAND, (self, shape, False), _RESOLVE, (mat1,), _RESOLVE, (mat2,))
    else:
        seen[3](_RESOLVE, (mat1,), _RESOLVE, (mat2,))
    out = kernel(c, a, b, beta, alpha)
    if a.flags.c_contiguous and b.flags.c_contiguous:
        seen[3](_RESOLVE, (wrap(out),))
    return out


@shown("baddbmm")
def baddbmm(seen: Seen, number: int, kernel: Kernel, self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> np.ndarray:
    a, b = batch1._array, batch2._array
    if a.ndim == 3 == b.ndim and a.shape[2] == b.shape[1]:
        shape = (a.shape[0], a.shape[1], b.shape[2])
        if self._array.shape != shape:
            seen.mark(_EXPAND, (self, shape, False))
    return kernel(self._array, a, b, beta, alpha)


@shown("matmul", allocates_inside=True)
def matmul(seen: Seen, number: int, kernel: Kernel, self: Any, other: Any) -> np.ndarray:
    if self._array.ndim != 2 or other._array.ndim != 2:
        return COMPOSITES["matmul"](self, other)._array
    return seen.run(_MM, (self, other), number, mm, seen, number, kernel, self, other)


def ones_like(out: Any) -> Any:
    """`torch.ones_like(out)` for a tensor on the CPU, with the events of its steps around one numpy call."""
    observer = _observer.active
    array = out._array
    if observer is None or SPACE["_mode"] & (SPECIAL | OUTPUTS) or not array.flags.c_contiguous:
        return public.ones_like(out)
    observer.enter_op(_ONES_LIKE, (out, None, None, None, None, None), -1)
    try:
        observer.enter_op(_EMPTY_LIKE, (out, None, None, None, None, None), -1)
        shape = array.shape
        observer.enter_op(_EMPTY_STRIDED, (shape, contiguous_strides(shape) if shape else (), out.dtype, None, CPU, None), -1)
        made = wrap(np.empty(shape, array.dtype), out.dtype)
        if SPACE["_watch"] is not None:
            SPACE["_watch"](made)
        observer.leave()
        observer.leave()
        observer.enter_op(_FILL, (made, 1.0), -1)
        made._array.fill(1)
        observer.leave()
    finally:
        observer.leave()
    return made
