"""Tensors over storages: `x.set_(storage)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch import aten
from .._keys import DEVICES
from .._tensor import Tensor, wrap


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Sequence[int] | None = None, stride: Any = None
) -> Tensor:
    """Makes the tensor one over other memory, in place: that of another tensor, of a storage, or none.

    `storage_offset`, `size` and `stride` (in elements) say which part of it; by default a whole storage, as a vector.
    """
    bytes_ = getattr(source, "_untyped_storage", source)
    if hasattr(bytes_, "_root"):
        kind = getattr(source, "dtype", None)
        if kind is not None and kind is not self.dtype:
            raise RuntimeError(f"Expected a Storage of type {self.dtype} or an UntypedStorage, but got type {kind}")
        if bytes_.device != self.device:
            raise RuntimeError(
                f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different device '
                f'"{bytes_.device}".  This is no longer allowed; the devices must match.'
            )
        elements = bytes_._root.reshape(-1, order="A").view(self._array.dtype)
        source = wrap(elements, self.dtype, self._keys & DEVICES, self._device)
        size = (len(elements) - storage_offset,) if size is None else size
    if source is None:
        return aten.set_(self)
    return aten.set_(self, source) if size is None else aten.set_(self, source, storage_offset, size, stride or ())


setattr(Tensor, "set_", set_)  # noqa: B010 - instead of the operator's method
