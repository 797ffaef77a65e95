"""The DLPack protocol. numpy packs and unpacks; this module speaks for tensors and says what cannot be exchanged."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from .. import _device
from .. import _dtype as dt
from .._storage import taken
from .._tensor import Tensor, wrap
from . import dlpack_types
from .creation import from_numpy


class DLDeviceType(IntEnum):
    """DLPack's numbers for kinds of devices; memory is exchanged on the CPU only."""

    kDLCPU = 1
    kDLExtDev = 12


class _Capsule:
    """Lets numpy take a bare capsule, for which it wants an object that speaks the protocol."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLDeviceType.kDLCPU, 0


class _Writable:
    """The memory of an array that numpy marks as read-only because the capsule it came in cannot say that it is not."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__array_interface__ = dict(array.__array_interface__, data=(array.__array_interface__["data"][0], False))


def _from_capsule(capsule: Any) -> np.ndarray:
    array = np.from_dlpack(_Capsule(capsule))
    return array if array.flags.writeable else np.asarray(_Writable(array))


def _tensor_of_capsule(capsule: Any) -> Tensor:
    kind = dlpack_types.as_integers(capsule)
    array = _from_capsule(capsule)
    return from_numpy(array) if kind is None else taken(wrap(array.view(kind.np), kind))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of an object that speaks DLPack, or of a capsule.

    `copy` True gives it memory of its own.

    >>> torch.from_dlpack(torch.tensor([1, 2]))
    tensor([1, 2])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if type(ext_tensor).__name__ != "PyCapsule":
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
                "you might have already constructed a tensor from it once."
            )
        made = _tensor_of_capsule(ext_tensor)
    else:
        try:
            made = from_numpy(np.from_dlpack(ext_tensor))
        except (BufferError, RuntimeError):  # a type that numpy lacks, or a device that it does not reach
            made = _tensor_of_capsule(ext_tensor.__dlpack__())
    where = None if device is None else _device.resolve(device)
    if where is not None and where.type != "cpu":
        if copy is False:
            raise ValueError(
                f"cannot move DLPack tensor from device cpu to {where} without copying. Set copy=None or copy=True."
            )
        return made.to(where)
    return made.clone() if copy else made


def pack(tensor: Tensor, stream: Any = None, **options: Any) -> Any:
    """What `Tensor.__dlpack__` gives: a capsule over the tensor's memory."""
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if not tensor.is_cpu:
        raise BufferError(f"Cannot pack tensors on {tensor.device}")
    assert stream is None, "stream should be None on cpu."
    if tensor.dtype not in dt.OF_NUMPY:
        return dlpack_types.pack(tensor._array, tensor.dtype, **options)
    return tensor._array.__dlpack__(**options)


def device_of(tensor: Tensor) -> tuple[DLDeviceType, int]:
    """What `Tensor.__dlpack_device__` gives."""
    if tensor.is_cpu:
        return DLDeviceType.kDLCPU, 0
    raise ValueError(f"Unknown device type {tensor.device.type} for Dlpack")
