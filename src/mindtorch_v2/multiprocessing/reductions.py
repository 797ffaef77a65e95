"""How tensors travel between processes: as a file descriptor of shared memory, and where in it they lie."""

from __future__ import annotations

from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

import numpy as np

from .. import _dtype as dt
from .._python.shared_memory import map_block, share
from .._tensor import Parameter, Tensor, wrap

_NON_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
    "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., "
    "putting it on the queue)."
)


def rebuild_tensor(
    cls: Any,
    fd: Any,
    size: int,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    word: str,
    dtype: str,
    requires_grad: bool,
) -> Any:
    """The tensor in the receiving process."""
    block = map_block(fd.detach(), size)
    made = wrap(np.ndarray(shape, np.dtype(word), block, offset, strides), getattr(dt, dtype))
    if cls is Parameter:
        return Parameter(made, requires_grad)
    return made.requires_grad_(True) if requires_grad else made


def reduce_tensor(t: Tensor) -> tuple[Any, ...]:
    """What is sent for a tensor."""
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(_NON_LEAF)
    if not t.is_cpu:
        return t.__reduce_ex__(2)  # type: ignore[return-value]
    block = share(t)
    array = t._array
    start = np.frombuffer(block, np.uint8).__array_interface__["data"][0]
    return rebuild_tensor, (
        Parameter if isinstance(t, Parameter) else Tensor,
        DupFd(block.fd),
        len(block),
        array.__array_interface__["data"][0] - start,
        array.shape,
        array.strides,
        array.dtype.str,
        _name_of(t.dtype),
        t.requires_grad,
    )


def _name_of(dtype: dt.dtype) -> str:
    return next(name for name, value in vars(dt).items() if value is dtype)


def init_reductions() -> None:
    """Tells `multiprocessing` how tensors travel."""
    for cls in (Tensor, Parameter):
        ForkingPickler.register(cls, reduce_tensor)


__all__ = ["init_reductions", "rebuild_tensor", "reduce_tensor", "share"]
