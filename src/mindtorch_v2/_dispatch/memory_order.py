"""In which order the elements of an elementwise result lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .._ops.movement_shapes import dense_strides
from .._ops.table import Op

_ELEMENTWISE_TOO = {"mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "complex", "polar"}
_ROW_MAJOR = {"masked_fill", "rrelu_with_noise"}


def joins_layouts(op: Op) -> bool:
    """Whether an op makes one elementwise result of several tensors, whose memory may be ordered differently."""
    elementwise = (
        op.rule is not None and op.rule.elementwise and op.base not in _ROW_MAJOR
    ) or op.base in _ELEMENTWISE_TOO
    return (
        elementwise
        and not op.writes
        and op.inplace_of is None
        and not op.is_view
        and len(op.schema.returns) == 1
        and len(op.schema.tensor_params) > 1
    )


@lru_cache(maxsize=1024)
def _joint_strides(shape: tuple[int, ...], *operands: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[int, ...]:
    aligned = []
    for sizes, strides in operands:
        lead = len(shape) - len(sizes)
        aligned.append(
            (
                *(0,) * lead,
                *(0 if n == 1 and shape[lead + i] != 1 else s for i, (n, s) in enumerate(zip(sizes, strides))),
            )
        )
    return dense_strides(shape, *aligned)


def settle(made: Any, operands: Sequence[Any]) -> Any:
    """An elementwise result in the memory order of its operands, of which the first decides before those after it.
    Numpy's own choice differs where they do not agree.
    """
    arrays = [a for a in operands if a.__class__ is np.ndarray]
    if made.ndim < 2 or len(arrays) < 2 or all(a.flags.c_contiguous for a in arrays):
        return made
    item = made.itemsize
    wanted = _joint_strides(made.shape, *[(a.shape, tuple([s // a.itemsize for s in a.strides])) for a in arrays])
    if tuple([s // item for s in made.strides]) == wanted or not made.size:
        return made
    out: np.ndarray = np.ndarray(made.shape, made.dtype, strides=[s * item for s in wanted])
    out[...] = made
    return out
