"""Copies of tensors between the devices of one process.

Devices are devices, their names, or numbers of the accelerator; without an accelerator a number is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..._dispatch import aten
from ..._tensor import Tensor
from .scatter_gather import as_device
from .scatter_gather import gather as _gather

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def broadcast(
    tensor: Tensor, devices: Iterable[Any] | None = None, *, out: Sequence[Tensor] | None = None
) -> tuple[Tensor, ...]:
    """One copy of the tensor on each device, or in each tensor of `out`.

    >>> nn.parallel.comm.broadcast(torch.ones(2), ["cpu", "cpu"])
    (tensor([1., 1.]), tensor([1., 1.]))
    """
    if (devices is None) == (out is None):
        raise RuntimeError(
            "Exactly one of 'devices' and 'out' must be specified, but got "
            f"{'both' if devices is not None else 'neither'}"
        )
    if out is not None:
        return tuple(aten.copy_(o, tensor) for o in out)
    return tuple(tensor.to(as_device(d)) for d in devices or ())


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Iterable[Any], buffer_size: int = 10485760
) -> list[list[Tensor]]:
    """All tensors on each device: a list for every device. `buffer_size` is PyTorch's and changes nothing here."""
    return [[t.to(as_device(d)) for t in tensors] for d in devices]


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of several devices, on `destination` (that of the first one if None).

    >>> nn.parallel.comm.reduce_add([torch.ones(2), torch.ones(2)])
    tensor([2., 2.])
    """
    where = inputs[0].device if destination is None else as_device(destination)
    shape = inputs[0].shape
    total = inputs[0].to(where)
    for i, t in enumerate(inputs[1:], 1):
        if t.shape != shape:
            raise ValueError(
                f"input {i} has invalid size: got {tuple(t.shape)}, but expected {tuple(shape)}; all must be alike"
            )
        total = aten.add(total, t.to(where))
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Any = None, buffer_size: int = 10485760
) -> tuple[Tensor, ...]:
    """The sums of the tensors at the same index in the lists of all devices."""
    return tuple(reduce_add(column, destination) for column in zip(*inputs))


def scatter(
    tensor: Tensor,
    devices: Sequence[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """The tensor cut along `dim`, one piece for each device or tensor of `out`; equal pieces without `chunk_sizes`.

    >>> nn.parallel.comm.scatter(torch.arange(4), ["cpu", "cpu"])
    (tensor([0, 1]), tensor([2, 3]))
    """
    if out is not None:
        if devices is not None or chunk_sizes is not None:
            raise RuntimeError("'devices' and 'chunk_sizes' must not be given when 'out' is")
        pieces = aten.split_with_sizes(tensor, [o.shape[dim] for o in out], dim)
        return tuple(aten.copy_(o, piece) for o, piece in zip(out, pieces))
    targets = list(devices or ())
    if chunk_sizes is None:
        pieces = aten.chunk(tensor, len(targets), dim)
    else:
        pieces = aten.split_with_sizes(tensor, list(chunk_sizes), dim)
    return tuple(piece.to(as_device(d)) for piece, d in zip(pieces, targets))


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The tensors of several devices joined along `dim`, on `destination` (that of the first one if None).

    >>> nn.parallel.comm.gather([torch.ones(1), torch.zeros(1)])
    tensor([1., 0.])
    """
    if out is not None:
        return aten.copy_(out, _gather(tensors, out.device, dim))
    return _gather(tensors, tensors[0].device if destination is None else destination, dim)
