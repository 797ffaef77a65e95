"""What tensors that share memory have in common: a version counter, and while memory is watched a block.

The memory itself has the identity. What numpy allocates while memory is watched carries its block id with it
(`allocator.c`). All other memory (from before, another library's, a device's, or where there is no native core) is
known by the array that owns it, which every view keeps alive: a weak reference to it tells when the memory is released.
So however tensors share it, a block begins and ends once.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _observer
from ._keys import META
from ._native import native_module

# tensors, calls, the backward pass and the recorder in C; None where they were not built
native: Any = native_module("_core")

if TYPE_CHECKING or native is None:

    class Storage:
        """Shared by a tensor and its views. `version` counts in-place writes."""

        version = 0  # a class default keeps making one as cheap as an empty object
        views: list[weakref.ref[Any]] | None = None  # those that live, and some that have died
else:
    Storage = native.Storage


# --- blocks
class Block(weakref.ref[np.ndarray]):
    """Memory that is watched: it lives as long as the array that owns it, and is reported when that is deleted.

    `block_id` is unique in the process, whereas addresses are used again. `noted_in` is the recording that knows of
    it.
    """

    __slots__ = ("block_id", "key", "address", "nbytes", "device_type", "device_index", "noted_in")

    block_id: int
    noted_in: int

    def __new__(cls, root: np.ndarray, device_type: str, device_index: int) -> Block:
        return super().__new__(cls, root, _note_end)

    def __init__(self, root: np.ndarray, device_type: str, device_index: int) -> None:
        super().__init__(root, _note_end)  # type: ignore[call-arg]
        self.block_id, self.key, self.noted_in = next_block(), id(root), 0
        self.address, self.nbytes = root.__array_interface__["data"][0], root.nbytes
        self.device_type, self.device_index = device_type, device_index


_blocks: dict[int, Block] = {}  # by the identity of the array that owns the memory
next_block: Callable[[], int] = native.next_block if native is not None else itertools.count(1).__next__
_recordings = itertools.count(1)
_recording = 0  # id of the newest recording: what it has not noted is noted when next seen


def _note_end(block: Any) -> None:
    _blocks.pop(block.key, None)
    observer = _observer.active
    if observer is not None and observer.watches_memory:
        observer.freed(block.address, block.nbytes, block.device_type, block.device_index, block.block_id)


def begin_recording() -> None:
    """What is live so far is to be noted anew."""
    global _recording
    _recording = next(_recordings)


def _block_of(root: np.ndarray, device_type: str, device_index: int) -> Block:
    found = _blocks.get(id(root))
    if found is None:
        found = _blocks[id(root)] = Block(root, device_type, device_index)
    return found


def _is_known(root: np.ndarray) -> bool:
    """Whether the present recording knows the memory of an array that owns it."""
    found = _blocks.get(id(root))
    if found is not None:
        return found.noted_in == _recording
    return native is not None and native.block_of(root, False) > 0


def is_part(root: np.ndarray) -> bool:
    """Whether an array that owns memory, as far as numpy knows, is a window of memory that the present recording
    knows.
    """
    whole = _whole(root)
    return whole is not root and _is_known(whole)


def held_block(root: np.ndarray, device_type: str, device_index: int) -> int:
    """The id of the block of an array that owns its memory; who asks notes the block itself."""
    block_id = native.block_of(root, True) if native is not None else 0
    if not block_id:
        block = _block_of(root, device_type, device_index)
        block.noted_in, block_id = _recording, block.block_id
    return int(block_id)


def known_block(root: np.ndarray) -> int:
    """The id of the block of an array that owns its memory; 0 where nobody gave it one."""
    found = _blocks.get(id(root))
    if found is not None:
        return found.block_id
    return int(native.block_of(root, False)) if native is not None else 0


def watch(tensor: Any, observer: _observer.Observer) -> None:
    """Reports a tensor's memory to the observer unless it knows it. Memory without elements is not reported."""
    if not tensor._keys & META:  # meta tensors have no memory
        where = tensor.device
        watch_array(tensor._array, where.type, where.index or 0, observer)


def taken(tensor: Any) -> Any:
    """The tensor itself, whose memory no operator allocated: it is reported where memory is watched."""
    observer = _observer.active
    if observer is not None and observer.watches_memory:
        watch(tensor, observer)
    return tensor


def watch_array(
    array: np.ndarray, device_type: str = "cpu", device_index: int = 0, observer: _observer.Observer | None = None
) -> None:
    """Reports the memory of an array to the observer (by default the active one) unless it knows it."""
    root = root_array(array)
    observer = _observer.active if observer is None else observer
    if not root.nbytes or observer is None or (native is not None and native.watch_owner(root)) or is_part(root):
        return
    block = _block_of(root, device_type, device_index)
    if block.noted_in != _recording:
        block.noted_in = _recording
        observer.allocated(block.address, block.nbytes, device_type, device_index, block.block_id)


def root_array(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `array`."""
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array


def _whole(root: np.ndarray) -> np.ndarray:
    """The array that a root is a window of, where numpy's `as_strided` stands between them; else the root itself."""
    viewed = getattr(root.base, "base", None) if root.base is not None else None
    return root_array(viewed) if isinstance(viewed, np.ndarray) else root


def restride(array: np.ndarray, shape: Sequence[int], strides: Sequence[int], dtype: Any = None) -> np.ndarray:
    """A view from the first element of `array` on, with strides in bytes that stay inside its memory. The memory's
    owner stays in sight, as `root_array` needs.
    """
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous:
        return np.ndarray(shape, dtype or array.dtype, array, 0, strides)
    root = root_array(array)
    if not root.flags.forc:  # dense, but in another order than C's or Fortran's
        root = root.transpose(sorted(range(root.ndim), key=lambda i: -root.strides[i]))
    if not root.flags.forc:
        first = np.lib.stride_tricks.as_strided(array, (1,), (array.itemsize,))
        return np.lib.stride_tricks.as_strided(
            first if dtype is None else first.view(dtype), shape, strides, writeable=bool(flags.writeable)
        )
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return np.ndarray(shape, dtype or array.dtype, root, offset, strides)


if native is not None:
    native.setup_memory(watch_array)
