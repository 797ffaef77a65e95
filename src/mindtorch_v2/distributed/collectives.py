"""Communication of tensors between all processes of a group."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from .._tensor import Tensor
from . import _repeated
from ._buffers import Buffer, check_tensor, check_tensors
from ._calls import global_rank, root_of, run
from ._mpi import mpi
from .process_groups import ProcessGroup
from .reduce_op import ReduceOp, divisor, mpi_operation
from .work import Work, nothing


# --- all processes get the same
def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Replaces the tensor by the sum (or another `op`) of those of all processes."""
    if not async_op and _repeated.all_reduce(tensor, op, group, sys._getframe(1)):
        return None
    check_tensor(tensor, "tensor")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        buffer = Buffer(tensor, arithmetic=True)
        operation = mpi_operation(op, mpi(), buffer.kind)
        return [g.comm.Iallreduce(mpi().IN_PLACE, buffer.spec, operation)], lambda: buffer.finish(divisor(op, g))

    return run(
        "all_reduce",
        group,
        [tensor],
        start,
        async_op,
        on_device=lambda e, g, text: e.all_reduce(tensor, ReduceOp(op).name, text),
    )


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
        root = root_of(g, dst, group_dst, "dst")
        buffer = Buffer(tensor, arithmetic=True)
        operation = mpi_operation(op, mpi(), buffer.kind)
        if g.rank() != root:
            return [g.comm.Ireduce(buffer.spec, None, operation, root)], nothing
        return [g.comm.Ireduce(mpi().IN_PLACE, buffer.spec, operation, root)], lambda: buffer.finish(divisor(op, g))

    return run(
        "reduce",
        group,
        [tensor],
        start,
        async_op,
        on_device=lambda e, g, text: e.reduce(tensor, root_of(g, dst, group_dst, "dst"), ReduceOp(op).name, text),
    )


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Gives the tensor of process `src` to all."""
    check_tensor(tensor, "tensor")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        root = root_of(g, src, group_src, "src")
        buffer = Buffer(tensor)
        return [g.comm.Ibcast(buffer.raw, root)], nothing if g.rank() == root else buffer.finish

    return run(
        "broadcast",
        group,
        [tensor],
        start,
        async_op,
        source=global_rank(group, src, group_src),
        on_device=lambda e, g, text: e.broadcast(tensor, root_of(g, src, group_src, "src"), text),
    )


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
        own, parts = Buffer(tensor), [Buffer(part) for part in _checked(tensors, g, "tensor_list", tensor)]
        joined = _joined(g, own)
        return [g.comm.Iallgather(own.raw, joined)], lambda: _store_parts(parts, joined)

    return run(
        "all_gather",
        group,
        [tensor],
        start,
        async_op,
        on_device=lambda e, g, text: e.all_gather(_checked(tensors, g, "tensor_list", tensor), tensor, text),
    )


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fills one tensor with those of all processes, one after the other along the first dimension, or stacked."""
    check_tensor(output_tensor, "output_tensor")
    check_tensor(input_tensor, "input_tensor")

    def check(g: ProcessGroup) -> None:
        if output_tensor.numel() != input_tensor.numel() * g.size() or output_tensor.dtype != input_tensor.dtype:
            raise RuntimeError(
                "output tensor size must be equal to world_size times input tensor size, got "
                f"{list(output_tensor.shape)} {output_tensor.dtype} for "
                f"{g.size()} times {list(input_tensor.shape)} {input_tensor.dtype}"
            )

    def on_device(e: Any, g: ProcessGroup, text: str) -> Any:
        check(g)
        return e.all_gather_into(output_tensor, input_tensor, text)

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        check(g)
        own, out = Buffer(input_tensor), Buffer(output_tensor)
        return [g.comm.Iallgather(own.raw, out.raw)], out.finish

    tensors = [output_tensor, input_tensor]
    return run("all_gather_into_tensor", group, tensors, start, async_op, on_device=on_device)


