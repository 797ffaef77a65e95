"""The types that stubs name, under names that do not collide with torch's own (`torch.int`, `torch.float`, `Tensor.bool`)."""
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from ._autograd.hooks import RemovableHandle
from ._python.constructors import TypedConstructor
from ._device import device
from ._dtype import dtype
from ._backends.generators import Generator
from ._tensor import Tensor, layout, memory_format
from ._python.memory_methods import UntypedStorage

_bool: TypeAlias = bool
_complex: TypeAlias = complex
_float: TypeAlias = float
_int: TypeAlias = int
_str: TypeAlias = str
_Number: TypeAlias = int | float | complex | bool
_DType: TypeAlias = dtype
_DeviceLike: TypeAlias = device | str | int
_Layout: TypeAlias = layout
_MemoryFormat: TypeAlias = memory_format
_Generator: TypeAlias = Generator
_Array: TypeAlias = np.ndarray[Any, Any]
_Index: TypeAlias = None | int | slice | EllipsisType | Tensor | np.ndarray[Any, Any] | Sequence[Any]
_RemovableHandle: TypeAlias = RemovableHandle
_TypedConstructor: TypeAlias = TypedConstructor
_UntypedStorage: TypeAlias = UntypedStorage
