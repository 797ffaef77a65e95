"""For ops that are kernels at heart but have visible steps before: runs the kernel inside the op's own event."""

from __future__ import annotations

from functools import partial
from typing import Any

from ... import _observer
from ..._dispatch.outputs import watch_outputs
from ..._dispatch.registry import KERNELS
from ..._dispatch.resolve import box
from ..._keys import CPU, DEVICES
from ..._ops.table import Op, find
from ..._tensor import wrap

_boxed: dict[tuple[str, int], tuple[Op, Any]] = {}


def run_leaf(name: str, first: Any, *rest: Any) -> Any:
    """Calls the kernel that the first argument's device has for the op, without opening an event."""
    key = first._keys & DEVICES
    found = _boxed.get((name, key))
    if found is None:
        op = find(name)
        found = _boxed[name, key] = op, box(op, key)
    observer = _observer.active
    if observer is not None and observer.watches_memory:
        return observer.run_kernel(found[1], (first, *rest), partial(watch_outputs, found[0], observer))
    return found[1](first, *rest)


def run_index(self: Any, indices: list[Any]) -> Any:
    """index.Tensor by its kernel. On the CPU, and unobserved, the arrays are handed over directly."""
    if self._keys & DEVICES == CPU and _observer.active is None:
        return wrap(KERNELS["index.Tensor"](self._array, [None if i is None else i._array for i in indices]))
    return run_leaf("index.Tensor", self, indices)
