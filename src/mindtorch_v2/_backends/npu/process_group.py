"""Collectives of tensors on NPUs, over HCCL: what `torch.distributed` asks for as the engine "hccl".

Everything a collective does to tensors (copies of what is not contiguous, casts, the communication, the division of
an average) goes into the communicator's stream, which first waits for the calling thread's current stream. The
caller's stream waits when the Work is waited for, and the host never does.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..._dispatch import aten
from ..._dtype import int32
from ..._tensor import Tensor, bump_version
from . import abi_hccl as abi
from . import communicator, streams
from .communicator import Communicator, Completion, dense_of, pointer

_WIDENED = ("bool", "uint8")  # added as int32: HCCL cannot


class Engine:
    """The communicators of one group of processes, made when they are first needed: one for each device of this
    process, and one with each process that it sends to or receives from.

    share      gives all processes of the group what the first one passes: share(data or None) -> data
    pass_on    the same between two: pass_on(data or None, peer) -> data
    rank, size of this process and of the group; timeout in seconds; `name` of the group
    """

    def __init__(
        self,
        share: Callable[[bytes | None], bytes],
        pass_on: Callable[[bytes | None, int], bytes],
        rank: int,
        size: int,
        timeout: float,
        name: str,
    ) -> None:
        if not communicator.is_available():
            raise RuntimeError(
                "Distributed package doesn't have HCCL built in: the Ascend libraries have no HcclCommInitRootInfo "
                "(libhccl.so)"
            )
        self._share, self._pass_on = share, pass_on
        self._rank, self._size, self._timeout, self._name = rank, size, timeout, name
        self._made: dict[tuple[int, int], Communicator] = {}  # (device, peer or -1)

    def close(self) -> None:
        """Dissolves the communicators."""
        while self._made:
            self._made.popitem()[1].close()

    # --- communicators
    def _communicator(self, index: int, peer: int = -1) -> Communicator:
        found = self._made.get((index, peer))
        if found is None:
            if peer < 0:
                found = Communicator(self._share, self._rank, self._size, index, self._timeout, f"group {self._name}")
            else:
                name = f"group {self._name}, ranks {min(peer, self._rank)} and {max(peer, self._rank)}"
                found = Communicator(
                    lambda data: self._pass_on(data, peer), int(self._rank > peer), 2, index, self._timeout, name
                )
            self._made[index, peer] = found
        return found

    @contextlib.contextmanager
    def _inside(self, tensors: Sequence[Tensor], peer: int = -1) -> Iterator[Communicator]:
        """Operations go to the communicator's stream, once what the caller's stream holds is done."""
        indices = {t.device.index or 0 for t in tensors}
        if len(indices) != 1:
            raise ValueError(f"tensors of one communication must be on one device, got npu:{sorted(indices)}")
        index = indices.pop()
        made = self._communicator(index, peer)
        made.stream.wait_stream(streams.stream_at(index))
        for t in tensors:
            pointer(t.detach(), made.stream)  # kept until the stream has passed, also what only copies read
        with made.stream:
            yield made

    # --- all processes get the same
    def all_reduce(self, tensor: Tensor, op: str, text: str) -> Completion:
        with self._inside([tensor]) as to:
            summand = _summand(tensor, op)
            address = pointer(summand, to.stream)
            self._launch(to, "HcclAllReduce", summand, address, address, summand.numel(), *_types(summand, op))
            self._put_reduced(tensor, summand, op)
            return Completion(to, text)

    def reduce(self, tensor: Tensor, root: int, op: str, text: str) -> Completion:
        with self._inside([tensor]) as to:
            summand = _summand(tensor, op)
            result = aten.empty_like(summand) if to.rank == root else summand
            addresses = pointer(summand, to.stream), pointer(result, to.stream)
            self._launch(to, "HcclReduce", summand, *addresses, summand.numel(), *_types(summand, op), root)
            if to.rank == root:
                self._put_reduced(tensor, result, op)
            return Completion(to, text)

    def broadcast(self, tensor: Tensor, root: int, text: str) -> Completion:
        with self._inside([tensor]) as to:
            buffer = dense_of(tensor)
            self._launch(to, "HcclBroadcast", buffer, pointer(buffer, to.stream), *_extent(buffer), root)
            if to.rank != root:
                _put(tensor, buffer)
            return Completion(to, text)

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor, text: str) -> Completion:
        with self._inside([tensor, *outputs]) as to:
            for output, row in zip(outputs, self._gathered(to, tensor)):
                output.detach().copy_(row.view(output.shape))
            return Completion(to, text)

    def _gathered(self, to: Communicator, tensor: Tensor) -> Tensor:
        """The tensors of all processes, flat, one row each."""
        own = dense_of(tensor)
        whole = aten.empty([self._size, own.numel()], dtype=own.dtype, device=own.device)
        self._launch(to, "HcclAllGather", own, pointer(own, to.stream), pointer(whole, to.stream), *_extent(own))
        return whole

    def all_gather_into(self, output: Tensor, tensor: Tensor, text: str) -> Completion:
        with self._inside([output, tensor]) as to:
            own, whole = dense_of(tensor), dense_of(output)
            self._launch(to, "HcclAllGather", own, pointer(own, to.stream), pointer(whole, to.stream), *_extent(own))
            _put(output, whole)
            return Completion(to, text)

    # --- each process gets a part
    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: str, text: str) -> Completion:
        """The inputs are one tensor of all parts, or the parts."""
        with self._inside([output, *inputs]) as to:
            parts = [_summand(t, op).reshape([-1]) for t in inputs]
            whole = parts[0] if len(parts) == 1 else aten.cat(parts)
            part = aten.empty([whole.numel() // self._size], dtype=whole.dtype, device=whole.device)
            addresses = pointer(whole, to.stream), pointer(part, to.stream)
            self._launch(to, "HcclReduceScatter", whole, *addresses, part.numel(), *_types(whole, op))
            self._put_reduced(output, part.view(output.shape), op)
            return Completion(to, text)

    def gather(self, tensor: Tensor, outputs: Sequence[Tensor], root: int, text: str) -> Completion:
        """HCCL has no gather: all get the rows, the root keeps them."""
        with self._inside([tensor, *outputs]) as to:
            for output, row in zip(outputs, self._gathered(to, tensor)):
                output.detach().copy_(row.view(output.shape))
            return Completion(to, text)

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int, text: str) -> Completion:
        with self._inside([tensor, *inputs]) as to:
            part = dense_of(tensor)
            whole = aten.cat([t.detach().reshape([-1]) for t in inputs]) if inputs else None
            given = pointer(whole, to.stream) if whole is not None else 0
            self._launch(to, "HcclScatter", part, given, pointer(part, to.stream), *_extent(part), root)
            _put(tensor, part)
            return Completion(to, text)

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], text: str) -> Completion:
        with self._inside([*outputs, *inputs]) as to:
            given = aten.cat([t.detach().reshape([-1]) for t in inputs])
            counts = [t.numel() for t in outputs]
            taken = aten.empty([sum(counts)], dtype=given.dtype, device=given.device)
            self._exchange(to, taken, given, counts, [t.numel() for t in inputs])
            for output, part in zip(outputs, taken.split(counts)):
                output.detach().copy_(part.view(output.shape))
            return Completion(to, text)

    def all_to_all_single(
        self, output: Tensor, tensor: Tensor, taken_counts: list[int], given_counts: list[int], text: str
    ) -> Completion:
        """Counts are elements for each process."""
        with self._inside([output, tensor]) as to:
            given, taken = dense_of(tensor), dense_of(output)
            self._exchange(to, taken, given, taken_counts, given_counts)
            _put(output, taken)
            return Completion(to, text)

    def _exchange(self, to: Communicator, taken: Tensor, given: Tensor, taken_counts: Any, given_counts: Any) -> None:
        sizes = []
        _, data_type = _extent(given)
        width = 1 if _name_of(given) in abi.DATA_TYPES else given.element_size()  # others travel as bytes
        for counts in (given_counts, taken_counts):
            starts = [sum(counts[:i]) for i in range(len(counts))]
            sizes.append([(ctypes.c_uint64 * len(v))(*(n * width for n in v)) for v in (counts, starts)])
        (sent, sent_starts), (got, got_starts) = sizes
        addresses = pointer(given, to.stream), pointer(taken, to.stream)
        self._launch(
            to,
            "HcclAlltoAllV",
            given,
            addresses[0],
            sent,
            sent_starts,
            data_type,
            addresses[1],
            got,
            got_starts,
            data_type,
        )

    # --- two processes
    def send(self, tensor: Tensor, peer: int, text: str) -> Completion:
        with self._inside([tensor], peer) as to:
            buffer = dense_of(tensor)
            self._launch(to, "HcclSend", buffer, pointer(buffer, to.stream), *_extent(buffer), int(self._rank < peer))
            return Completion(to, text)

    def recv(self, tensor: Tensor, peer: int, text: str) -> Completion:
        with self._inside([tensor], peer) as to:
            buffer = dense_of(tensor)
            self._launch(to, "HcclRecv", buffer, pointer(buffer, to.stream), *_extent(buffer), int(self._rank < peer))
            _put(tensor, buffer)
            return Completion(to, text)

    def batch(self, messages: Sequence[tuple[bool, Tensor, int]], text: str) -> Completion:
        """Messages (whether it is sent, tensor, peer) that run together, in the group's own communicator: the first
        batch is for all processes of the group."""
        with self._inside([tensor for _, tensor, _ in messages]) as to:
            buffers = [dense_of(tensor) for _, tensor, _ in messages]
            items = (abi.SendRecvItem * len(messages))()
            for item, buffer, (is_sent, _, peer) in zip(items, buffers, messages):
                count, data_type = _extent(buffer)
                item.kind, item.buffer, item.peer = int(not is_sent), pointer(buffer, to.stream), peer
                item.count, item.data_type = count, data_type
            self._launch(to, "HcclBatchSendRecv", buffers[0], items, len(messages))
            for buffer, (is_sent, tensor, _) in zip(buffers, messages):
                if not is_sent:
                    _put(tensor, buffer)
            return Completion(to, text)

    def barrier(self, index: int | None, text: str) -> Completion:
        index = streams.current_index() if index is None else index
        to = self._communicator(index)
        to.stream.wait_stream(streams.stream_at(index))
        to.launch("HcclBarrier")
        return Completion(to, text)

    # --- helpers
    def _launch(self, to: Communicator, name: str, tensor: Tensor, *arguments: Any) -> None:
        to.launch(name, *arguments, nbytes=tensor.numel() * tensor.element_size())

    def _put_reduced(self, tensor: Tensor, result: Tensor, op: str) -> None:
        if op == "AVG":
            result.div_(self._size)
        _put(tensor, result)


def _put(tensor: Tensor, buffer: Tensor) -> None:
    """What stands in the buffer becomes the tensor's."""
    if buffer._array.size and buffer._array.ctypes.data == tensor._array.ctypes.data:
        bump_version(tensor)
    else:
        tensor.detach().copy_(buffer.view(tensor.shape))


