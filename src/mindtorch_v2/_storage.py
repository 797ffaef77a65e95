"""What tensors that share memory have in common: a version counter, and the block while memory is watched."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _observer
from ._native import native_module

native: Any = native_module("_core")   # tensors, calls, the backward pass and the recorder in C; None where they were not built

if TYPE_CHECKING or native is None:
    class Storage:
        """Shared by a tensor and its views. `version` counts in-place writes; `block` lives as long as the memory."""

        version = 0                   # class defaults keep making one as cheap as an empty object
        block: Any = None
else:
    Storage = native.Storage


class Block:
    """Reports the end of a watched allocation to the observer that saw its beginning."""

    __slots__ = ("observer", "address", "nbytes", "device_type", "device_index")

    def __init__(self, observer: _observer.Observer, address: int, nbytes: int, device_type: str, device_index: int) -> None:
        self.observer, self.address, self.nbytes = observer, address, nbytes
        self.device_type, self.device_index = device_type, device_index
        observer.allocated(address, nbytes, device_type, device_index)

    def __del__(self) -> None:
        if _observer.active is self.observer:
            self.observer.freed(self.address, self.nbytes, self.device_type, self.device_index)


def root_array(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `array`."""
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array


def restride(array: np.ndarray, shape: Sequence[int], strides: Sequence[int], dtype: Any = None) -> np.ndarray:
    """A view from the first element of `array` on, with strides in bytes that stay inside its memory. The memory's owner stays
    in sight, as `root_array` needs."""
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous:
        return np.ndarray(shape, dtype or array.dtype, array, 0, strides)
    root = root_array(array)
    if not root.flags.forc:
        first = np.lib.stride_tricks.as_strided(array, (1,), (array.itemsize,))
        return np.lib.stride_tricks.as_strided(first if dtype is None else first.view(dtype), shape, strides,
                                               writeable=bool(flags.writeable))
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return np.ndarray(shape, dtype or array.dtype, root, offset, strides)


def watch(tensor: Any, observer: _observer.Observer) -> None:
    """Reports a fresh tensor's memory to the observer, once. Memory without elements is not reported."""
    storage = tensor._st
    if storage is None:
        storage = tensor._st = Storage()
    if storage.block is None and (tensor._ks & 2) == 0:  # meta tensors have no memory
        root = root_array(tensor._a)
        if root.nbytes:
            where = tensor.device
            storage.block = Block(observer, root.__array_interface__["data"][0], root.nbytes, where.type, where.index or 0)
