"""`torch.types`: names for annotations."""

# ruff: noqa: UP007 - these are values, read at run time by libraries on Python 3.10 too
from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any, Union

from ._device import device as _device_class
from ._dtype import dtype as _dtype_class
from ._lazy_parts import lazy_parts as _lazy_parts
from ._shape import Size
from ._tensor import Tensor
from ._tensor import layout as _layout_class

__all__ = ["Device", "FileLike", "IntLikeType", "Number", "BoolLikeType", "FloatLikeType"]

_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_dtype, _device, _layout = _dtype_class, _device_class, _layout_class
_size = Union[Size, list[int], tuple[int, ...]]
_symsize = Union[Size, Sequence[int]]
_dispatchkey = Union[str, Any]
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]
Number = Union[int, float, bool]
_Number = (int, float, bool)
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
py_sym_types: tuple[type, ...] = ()
Device = Union[_device_class, str, int, None]
FileLike = Union[str, os.PathLike[str], Any]
PySymType = Union[int, float, bool]


__getattr__, __dir__ = _lazy_parts(__name__, names={"Storage": "_python.memory_methods:UntypedStorage"})
