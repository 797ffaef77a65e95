"""Gradients that are averaged together."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor

_MEGABYTE = 1 << 20
_FIRST_BUCKET = _MEGABYTE  # small, so that the first exchange begins early in the backward pass


class GradBucket:
    """Gradients that are averaged together: one flat tensor, and its parts."""

    def __init__(self, index: int, parameters: list[Tensor], is_last: bool) -> None:
        self._index, self._parameters, self._is_last = index, parameters, is_last
        self._sizes = [p.numel() for p in parameters]
        self._buffer: Tensor = parameters[0].new_zeros(sum(self._sizes))
        self._parts = self._cut()
        self.waiting: set[int] = set()
        self.future: Any = None
        self.result: Any = None  # what the future gave

    def _cut(self) -> list[Tensor]:
        flat = self._buffer.split(self._sizes)
        return [part.view(p.shape) for part, p in zip(flat, self._parameters)]

    def index(self) -> int:
        """Its index among the buckets: 0 is the first to be averaged."""
        return self._index

    def buffer(self) -> Tensor:
        """The flat tensor."""
        return self._buffer

    def set_buffer(self, tensor: Tensor) -> None:
        """Replaces it by another flat tensor, for a hook that communicates something else."""
        self._buffer = tensor

    def gradients(self) -> list[Tensor]:
        """The gradient of every parameter, as views of the flat tensor."""
        return self._parts

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return self._parameters

    def is_last(self) -> bool:
        """Whether it is the last one to be averaged."""
        return self._is_last


def make_buckets(trained: list[Tensor], megabytes: float) -> list[GradBucket]:
    """Parameters from the last to the first, as a backward pass reaches them, in buckets of one type."""
    limit = int(megabytes * _MEGABYTE)
    lists: list[list[Tensor]] = []
    size = 0
    for p in reversed(trained):
        cap = min(_FIRST_BUCKET, limit) if len(lists) == 1 else limit
        if (
            not lists
            or size + p.numel() * p.element_size() > cap
            or lists[-1][0].dtype != p.dtype
            or lists[-1][0].device != p.device
        ):
            lists.append([])
            size = 0
        lists[-1].append(p)
        size += p.numel() * p.element_size()
    return [GradBucket(i, parameters, i == len(lists) - 1) for i, parameters in enumerate(lists)]
