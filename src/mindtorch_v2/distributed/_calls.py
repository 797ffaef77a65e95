"""How a communication of tensors runs: its note for the others, its events, MPI or a device's engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .._tensor import Tensor
from . import _events, _status
from . import work as work_module
from ._device_work import DeviceWork
from ._mpi import mpi
from .process_groups import ProcessGroup, resolve
from .work import DistBackendError, Work

gathered: Any = None  # where works of calls that are not asynchronous are put instead of waiting, if anywhere
_BETWEEN_TWO = ("send", "recv", "batch_isend_irecv", "send_object_list", "recv_object_list")


def run(
    name: str,
    group: Any,
    tensors: list[Tensor],
    start: Callable[[ProcessGroup], tuple[list[Any], Callable[[], Any]]],
    async_op: bool,
    detail: str = "",
    source: int = -1,
    on_device: Callable[[Any, ProcessGroup, str], Any] | None = None,
    same_for_all: str = "",
) -> Work | None:
    """Runs a communication in a group: `start` gives MPI's requests and what to do when they are done. Tensors of a
    device whose engine the group has go to `on_device(engine, group, text)`, which gives the end of what it put into a
    stream. `source` is the rank that the others wait for, -1 where all wait for all. `same_for_all` is what must be
    equal in all processes where that is not the shapes of the tensors. A profile lists the call and what it started.

    Returns the Work if it goes on by itself (`async_op`), else None when it is done; None for a process outside the
    group.
    """
    found = resolve(group)
    if found is None:
        return None
    if work_module._dropped:
        work_module.sweep()
    engine = None if on_device is None else found.engine_for(tensors)
    text = described(name, tensors, detail)
    between_two = name in _BETWEEN_TWO
    group_id = -1 if between_two else found.id
    entry = _status.begin(text, same_for_all or text, group_id, found.in_words)
    seq = -1 if between_two else found.next_seq()
    call = _events.call(name, tensors)
    transfer = None
    try:
        transfer = _events.transfer(name, found, tensors, seq, source)
        if engine is not None and on_device is not None:
            return _run_on_device(name, found, tensors, entry, lambda: on_device(engine, found, entry.text), async_op)
        try:
            requests, finish = start(found)
        except (TypeError, ValueError, RuntimeError, NotImplementedError):  # refused: the others do not begin it
            _status.withdraw(entry)
            found.take_back(seq)
            raise
        received = mpi().Status() if name == "recv" else None
        work = Work(requests, finish, tensors, entry, found.timeout.total_seconds(), transfer, received)
        if async_op or gathered is not None:
            transfer = None  # ends with the work
            if not async_op and gathered is not None:
                gathered.append(work)
                return None
            return work
        work._wait(work._timeout)
    except mpi().Exception as error:
        raise DistBackendError(f"{entry.text} failed in MPI: {error}.{_status.others(entry)}") from error
    finally:
        for event in (transfer, call):
            if event is not None:
                event.close()
    return None


def described(name: str, tensors: list[Tensor], detail: str = "") -> str:
    """The communication as errors write it, from the shapes and types of the first tensors."""
    return _described(name, detail, len(tensors) > 4, *[(t.shape, t.dtype) for t in tensors[:4]])


@lru_cache(4096)
def _described(name: str, detail: str, more: bool, *tensors: tuple[Any, Any]) -> str:
    """The same, made once."""
    sizes = [f"{list(shape)} {dtype}" for shape, dtype in tensors] + ["..."] * more
    return f"{name}({', '.join(sizes)}){detail}"


def _run_on_device(
    name: str,
    group: ProcessGroup,
    tensors: list[Tensor],
    entry: _status.Entry,
    begin: Callable[[], Any],
    async_op: bool,
) -> Work | None:
    """Puts a communication into a device's stream. The events of the call end with it: what it started is the
    device's."""
    work = DeviceWork(begin(), tensors, entry, group.timeout.total_seconds(), name == "barrier")
    if async_op:
        return work
    work.wait()
    return None


def root_of(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    """The rank in the group of the process that is named by its rank among all, or by its rank in the group."""
    if (rank is None) == (group_rank is None):
        raise ValueError(f"give either {name} (a rank among all processes) or group_{name} (a rank in the group)")
    if group_rank is not None:
        return group_rank
    if rank not in group.ranks:
        raise ValueError(f"Global rank {rank} is not part of group {group}")
    return group.ranks.index(rank)


def global_rank(group: Any, rank: int | None, group_rank: int | None) -> int:
    """The rank among all processes of the one that others wait for; -1 where it is not given rightly, which is said
    elsewhere."""
    found = resolve(group)
    if rank is not None or group_rank is None or found is None:
        return -1 if rank is None else rank
    return found.ranks[group_rank] if 0 <= group_rank < found.size() else -1
