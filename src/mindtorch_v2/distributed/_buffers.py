"""Tensors as the memory that MPI reads and writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import no_grad
from .._dtype import complex64, float32
from .._tensor import Tensor, bump_version, strided


def check_tensor(value: Any, name: str) -> Tensor:
    """The value, which must be a dense tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got "
            f"{type(value)} instead."
        )
    if value.layout is not strided:
        raise NotImplementedError(f"torch.distributed carries dense tensors, got `{name}` with layout {value.layout}")
    return value


def check_tensors(values: Any, name: str) -> list[Tensor]:
    """The values, which must be a list of dense tensors."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, Tensor) for value in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(values)} with elements of type {[type(value) for value in values]}."
        )
    return list(values)


class Buffer:
    """Contiguous memory with the values of a tensor.

    It is the tensor's own memory where that can be: on the CPU, contiguous and, if values are to be added
    (`arithmetic`), of a type that MPI can add. Otherwise it is a copy: half precision types are added as float32 or
    complex64, truth values as bytes. `finish()` puts what arrived into the tensor and counts the write.
    """

    __slots__ = ("tensor", "array", "_is_copy")

    def __init__(self, tensor: Tensor, arithmetic: bool = False) -> None:
        self.tensor = tensor
        dtype = tensor.dtype
        is_short = (
            arithmetic and (dtype.is_floating_point or dtype.is_complex) and dtype.itemsize < 4 << dtype.is_complex
        )
        if not is_short and tensor.device.type == "cpu" and tensor.is_contiguous():
            self.array: np.ndarray = tensor._array
            self._is_copy = False
            return
        source = tensor.detach()
        if source.device.type != "cpu":
            source = source.cpu()
        if is_short:
            source = source.to(_wide(source))
        array = source.contiguous()._array
        self.array = array
        self._is_copy = array is not tensor._array and not np.shares_memory(array, tensor._array)

    @property
    def kind(self) -> str:
        """numpy's letter for the kind of type: b, i, u, f or c."""
        return self.array.dtype.kind if self.array.dtype.kind in "biufc" else "f"

    @property
    def spec(self) -> np.ndarray:
        """What to hand to MPI for arithmetic."""
        flat = self.array.reshape(-1)
        return flat.view(np.uint8) if self.array.dtype.kind == "b" else flat

    @property
    def raw(self) -> np.ndarray:
        """What to hand to MPI where values only travel: bytes."""
        return self.array.reshape(-1).view(np.uint8)

    def finish(self, divisor: int = 1) -> None:
        """What arrived becomes the tensor's; an average divides by the number of processes."""
        if divisor != 1:
            np.divide(self.array, divisor, out=self.array)
        if self._is_copy:
            self.store(self.array)
        else:
            bump_version(self.tensor)

    def store(self, array: np.ndarray) -> None:
        """Writes an array of the tensor's number of elements into the tensor, whatever its layout, type and device."""
        with no_grad():
            self.tensor.copy_(_wrapped(array.reshape(self.tensor.shape), self.tensor))


def _wide(tensor: Tensor) -> Any:
    """The type in which values of a half precision type are added."""
    return complex64 if tensor.dtype.is_complex else float32


def _wrapped(array: np.ndarray, like: Tensor) -> Tensor:
    """A CPU tensor over the array, which has the type of `like` or float32."""
    made = (
        like.detach().cpu().new_empty(0)
        if array.dtype == like._array.dtype
        else like.detach().cpu().to(_wide(like)).new_empty(0)
    )
    made = made.new_empty(array.shape)
    made._array[...] = array
    return made
