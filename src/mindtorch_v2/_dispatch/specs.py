"""What an op's outputs look like, before or without computing them: shapes, strides and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _dtype as dt
from .._ops.movement_shapes import dense_strides
from .._ops.rules import Spec, as_float, result_type
from .._ops.table import Op
from .._shape import broadcast_shapes, contiguous_strides
from .._tensor import Tensor
from .casting import casting_positions


def meta_array(spec: Spec) -> np.ndarray:
    """An array of the right shape, strides and type over a dummy buffer.

    It must never be read, and refuses to be written.
    """
    item = spec.dtype.itemsize
    strides = tuple(s * item for s in spec.strides or contiguous_strides(spec.shape))
    plain = np.lib.stride_tricks.as_strided(
        np.zeros(1, _dummy_type(spec.dtype)), tuple(spec.shape), strides, writeable=False
    )
    return plain if spec.dtype in dt.OF_NUMPY else plain.view(spec.dtype.np)


def _dummy_type(dtype: dt.dtype) -> Any:
    """The type itself, or one of its size that numpy's functions of strides know."""
    return dtype.np if dtype in dt.OF_NUMPY else f"u{dtype.itemsize}"


def elementwise_strides(shape: tuple[int, ...], tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The strides of an elementwise result: it lies in memory as its operands do."""
    operands = [t._array if t._array.shape == shape else np.broadcast_to(t._array, shape) for t in tensors]
    return dense_strides(shape, *[tuple(s // a.itemsize for s in a.strides) for a in operands])


def elementwise_spec(op: Op, args: tuple[Any, ...]) -> Spec:
    """The output of an elementwise op by its rule."""
    rule = op.rule
    assert rule is not None
    tensors = [args[i] for i in op.schema.tensor_params if isinstance(args[i], Tensor)]
    shape = broadcast_shapes(*(t._array.shape for t in tensors))
    named = [args[i] for i in casting_positions(op) if args[i] is not None]
    strides = elementwise_strides(shape, tensors)
    if rule.out == "bool":
        return Spec(shape, dt.bool_, strides)
    if rule.cast is None:
        return Spec(shape, tensors[0].dtype, strides)
    common = result_type(*named)
    return Spec(shape, as_float(common) if rule.cast == "float" else common, strides)


def output_specs(op: Op, args: tuple[Any, ...]) -> Any:
    """What the op's outputs look like: a Spec or a sequence of them."""
    if op.rule is not None and op.rule.elementwise:
        return elementwise_spec(op, args)
    if op.meta is None:
        raise NotImplementedError(f"{op.event} ({op.name}) has no meta rule")
    return op.meta(*args)