all_gather_single = all_gather_into_tensor  # PyTorch's newer name


# --- each process gets a part
def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Adds up the inputs of all processes and gives each process its equal part along the first dimension."""
    check_tensor(output, "output")
    check_tensor(input, "input")

    def check(g: ProcessGroup) -> None:
        if input.numel() != output.numel() * g.size():
            raise RuntimeError(
                f"input tensor must be the same size as output size times world size, got {list(input.shape)} for "
                f"{g.size()} times "
                f"{list(output.shape)}"
            )

    def on_device(e: Any, g: ProcessGroup, text: str) -> Any:
        check(g)
        return e.reduce_scatter(output, [input], ReduceOp(op).name, text)

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        check(g)
        out, source = Buffer(output, arithmetic=True), Buffer(input, arithmetic=True)
        operation = mpi_operation(op, mpi(), source.kind)
        return [g.comm.Ireduce_scatter_block(source.spec, out.spec, operation)], lambda: out.finish(divisor(op, g))

    return run("reduce_scatter_tensor", group, [output, input], start, async_op, on_device=on_device)


reduce_scatter_single = reduce_scatter_tensor  # PyTorch's newer name


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Adds up the lists of all processes and gives each process the element of its rank."""
    check_tensor(output, "output")
    tensors = check_tensors(input_list, "input_list")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        _check_count(tensors, g, "input_list")
        _checked([tensors[g.rank()]] * g.size(), g, "input_list", output)
        out, parts = Buffer(output, arithmetic=True), [Buffer(part, arithmetic=True) for part in tensors]
        source, sizes = np.concatenate([part.spec for part in parts]), [part.spec.size for part in parts]
        operation = mpi_operation(op, mpi(), out.kind)
        return [g.comm.Ireduce_scatter(source, out.spec, sizes, operation)], lambda: out.finish(divisor(op, g))

    def on_device(e: Any, g: ProcessGroup, text: str) -> Any:
        return e.reduce_scatter(output, _checked(tensors, g, "input_list", output), ReduceOp(op).name, text)

    alike = f"reduce_scatter {[(part.shape, part.dtype) for part in tensors]}"
    return run("reduce_scatter", group, [output], start, async_op, on_device=on_device, same_for_all=alike)


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
        root = root_of(g, dst, group_dst, "dst")
        own, tensors = Buffer(tensor), _of_root(gather_list, g, root, "gather_list", "destination", tensor)
        if g.rank() != root:
            return [g.comm.Igather(own.raw, None, root)], nothing
        parts = [Buffer(part) for part in tensors]
        joined = _joined(g, own)
        return [g.comm.Igather(own.raw, joined, root)], lambda: _store_parts(parts, joined)

    def on_device(e: Any, g: ProcessGroup, text: str) -> Any:
        root = root_of(g, dst, group_dst, "dst")
        return e.gather(tensor, _of_root(gather_list, g, root, "gather_list", "destination", tensor), root, text)

    return run("gather", group, [tensor], start, async_op, on_device=on_device)


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
        root = root_of(g, src, group_src, "src")
        out, tensors = Buffer(tensor), _of_root(scatter_list, g, root, "scatter_list", "source", tensor)
        if g.rank() != root:
            return [g.comm.Iscatter(None, out.raw, root)], out.finish
        parts = [Buffer(part) for part in tensors]
        return [g.comm.Iscatter(np.concatenate([part.raw for part in parts]), out.raw, root)], out.finish

    def on_device(e: Any, g: ProcessGroup, text: str) -> Any:
        root = root_of(g, src, group_src, "src")
        return e.scatter(tensor, _of_root(scatter_list, g, root, "scatter_list", "source", tensor), root, text)

    source = global_rank(group, src, group_src)
    return run("scatter", group, [tensor], start, async_op, source=source, on_device=on_device)


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

    def on_device(e: Any, g: ProcessGroup, text: str) -> Any:
        _check_count(outputs, g, "output_tensor_list")
        _check_count(inputs, g, "input_tensor_list")
        return e.all_to_all(outputs, inputs, text)

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

    alike = f"all_to_all {sorted({str(part.dtype) for part in [*inputs, *outputs]})}"
    return run("all_to_all", group, inputs, start, async_op, on_device=on_device, same_for_all=alike)


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
        sizes, own_sizes = (
            [count * tensor.element_size() for count in _split_counts(tensor, lengths, g)]
            for tensor, lengths in ((output, output_split_sizes), (input, input_split_sizes))
        )
        request = g.comm.Ialltoallv(
            [source.raw, own_sizes, _starts(own_sizes), mpi().BYTE], [out.raw, sizes, _starts(sizes), mpi().BYTE]
        )
        return [request], out.finish

    def on_device(e: Any, g: ProcessGroup, text: str) -> Any:
        taken, given = _split_counts(output, output_split_sizes, g), _split_counts(input, input_split_sizes, g)
        return e.all_to_all_single(output, input, taken, given, text)

    even = None if output_split_sizes or input_split_sizes else (output.shape, input.shape)
    name, alike = "all_to_all_single", f"all_to_all_single {output.dtype} {input.dtype} {even}"
    return run(name, group, [output, input], start, async_op, on_device=on_device, same_for_all=alike)


