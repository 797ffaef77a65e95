"""Collectives as events of a profile.

The call is `c10d::allreduce_`, as an operator. What it started is `gloo:all_reduce`, an annotation from the start to
the moment this process learnt that its part is done: in an asynchronous collective it outlives the call. It carries
PyTorch's names for what it is.
"""

from __future__ import annotations

from typing import Any

from .. import _observer
from .._tensor import Tensor
from ..profiler.record.kinds import Kind
from ..profiler.record.recorder import recorder
from .process_groups import ProcessGroup

# PyTorch's names of the calls; others have the name of the function.
_CALLS = {
    "all_reduce": "allreduce_",
    "broadcast": "broadcast_",
    "reduce": "reduce_",
    "all_gather": "allgather_",
    "all_gather_into_tensor": "_allgather_base_",
    "reduce_scatter": "reduce_scatter_",
    "reduce_scatter_tensor": "_reduce_scatter_base_",
    "gather": "gather_",
    "scatter": "scatter_",
    "all_to_all": "alltoall_",
    "all_to_all_single": "alltoall_base_",
    "barrier": "barrier",
    "monitored_barrier": "monitored_barrier_",
    "send": "send",
    "recv": "recv_",
}
_PARTS_JOIN = ("all_gather", "gather")  # each process gives one part of the result
_PARTS_LEAVE = ("reduce_scatter", "scatter")  # each process gets one part of what is given
_PAIRS = ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single")  # result and argument are given
_DTYPES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


class Event:
    """An open event, ended once, in whatever order; ends with the last reference to it."""

    __slots__ = ("_handle", "_open")

    def __init__(
        self, kind: Kind, name: str, inputs: tuple[Any, ...] | None = (), keywords: dict[str, Any] | None = None
    ) -> None:
        self._handle = recorder.open(kind, name, inputs, keywords)
        self._open = True

    def close(self) -> None:
        """Ends the event."""
        if self._open:
            self._open = False
            recorder.close(self._handle)

    __del__ = close


def call(name: str, tensors: list[Tensor]) -> Event | None:
    """The event of a call; None where nothing is recorded."""
    if _observer.active is None:
        return None
    return Event(Kind.FUNCTION, f"c10d::{_CALLS.get(name, name)}", tuple(tensors))


def transfer(name: str, group: ProcessGroup, tensors: list[Tensor], seq: int, source: int) -> Event | None:
    """The event of what a call started; None where nothing is recorded. `seq` is its sequence id in the group, -1 for
    none; `source` the rank that others wait for, -1 where all wait for all."""
    if _observer.active is None:
        return None
    given, taken = _elements(name, group.size(), tensors)
    facts: dict[str, Any] = {
        "Collective name": name,
        "dtype": _DTYPES.get(str(tensors[0].dtype).removeprefix("torch."), "") if tensors else "",
        "In msg nelems": given,
        "Out msg nelems": taken,
        "Group size": group.size(),
        "Process Group Name": group.group_name,
        "Process Group Description": group.group_desc,
        "Process Group Ranks": str(group.ranks),
    }
    if seq >= 0:
        facts["Seq"] = seq
    if source >= 0:
        facts["Src Rank"] = source
    return Event(Kind.SCOPE, f"{group.backend}:{name}", None, facts)


def waiting() -> Event | None:
    """The event of a process that waits for what it started earlier."""
    return None if _observer.active is None else Event(Kind.FUNCTION, "c10d::wait")


def _elements(name: str, size: int, tensors: list[Tensor]) -> tuple[int, int]:
    """Elements that this process gives and gets."""
    if not tensors:
        return 0, 0
    if name in _PAIRS:
        return tensors[1].numel(), tensors[0].numel()
    own = sum(tensor.numel() for tensor in tensors)
    if name in _PARTS_JOIN:
        return own, own * size
    return (own * size, own) if name in _PARTS_LEAVE else (own, own)
