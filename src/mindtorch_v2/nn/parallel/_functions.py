"""Copies between devices under the names of PyTorch's autograd functions: `Scatter.apply(...)` and the like.

They are made of operators that have gradients, so they are no Functions themselves.
"""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from . import comm


class Broadcast:
    """Copies of tensors on several devices; the gradient is the sum."""

    @staticmethod
    def apply(target_gpus: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
        """All tensors on the first device, then all on the second, and so on."""
        return tuple(t for copies in comm.broadcast_coalesced(inputs, target_gpus) for t in copies)


class ReduceAddCoalesced:
    """Sums over devices; the gradient is a copy for each."""

    @staticmethod
    def apply(destination: Any, num_inputs: int, *grads: Tensor) -> tuple[Tensor, ...]:
        """The sums of what has the same index in groups of `num_inputs` tensors."""
        groups = [grads[i : i + num_inputs] for i in range(0, len(grads), num_inputs)]
        return comm.reduce_add_coalesced(groups, destination)


class Gather:
    """Joining tensors of several devices; the gradient is cut again."""

    @staticmethod
    def apply(target_device: Any, dim: int, *inputs: Tensor) -> Tensor:
        """The tensors joined along `dim`; scalars become a vector."""
        return comm._gather(inputs, target_device, dim)


class Scatter:
    """Cutting a tensor among devices; the gradient is joined again."""

    @staticmethod
    def apply(target_gpus: Any, chunk_sizes: Any, dim: int, input: Tensor) -> tuple[Tensor, ...]:
        """One piece for each device."""
        return comm.scatter(input, target_gpus, chunk_sizes, dim)


def _get_stream(device: Any) -> None:
    """The stream for copies from the CPU in the background: none is kept, the device's current stream is used."""
