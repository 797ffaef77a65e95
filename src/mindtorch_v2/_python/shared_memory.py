"""Memory that several processes see: an anonymous file, mapped in each of them."""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any

import numpy as np

from .. import _dtype as dt
from .._storage import root_array
from .._tensor import Tensor, wrap

FOLDER = "/dev/shm"


class SharedBlock(mmap.mmap):
    """Mapped memory that knows its file's descriptor, through which another process maps it too."""

    fd: int

    def __del__(self) -> None:
        fd, self.fd = getattr(self, "fd", -1), -1
        if fd >= 0:
            os.close(fd)


def map_block(fd: int, size: int) -> SharedBlock:
    """The memory of a file; it belongs to the block from now on."""
    made = SharedBlock(fd, max(size, 1))
    made.fd = fd
    return made


def new_block(size: int) -> SharedBlock:
    """Fresh memory of so many bytes. Its file has no name, so that it goes with the last process that has mapped it."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("torch", os.MFD_CLOEXEC)
    else:
        fd, path = tempfile.mkstemp(prefix="torch_", dir=FOLDER if os.path.isdir(FOLDER) else None)
        os.unlink(path)
    os.ftruncate(fd, max(size, 1))
    return map_block(fd, size)


def block_of(array: np.ndarray) -> SharedBlock | None:
    """The shared memory that an array lies in, or None."""
    found: Any = array
    while isinstance(found, np.ndarray):
        found = found.base
    if isinstance(found, memoryview):
        found = found.obj
    return found if isinstance(found, SharedBlock) else None


def share(t: Tensor) -> SharedBlock:
    """Moves the tensor into shared memory, if it is not there.

    Other tensors over the old memory stay where they are.
    """
    if not t.is_cpu:
        raise RuntimeError(f"only tensors in host memory can be shared between processes, got one on {t.device}")
    array = t._array
    found = block_of(array)
    if found is not None:
        return found
    root = root_array(array)
    made = new_block(root.nbytes)
    copy = np.frombuffer(made, np.uint8)[: root.nbytes].view(root.dtype)
    if root.size:
        copy[...] = root.reshape(-1, order="A") if root.flags.forc else root.ravel()
    t.data = _over(made, array.__array_interface__["data"][0] - root.__array_interface__["data"][0], array, t.dtype)
    return made


def _over(block: SharedBlock, offset: int, like: np.ndarray, dtype: dt.dtype) -> Any:
    """A tensor over shared memory with the shape and strides of an array."""
    made = np.ndarray(like.shape, like.dtype, block, offset, like.strides)
    return wrap(made, dtype)
