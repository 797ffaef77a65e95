"""Several collectives begun one after the other, before any is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._tensor import Tensor
from . import _calls, collectives
from .reduce_op import ReduceOp
from .work import Work


class _Works:
    """Works that are waited for together."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None) -> None:
        """Adds one; None, of a process outside the group, is left out."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> bool:
        """Waits for all."""
        for work in self.works:
            work.wait()
        return True

    def is_completed(self) -> bool:
        """Whether all are done."""
        return all(work.is_completed() for work in self.works)


def all_reduce_coalesced(
    tensors: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Replaces each tensor by the sum (or another `op`) of those of all processes."""
    works = _Works()
    for tensor in tensors:
        works.append(collectives.all_reduce(tensor, op, group, async_op=True))
    return works if async_op else works.wait() and None


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Any:
    """Fills list i with the tensors of process i: one for each of its input tensors."""
    works = _Works()
    for index, tensor in enumerate(input_tensor_list):
        parts = [outputs[index] for outputs in output_tensor_lists]
        works.append(collectives.all_gather(parts, tensor, group, async_op=True))
    return works if async_op else works.wait() and None


@contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[_Works]:
    """Collectives called inside are begun, and waited for at the end; with `async_ops` by `wait()` of what it gives."""
    works = _Works()
    before, _calls.gathered = _calls.gathered, works
    try:
        yield works
    finally:
        _calls.gathered = before
    if not async_ops:
        works.wait()
