"""The bytes of tensors: `torch.UntypedStorage`."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

from .. import _device
from .._storage import root_array
from .._tensor import Tensor, wrap


class UntypedStorage:
    """The bytes of a tensor and its views.

    >>> torch.ones(3).untyped_storage().nbytes()
    12
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._root = root_array(tensor._array)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0, size: int | None = None) -> UntypedStorage:
        """The first `nbytes` bytes of a file, mapped into memory: read when they are needed.

        With `shared`, what is written to the storage is written to the file, which is made or made longer if needed;
        without it, the file stays as it is.
        """
        count = nbytes if size is None else size
        path = pathlib.Path(filename)
        if shared:
            with path.open("ab") as file:
                if file.tell() < count:
                    file.truncate(count)
        elif path.stat().st_size < count:
            raise RuntimeError(f"{path} has {path.stat().st_size} bytes, {count} were asked for")
        # "c": what is written stays in memory
        mapped = np.memmap(path, np.uint8, "r+" if shared else "c", shape=(count,)) if count else np.empty(0, np.uint8)
        return cls(wrap(mapped.view(np.ndarray)))

    def element_size(self) -> int:
        """1: elements are bytes."""
        return 1

    def fill_(self, value: int) -> UntypedStorage:
        """Sets every byte."""
        self.bytes_array()[:] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Takes over the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self.bytes_array()[:] = source.cpu().bytes_array()
        return self

    def is_shared(self) -> bool:
        """Whether other processes can hold this memory."""
        return self._tensor.is_shared()

    def resizable(self) -> bool:
        """False: the memory is a numpy array, which others may hold."""
        return False

    def resize_(self, size: int) -> UntypedStorage:
        """Refused, but for the size that it has: the memory is a numpy array, which others may hold."""
        if int(size) != self.nbytes():
            raise RuntimeError(
                f"Trying to resize storage that is not resizable: it has {self.nbytes()} bytes, {int(size)} were asked "
                "for. The memory of a tensor is a numpy array here; resize tensors with Tensor.resize_"
            )
        return self

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    def bytes_array(self) -> np.ndarray:
        """All bytes as a vector over the same memory."""
        return self._root.reshape(-1, order="A").view(np.uint8)

    def __getitem__(self, index: Any) -> Any:
        """A byte, or for a slice (of step 1) a storage over that part of the memory."""
        found = self.bytes_array()[index]
        if not isinstance(index, slice):
            return int(found)
        if index.step not in (None, 1):
            raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
        part = object.__new__(type(self))
        part._tensor, part._root = self._tensor, found
        return part

    def nbytes(self) -> int:
        return int(self._root.nbytes)

    __len__ = size = nbytes

    def data_ptr(self) -> int:
        return int(self._root.__array_interface__["data"][0])

    @property
    def device(self) -> Any:
        return self._tensor.device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._root is self._root

    def __hash__(self) -> int:
        return id(self._root)

    def to(self, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on another device; the storage itself if it is there."""
        where = _device.resolve(device)
        if where == self.device:
            return self
        return UntypedStorage(wrap(np.frombuffer(bytearray(bytes(self.tolist())), np.uint8)).to(where))

    def cpu(self) -> UntypedStorage:
        return self.to("cpu")

    def tolist(self) -> list[int]:
        return np.frombuffer(np.ascontiguousarray(self._root).tobytes(), np.uint8).tolist()