def _split_counts(tensor: Tensor, lengths: list[int] | None, g: ProcessGroup) -> list[int]:
    rows = tensor.shape[0] if tensor.dim() else 1
    if lengths is None and rows % g.size():
        raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    lengths = [rows // g.size()] * g.size() if lengths is None or not lengths else list(lengths)
    if len(lengths) != g.size() or sum(lengths) != rows:
        raise RuntimeError(
            f"Split sizes doesn't match total dim 0 size: {lengths} for {rows} rows and {g.size()} processes"
        )
    row = tensor.numel() // max(rows, 1)
    return [length * row for length in lengths]


def _starts(sizes: list[int]) -> list[int]:
    return [sum(sizes[:i]) for i in range(len(sizes))]


def _check_count(tensors: list[Any], g: ProcessGroup, name: str) -> None:
    if len(tensors) != g.size():
        raise RuntimeError(
            f"{name} must have one tensor for each of the {g.size()} processes of the group, got {len(tensors)}"
        )


def _checked(tensors: list[Tensor], g: ProcessGroup, name: str, own: Tensor) -> list[Tensor]:
    """The tensors, which must be one for each process, of the size and type of `own`."""
    _check_count(tensors, g, name)
    for part in tensors:
        if part.dtype != own.dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {part.dtype} and  {own.dtype}")
        if part.numel() != own.numel():
            raise RuntimeError(
                f"tensors of one communication have one size, got {list(part.shape)} beside {list(own.shape)}"
            )
    return tensors


def _of_root(given: list[Tensor] | None, g: ProcessGroup, root: int, name: str, role: str, own: Tensor) -> list[Tensor]:
    """The list that the root alone passes; an empty one for the others."""
    if g.rank() != root:
        if given:
            raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{role} ranks.")
        return []
    if not given:
        raise ValueError(f"Argument ``{name}`` must be specified on {role} rank.")
    return _checked(check_tensors(given, name), g, name, own)


# --- waiting for each other
def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Returns when all processes of the group have called it."""
    index = device_ids[0] if device_ids else None
    return run(
        "barrier",
        group,
        [],
        lambda g: ([g.comm.Ibarrier()], nothing),
        async_op,
        on_device=lambda e, g, text: e.barrier(index, text),
    )


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """A barrier whose error names the processes that did not come in time."""
    work = run("monitored_barrier", group, [], lambda g: ([g.comm.Ibarrier()], nothing), True)
    if work is not None:
        work.wait(timeout)
