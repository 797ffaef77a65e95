"""What libraries ask of batched tensors (those that a function sees under `vmap`), under the names of PyTorch's
extension module.
"""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from ..func._batched import Batched, inner, is_at, levels, make_batched

__all__ = [
    "_add_batch_dim",
    "_remove_batch_dim",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "is_legacy_batchedtensor",
    "maybe_current_level",
    "maybe_get_bdim",
    "maybe_get_level",
]


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor stands for a batch under `vmap`."""
    return isinstance(tensor, Batched)


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """False: the batched tensors of PyTorch's first `vmap` are not made here."""
    return False


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """False: `torch.func.grad` needs no tensors of its own."""
    return False


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether a tensor holds another one for a transform."""
    return isinstance(tensor, Batched)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor that a batched one holds; its first dimension is the batch."""
    if not isinstance(tensor, Batched):
        raise RuntimeError("No wrapped tensor found: the tensor is not batched")
    return tensor._value


def maybe_get_level(tensor: Tensor) -> int:
    """The number of the `vmap` that a tensor belongs to, -1 where it belongs to none."""
    return tensor._level if isinstance(tensor, Batched) else -1


def maybe_get_bdim(tensor: Tensor) -> int:
    """Which dimension of the held tensor is the batch, -1 where a tensor is not batched."""
    return 0 if isinstance(tensor, Batched) else -1


def maybe_current_level() -> int | None:
    """The number of the innermost `vmap` that is under way; None outside."""
    return levels.stack[-1].id if levels.stack else None


def _add_batch_dim(tensor: Tensor, in_dim: int, level: int) -> Tensor:
    """The batched tensor of a level, whose samples lie along dimension `in_dim`."""
    value: Any = tensor.movedim(in_dim, 0)
    return make_batched(value, level)


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """The samples along dimension `out_dim`; a tensor that is not batched at this level is repeated."""
    value: Any = inner(tensor, level) if is_at(tensor, level) else tensor.unsqueeze(0).expand(batch_size, *tensor.shape)
    moved: Tensor = value.movedim(0, out_dim)
    return moved
