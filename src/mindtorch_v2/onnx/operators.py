"""Functions that an exported graph would keep as operators."""

from __future__ import annotations

from typing import Any

from .._python.creation import tensor
from .._tensor import Tensor


def shape_as_tensor(x: Tensor) -> Any:
    """The shape as a tensor of int64."""
    return tensor(list(x.shape))


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Any:
    """The tensor in the shape that another tensor holds."""
    return x.reshape(shape.tolist())
