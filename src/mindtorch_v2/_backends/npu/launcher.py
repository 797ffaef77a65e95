"""The one way to a kernel: builds an operator's operands from tensors and numbers and runs its two phases on a stream.

This is the form in ctypes, which works with any Python; `_native/npu/launch.c` does the same faster where it was
built, and
`_native/npu/plans.c` the whole call of an op (see plans.py).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._accelerators import key_of
from ..._storage import native as recorder_module
from ..._tensor import Parameter, Tensor, bump_version
from . import abi, native, streams, timeline
from .allocator import address_of, allocator_of, check_kept, memory_of
from .runtime import Runtime, bind, runtime, thread

_TYPE_OF = {d: abi.DATA_TYPES[d.name] for d in dt.ALL if d.name in abi.DATA_TYPES}
_layouts: dict[tuple[Any, ...], tuple[Any, int, Any, int]] = {}  # (shape, strides, item size) -> descriptions in C


class Rejected(Exception):
    """The operator does not take these operands; nothing was launched."""


class Entry:
    """An operator of the libraries."""

    __slots__ = ("name", "label", "code", "first", "second", "first_address", "second_address")

    def __init__(self, name: str, code: str, first: Any, second: Any) -> None:
        self.name, self.code, self.first, self.second = name, code, first, second
        self.label = f"aclnn{name}"
        self.first_address, self.second_address = address_of_function(first), address_of_function(second)


_entries: dict[str, Entry | None] = {}


def entry_of(name: str) -> Entry | None:
    """The operator of this name, or None where the libraries lack one of its functions."""
    if name not in _entries:
        found = runtime().libraries.operator(name)
        _entries[name] = None if found is None else Entry(name, abi.OPERATORS[name], *found)
    return _entries[name]


# --- operands
def _layout(array: np.ndarray) -> tuple[Any, int, Any, int]:
    """Dimensions, their count, strides in elements and format.

    Operands copy them, so descriptions are kept for reuse.
    """
    key = (array.shape, array.strides, array.itemsize)
    found = _layouts.get(key)
    if found is None:
        n, item = array.ndim, array.itemsize
        if len(_layouts) > 4096:
            _layouts.clear()
        made = (ctypes.c_int64 * n)(*array.shape), n, (ctypes.c_int64 * n)(*(s // item for s in array.strides))
        found = _layouts[key] = *made, abi.FORMAT_OF_RANK.get(n, abi.FORMAT_ND)
    return found


def _tensor(rt: Runtime, t: Any) -> Any:
    """A description of a tensor: its view of a flat storage."""
    array = t._array
    dims, n, strides, kind = _layout(array)
    memory = memory_of(array)
    if memory is None:
        return rt.aclCreateTensor(
            dims, n, _TYPE_OF[t.dtype], strides, 0, kind, ctypes.byref(ctypes.c_int64(0)), 1, None
        )
    check_kept(memory)
    item = array.itemsize
    start = memory.address
    offset, rest = divmod(0 if array.base is memory else address_of(array) - start, item)
    if rest:
        raise Rejected("the tensor does not begin at a multiple of its elements' size")
    return rt.aclCreateTensor(
        dims, n, _TYPE_OF[t.dtype], strides, offset, kind, ctypes.byref(ctypes.c_int64(memory.nbytes // item)), 1, start
    )


_SCALARS: dict[type, tuple[Any, int]] = {
    bool: (ctypes.c_bool, abi.DATA_TYPES["bool"]),
    int: (ctypes.c_int64, abi.DATA_TYPES["int64"]),
    float: (ctypes.c_double, abi.DATA_TYPES["float64"]),
}


def _scalar(rt: Runtime, x: Any) -> Any:
    if isinstance(x, np.generic):
        x = x.item()
    found = _SCALARS.get(x.__class__)
    if found is None:
        raise Rejected(f"no device type fits the number {x!r}")
    return rt.aclCreateScalar(ctypes.byref(found[0](x)), found[1])


def _ints(rt: Runtime, xs: Any) -> Any:
    return rt.aclCreateIntArray((ctypes.c_int64 * len(xs))(*xs), len(xs))


def _bools(rt: Runtime, xs: Any) -> Any:
    return rt.aclCreateBoolArray((ctypes.c_bool * len(xs))(*xs), len(xs))


def _tensors(rt: Runtime, xs: Any) -> Any:
    return rt.aclCreateTensorList((ctypes.c_void_p * len(xs))(*[_tensor(rt, x) for x in xs]), len(xs))


_MAKERS: dict[str, tuple[Callable[[Runtime, Any], Any], str]] = {
    "t": (_tensor, "aclDestroyTensor"),
    "s": (_scalar, "aclDestroyScalar"),
    "I": (_ints, "aclDestroyIntArray"),
    "B": (_bools, "aclDestroyBoolArray"),
    "L": (_tensors, "aclDestroyTensorList"),  # a list destroys its tensors
}


class _Results(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("executor", ctypes.c_void_p)]


# --- launching
_CREATORS = (
    "aclCreateTensor",
    "aclDestroyTensor",
    "aclCreateScalar",
    "aclDestroyScalar",
    "aclCreateIntArray",
    "aclDestroyIntArray",
    "aclCreateBoolArray",
    "aclDestroyBoolArray",
    "aclCreateTensorList",
    "aclDestroyTensorList",
)
_shim: Any = None  # the launcher in C, once it knows the libraries; False where there is none
plans_calls = False  # whether the launcher in C can do whole calls


def address_of_function(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _samples() -> list[tuple[Any, ...]]:
    """Arrays and their facts: what the launcher in C checks its reading of arrays against."""
    whole = np.zeros((2, 3, 5), np.float32)
    frozen = np.broadcast_to(whole[0], (4, 3, 5))
    return [
        (a, a.__array_interface__["data"][0], a.shape, a.strides, a.base, a.flags.writeable)
        for a in (whole, whole[1:, ::2].T, np.zeros((), np.int64), frozen)
    ]


def configured_launcher() -> Any:
    """The launcher in C, told about the libraries; False where it was not built, is switched off or cannot read
    arrays.
    """
    global _shim, plans_calls
    if _shim is None:
        found = native.launcher
        if found is not None:
            rt = runtime()
            addresses = tuple(address_of_function(getattr(rt, name)) for name in _CREATORS)
            kinds = [(d, d.np, _TYPE_OF[d], d.itemsize) for d in _TYPE_OF]
            found.set_allocator(lambda nbytes, index: allocator_of(index).take(nbytes, streams.stream_at(index)))
            if not found.configure(addresses, kinds, Rejected, np.ndarray, _samples()):
                found = None
        if found is not None and recorder_module is not None:
            plans_calls = found.configure_plans(
                recorder_module.TensorFields,
                Tensor,
                Parameter,
                np.ndarray,
                bump_version,
                _fail,
                dt.dtype,
                key_of("npu"),
            )
        _shim = found or False
    return _shim


def _fail(phase: int, status: int, label: str) -> None:
    """Raises what a phase that failed stands for."""
    rt = runtime()
    if phase == 1 and status in abi.INVALID_OPERAND:
        raise Rejected(rt.recent_error() or f"code {status}")
    raise rt.error(status, f"{label}{'GetWorkspaceSize' if phase == 1 else ''}")


def launch(entry: Entry, operands: tuple[Any, ...], index: int) -> None:
    """Puts one operator into the current stream of device `index`. It has not run when this returns."""
    shim = configured_launcher() if _shim is None else _shim
    if not shim:
        launch_in_python(entry, operands, index)
        return
    if thread.bound != index:
        bind(index)
    stream = streams.stream_at(index)
    phase, status = shim.launch(
        entry.code,
        entry.first_address,
        entry.second_address,
        operands,
        entry.label,
        index,
        stream.handle,
        stream.stream_id,
        stream,
    )
    if phase:
        _fail(phase, status, entry.label)


def launch_in_python(entry: Entry, operands: tuple[Any, ...], index: int) -> None:
    """The same with ctypes."""
    rt = runtime()
    if thread.bound != index:
        bind(index)
    made: list[tuple[str, Any]] = []
    try:
        raw: list[Any] = []
        for code, x in zip(entry.code, operands):
            if x is None:
                raw.append(None)
            elif code in _MAKERS:
                make, destroy = _MAKERS[code]
                x = make(rt, x)
                made.append((destroy, x))
                raw.append(x)
            else:
                raw.append(_TYPE_OF[x] if code == "D" else x)
        _run(entry, raw, index)
    finally:
        for destroy, x in made:
            getattr(rt, destroy)(x)


def _run(entry: Entry, raw: list[Any], index: int) -> None:
    stream = streams.stream_at(index)
    results = _Results()
    code = entry.first(*raw, ctypes.byref(results), ctypes.byref(results, 8))
    if code:
        _fail(1, code, entry.label)
    # The block goes back to the allocator when this returns; the stream's order keeps others off it until the kernel
    # ran.
    workspace = allocator_of(index).take(results.size, stream) if results.size else None
    watcher = timeline.active
    if watcher is not None:
        watcher.begin(entry.label, stream)
    code = entry.second(None if workspace is None else workspace.address, results.size, results.executor, stream.handle)
    if watcher is not None:
        watcher.end(entry.label, stream)
    if code:
        _fail(2, code, entry.label)
