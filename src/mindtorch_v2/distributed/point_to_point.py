"""Communication of tensors between two processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from ._buffers import Buffer, check_tensor
from ._calls import root_of, run
from ._mpi import mpi
from .process_groups import ProcessGroup, resolve
from .work import Work, nothing


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begins to send a tensor to process `dst`."""
    check_tensor(tensor, "tensor")

    def peer_in(g: ProcessGroup) -> int:
        peer = root_of(g, dst, group_dst, "dst")
        if peer == g.rank():
            raise ValueError(
                "Invalid destination rank: destination rank should not be the same as the rank of the current process."
            )
        return peer

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        return [g.comm.Isend(Buffer(tensor).raw, peer_in(g), tag)], nothing

    detail = f" to {dst if dst is not None else group_dst}"
    return run(
        "send", group, [tensor], start, True, detail, on_device=lambda e, g, text: e.send(tensor, peer_in(g), text)
    )


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begins to receive a tensor from process `src`, or from any."""
    check_tensor(tensor, "tensor")

    def start(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        peer = mpi().ANY_SOURCE if src is None and group_src is None else root_of(g, src, group_src, "src")
        buffer = Buffer(tensor)
        return [g.comm.Irecv(buffer.raw, peer, tag)], buffer.finish

    def on_device(e: Any, g: ProcessGroup, text: str) -> Any:
        if src is None and group_src is None:
            raise ValueError(f"recv of a tensor on {tensor.device} needs the rank that sends it (src)")
        return e.recv(tensor, root_of(g, src, group_src, "src"), text)

    detail = f" from {src if src is not None else group_src}"
    return run("recv", group, [tensor], start, True, detail, on_device=on_device)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Sends a tensor to process `dst`; returns when its memory can be used again."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receives a tensor from process `src`, or from any; returns the sender's rank."""
    work = irecv(tensor, src, group, tag, group_src)
    found = resolve(group)
    if work is None or found is None:
        return -1
    work.wait()
    if src is not None or group_src is not None:
        return found.ranks[root_of(found, src, group_src, "src")]
    return found.ranks[work.source_rank()] if work.source_rank() >= 0 else -1


class P2POp:
    """One `isend` or `irecv` of a batch."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = (
            op,
            tensor,
            peer,
            group,
            tag,
            group_peer,
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begins all of them; returns their Works."""
    if not isinstance(p2p_op_list, list) or not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``op``. Each op is expected to be of type ``torch.distributed.P2POp``.")
    found = resolve(p2p_op_list[0].group)
    tensors = [op.tensor for op in p2p_op_list]
    if found is not None and found.engine_for(tensors) is not None:
        return [work for work in [_on_device(p2p_op_list, tensors)] if work is not None]
    works = [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]
    return [work for work in works if work is not None]


def _on_device(messages: list[P2POp], tensors: list[Tensor]) -> Work | None:
    """Messages of one group whose tensors a device's engine carries, together: none has to wait for another."""

    def refuse(g: ProcessGroup) -> tuple[list[Any], Callable[[], None]]:
        raise AssertionError("the group has an engine for these tensors")

    def batch(e: Any, g: ProcessGroup, text: str) -> Any:
        peers = [root_of(g, op.peer, op.group_peer, "peer") for op in messages]
        return e.batch([(op.op is isend, op.tensor, peer) for op, peer in zip(messages, peers)], text)

    return run("batch_isend_irecv", messages[0].group, tensors, refuse, True, on_device=batch)
