"""Communication of tensors between all processes of a group."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from .._tensor import Tensor
from . import _events, _status
from ._buffers import Buffer, check_tensor, check_tensors
from ._mpi import mpi
from .process_groups import GroupMember, ProcessGroup, resolve
from .reduce_op import ReduceOp, mpi_operation
from .work import DistBackendError, Work

_OF_ANY_SIZE = ("all_to_all", "all_to_all_single")  # sizes differ between processes


def _run(
    name: str,
    group: Any,
    tensors: list[Tensor],
    start: Callable[[ProcessGroup], tuple[list[Any], Callable[[], None]]],
    async_op: bool,
    detail: str = "",
    source: int = -1,
) -> Work | None:
    """Runs a communication in a group: `start` gives MPI's requests and what to do when they are done. `source` is the
    rank that the others wait for, -1 where all wait for all. A profile shows the call and what it started.

    Returns the Work if it goes on by itself (`async_op`), else None when it is done; None for a process outside the
    group.
    """
    found = resolve(group)
    if found is None:
        return None
    sizes = [f"{list(t.shape)} {t.dtype}" for t in tensors[:4]] + ["..."] * (len(tensors) > 4)
    text = f"{name}({', '.join(sizes)}){detail}"
    between_two = name in ("send", "recv")
    entry = _status.begin(text, name if name in _OF_ANY_SIZE else text, found is GroupMember.WORLD and not between_two)
    seq = -1 if between_two else found.next_number()
    call = _events.call(name, tensors)
    transfer = None
    try:
        transfer = _events.transfer(name, found, tensors, seq, source)
        requests, finish = start(found)
        work = Work(requests, finish, tensors, entry, found.timeout.total_seconds(), transfer)
        if async_op:
            transfer = None  # ends with the work
            return work
        work._wait(work._timeout)
    except mpi().Exception as error:
        raise DistBackendError(f"{entry.text} failed in MPI: {error}.{_status.others(entry)}") from error
    finally:
        for event in (transfer, call):
            if event is not None:
                event.close()
    return None


def _nothing() -> None:
    """There is nothing to do after a communication."""


def _root(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    """The place in the group of the process that is named by its rank among all, or by its place."""
    if (rank is None) == (group_rank is None):
        raise ValueError(f"give either {name} (a rank among all processes) or group_{name} (a place in the group)")
    if group_rank is not None:
        return group_rank
    if rank not in group.ranks:
        raise ValueError(f"Global rank {rank} is not part of group {group}")
    return group.ranks.index(rank)


def _global_rank(group: Any, rank: int | None, group_rank: int | None) -> int:
    """The rank among all processes of the one that others wait for; -1 where it is not given rightly, which is said
    elsewhere."""
    found = resolve(group)
    if rank is not None or group_rank is None or found is None:
        return -1 if rank is None else rank
    return found.ranks[group_rank] if 0 <= group_rank < found.size() else -1


def _divisor(op: Any, group: ProcessGroup) -> int:
    return group.size() if ReduceOp(op) is ReduceOp.AVG else 1


# --- all processes get the same
def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Replaces the tensor by the sum (or another `op`) of those of all processes."""
    check_tensor(tensor, "tensor")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        buffer = Buffer(tensor, arithmetic=True)
        operation = mpi_operation(op, mpi(), buffer.kind)
        return [g.comm.Iallreduce(mpi().IN_PLACE, buffer.spec, operation)], lambda: buffer.finish(_divisor(op, g))

    return _run("all_reduce", group, [tensor], start, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Replaces the tensor of process `dst` by the sum (or another `op`) of those of all processes."""
    check_tensor(tensor, "tensor")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        root = _root(g, dst, group_dst, "dst")
        buffer = Buffer(tensor, arithmetic=True)
        operation = mpi_operation(op, mpi(), buffer.kind)
        if g.rank() != root:
            return [g.comm.Ireduce(buffer.spec, None, operation, root)], _nothing
        return [g.comm.Ireduce(mpi().IN_PLACE, buffer.spec, operation, root)], lambda: buffer.finish(_divisor(op, g))

    return _run("reduce", group, [tensor], start, async_op)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Gives the tensor of process `src` to all."""
    check_tensor(tensor, "tensor")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        root = _root(g, src, group_src, "src")
        buffer = Buffer(tensor)
        return [g.comm.Ibcast(buffer.raw, root)], _nothing if g.rank() == root else buffer.finish

    return _run("broadcast", group, [tensor], start, async_op, source=_global_rank(group, src, group_src))


def _joined(g: ProcessGroup, buffer: Buffer) -> np.ndarray:
    """Memory for the values of all processes."""
    return np.empty((g.size(), buffer.raw.size), np.uint8)


def _store_parts(parts: list[Buffer], joined: np.ndarray) -> None:
    for part, row in zip(parts, joined):
        part.raw[...] = row
        part.finish()


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Fills the list with the tensors of all processes, which have one size and type."""
    tensors = check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        _check_count(tensors, g, "tensor_list")
        own, parts = Buffer(tensor), [Buffer(part) for part in tensors]
        _check_alike(own, parts)
        joined = _joined(g, own)
        return [g.comm.Iallgather(own.raw, joined)], lambda: _store_parts(parts, joined)

    return _run("all_gather", group, [tensor], start, async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fills one tensor with those of all processes, one after the other along the first dimension, or stacked."""
    check_tensor(output_tensor, "output_tensor")
    check_tensor(input_tensor, "input_tensor")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        own, out = Buffer(input_tensor), Buffer(output_tensor)
        if out.raw.size != own.raw.size * g.size():
            raise ValueError(
                "output tensor size must be equal to world_size times input tensor size, got "
                f"{list(output_tensor.shape)} for "
                f"{g.size()} times {list(input_tensor.shape)}"
            )
        return [g.comm.Iallgather(own.raw, out.raw)], out.finish

    return _run("all_gather_into_tensor", group, [output_tensor, input_tensor], start, async_op)


# --- each process gets a part
def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Adds up the inputs of all processes and gives each process its equal part along the first dimension."""
    check_tensor(output, "output")
    check_tensor(input, "input")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        out, source = Buffer(output, arithmetic=True), Buffer(input, arithmetic=True)
        if source.array.size != out.array.size * g.size():
            raise ValueError(
                f"input tensor must be the same size as output size times world size, got {list(input.shape)} for "
                f"{g.size()} times "
                f"{list(output.shape)}"
            )
        operation = mpi_operation(op, mpi(), source.kind)
        return [g.comm.Ireduce_scatter_block(source.spec, out.spec, operation)], lambda: out.finish(_divisor(op, g))

    return _run("reduce_scatter_tensor", group, [output, input], start, async_op)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Adds up the lists of all processes and gives each process the element of its place."""
    check_tensor(output, "output")
    tensors = check_tensors(input_list, "input_list")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        _check_count(tensors, g, "input_list")
        out, parts = Buffer(output, arithmetic=True), [Buffer(part, arithmetic=True) for part in tensors]
        _check_alike(out, parts)
        source = np.concatenate([part.spec for part in parts])
        operation = mpi_operation(op, mpi(), out.kind)
        return [g.comm.Ireduce_scatter_block(source, out.spec, operation)], lambda: out.finish(_divisor(op, g))

    return _run("reduce_scatter", group, [output], start, async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Fills the list of process `dst` (0 if none is named) with the tensors of all."""
    check_tensor(tensor, "tensor")
    dst = 0 if dst is None and group_dst is None else dst

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        root = _root(g, dst, group_dst, "dst")
        own = Buffer(tensor)
        if g.rank() != root:
            if gather_list:
                raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
            return [g.comm.Igather(own.raw, None, root)], _nothing
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        parts = [Buffer(part) for part in check_tensors(gather_list, "gather_list")]
        _check_count(parts, g, "gather_list")
        _check_alike(own, parts)
        joined = _joined(g, own)
        return [g.comm.Igather(own.raw, joined, root)], lambda: _store_parts(parts, joined)

    return _run("gather", group, [tensor], start, async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives each process its element of the list of process `src` (0 if none is named)."""
    check_tensor(tensor, "tensor")
    src = 0 if src is None and group_src is None else src

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        root = _root(g, src, group_src, "src")
        out = Buffer(tensor)
        if g.rank() != root:
            if scatter_list:
                raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
            return [g.comm.Iscatter(None, out.raw, root)], out.finish
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        parts = [Buffer(part) for part in check_tensors(scatter_list, "scatter_list")]
        _check_count(parts, g, "scatter_list")
        _check_alike(out, parts)
        return [g.comm.Iscatter(np.concatenate([part.raw for part in parts]), out.raw, root)], out.finish

    return _run("scatter", group, [tensor], start, async_op, source=_global_rank(group, src, group_src))


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Sends element i of the input list to process i, and receives element j of the output list from process j;
    sizes may differ.
    """
    outputs, inputs = (
        check_tensors(output_tensor_list, "output_tensor_list"),
        check_tensors(input_tensor_list, "input_tensor_list"),
    )

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        _check_count(outputs, g, "output_tensor_list")
        _check_count(inputs, g, "input_tensor_list")
        to, of = [Buffer(t) for t in outputs], [Buffer(t) for t in inputs]
        sizes, own_sizes = [part.raw.size for part in to], [part.raw.size for part in of]
        received = np.empty(sum(sizes), np.uint8)
        sent = np.concatenate([part.raw for part in of]) if of else np.empty(0, np.uint8)
        request = g.comm.Ialltoallv(
            [sent, own_sizes, _starts(own_sizes), mpi().BYTE], [received, sizes, _starts(sizes), mpi().BYTE]
        )
        return [request], lambda: _store_parts(to, np.array(np.split(received, np.cumsum(sizes)[:-1]), dtype=object))

    return _run("all_to_all", group, inputs, start, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """`all_to_all` of one tensor cut along its first dimension, into equal parts or into parts of the given lengths."""
    check_tensor(output, "output")
    check_tensor(input, "input")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        out, source = Buffer(output), Buffer(input)
        sizes, own_sizes = _split_bytes(output, output_split_sizes, g), _split_bytes(input, input_split_sizes, g)
        request = g.comm.Ialltoallv(
            [source.raw, own_sizes, _starts(own_sizes), mpi().BYTE], [out.raw, sizes, _starts(sizes), mpi().BYTE]
        )
        return [request], out.finish

    return _run("all_to_all_single", group, [output, input], start, async_op)


def _split_bytes(tensor: Tensor, lengths: list[int] | None, g: ProcessGroup) -> list[int]:
    rows = tensor.shape[0] if tensor.dim() else 1
    if lengths is None and rows % g.size():
        raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    lengths = [rows // g.size()] * g.size() if lengths is None or not lengths else list(lengths)
    if len(lengths) != g.size() or sum(lengths) != rows:
        raise RuntimeError(
            f"Split sizes doesn't match total dim 0 size: {lengths} for {rows} rows and {g.size()} processes"
        )
    row = tensor.numel() * tensor.element_size() // max(rows, 1)
    return [length * row for length in lengths]


def _starts(sizes: list[int]) -> list[int]:
    return [sum(sizes[:i]) for i in range(len(sizes))]


def _check_count(tensors: list[Any], g: ProcessGroup, name: str) -> None:
    if len(tensors) != g.size():
        raise ValueError(
            f"{name} must have one tensor for each of the {g.size()} processes of the group, got {len(tensors)}"
        )


def _check_alike(own: Buffer, parts: list[Buffer]) -> None:
    for part in parts:
        if part.array.dtype != own.array.dtype or part.array.size != own.array.size:
            raise ValueError(
                f"tensors of one communication have one size and type, got {list(part.tensor.shape)} "
                f"{part.tensor.dtype} beside "
                f"{list(own.tensor.shape)} {own.tensor.dtype}"
            )


# --- waiting for each other
def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Returns when all processes of the group have called it."""
    return _run("barrier", group, [], lambda g: ([g.comm.Ibarrier()], _nothing), async_op)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """A barrier whose error names the processes that did not come in time."""
    work = _run("monitored_barrier", group, [], lambda g: ([g.comm.Ibarrier()], _nothing), True)
    if work is not None:
        work.wait(timeout)
