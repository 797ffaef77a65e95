"""What arguments and results must be, and PyTorch's words where they are not."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .._ops.table import Op
from .._shape import broadcast_shapes
from .._tensor import Tensor


def explain(op: Op, args: tuple[Any, ...], error: ValueError) -> Exception:
    """PyTorch's error where numpy said that shapes do not fit; the error itself otherwise."""
    if op.rule is not None and op.rule.elementwise:
        shapes = [x._array.shape for x in args if isinstance(x, Tensor)]
        try:
            whole = broadcast_shapes(*shapes)
        except RuntimeError as mismatch:
            return mismatch
        if op.writes and whole != shapes[0]:
            return RuntimeError(f"output with shape {list(shapes[0])} doesn't match the broadcast shape {list(whole)}")
    return error


def check_writable(t: Tensor) -> None:
    """RuntimeError for a tensor whose elements share memory, which cannot be written as a whole."""
    a = t._array
    if a.size == 0:
        return
    if not a.flags.writeable or (0 in a.strides and any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape))):
        if not a.flags.writeable and 0 not in a.strides:
            raise RuntimeError("the tensor is backed by read-only memory and cannot be written")
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )


def type_word(d: dt.dtype) -> str:
    """PyTorch's word for a type in errors: Float, Long, ..."""
    return d.word


def check_result_type(made: dt.dtype, target: dt.dtype) -> None:
    if not dt.can_cast(made, target):
        raise RuntimeError(
            f"result type {type_word(made)} can't be cast to the desired output type {type_word(target)}"
        )


def check_broadcast(args: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """RuntimeError unless all tensors broadcast to the shape of what is written; PyTorch looks at that before it
    looks at types.
    """
    if any(isinstance(x, Tensor) and x._array.shape != shape for x in args):
        whole = broadcast_shapes(shape, *(x._array.shape for x in args if isinstance(x, Tensor)))
        if whole != shape:
            raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(whole)}")