def _summand(tensor: Tensor, op: str) -> Tensor:
    """A dense tensor of a type that HCCL can add. RuntimeError for what it cannot combine."""
    kind = _name_of(tensor)
    if op not in (*abi.REDUCTIONS, "AVG"):
        raise RuntimeError(f"Cannot use ReduceOp.{op} with HCCL, which has SUM, PRODUCT, MAX and MIN")
    if op == "AVG" and not tensor.dtype.is_floating_point:
        raise RuntimeError("Cannot use ReduceOp.AVG with integral tensors")
    if kind in _WIDENED:
        return tensor.detach().to(int32)
    if kind not in abi.REDUCIBLE:
        raise RuntimeError(
            f"HCCL cannot add tensors of type {tensor.dtype}: it adds {', '.join(abi.REDUCIBLE)}. Convert the tensor, "
            "or communicate it on the CPU in a group of the backend 'gloo'"
        )
    return dense_of(tensor)


def _name_of(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _types(tensor: Tensor, op: str) -> tuple[int, int]:
    """HCCL's codes of a type and of a reduction."""
    return abi.DATA_TYPES[_name_of(tensor)], abi.REDUCTIONS["SUM" if op == "AVG" else op]


def _extent(tensor: Tensor) -> tuple[int, int]:
    """Count and HCCL's type of what only travels; bytes for types that HCCL does not know."""
    code = abi.DATA_TYPES.get(_name_of(tensor))
    if code is None:
        return tensor.numel() * tensor.element_size(), abi.DATA_TYPES["uint8"]
    return tensor.numel(), code
