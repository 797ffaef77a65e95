"""Communication of Python objects, pickled. What arrives is unpickled: only for processes that trust each other."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ._calls import root_of, run
from .process_groups import ProcessGroup, resolve

_OBJECTS = 1  # tag of messages that hold objects


def _exchange(name: str, group: Any, call: Any) -> Any:
    """Runs a blocking exchange of mpi4py as one event of a profile; None for a process outside the group.

    The exchange begins when all processes of the group have come to it: the wait for one that has ended, hangs or calls
    something else is then that of any collective, with its timeout and its error.
    """
    made: list[Any] = []

    def start(g: ProcessGroup) -> tuple[list[Any], Any]:
        return [g.comm.Ibarrier()], lambda: made.append(call(g))

    run(name, group, [], start, False)
    return made[0] if made else None


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fills the list with the objects of all processes."""
    found = _exchange("all_gather_object", group, lambda g: g.comm.allgather(obj))
    if found is not None:
        if len(object_list) < len(found):
            raise ValueError(f"object_list must have room for {len(found)} objects, got {len(object_list)}")
        object_list[: len(found)] = found


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Fills the list of process `dst` (0 if none is named) with the objects of all."""
    dst = 0 if dst is None and group_dst is None else dst
    found = _exchange("gather_object", group, lambda g: g.comm.gather(obj, root_of(g, dst, group_dst, "dst")))
    if found is not None:
        if object_gather_list is None:
            raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
        object_gather_list[: len(found)] = found


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Gives the objects of process `src` (0 if none is named) to all."""
    src = 0 if src is None and group_src is None else src
    found = _exchange(
        "broadcast_object_list", group, lambda g: g.comm.bcast(list(object_list), root_of(g, src, group_src, "src"))
    )
    if found is not None:
        object_list[:] = found


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Puts each process's element of the list of process `src` (0 if none is named) first into its output list."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    src = 0 if src is None and group_src is None else src
    if resolve(group) is not None:
        scatter_object_output_list[0] = _exchange(
            "scatter_object_list",
            group,
            lambda g: g.comm.scatter(scatter_object_input_list, root_of(g, src, group_src, "src")),
        )


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None
) -> None:
    """Sends objects to process `dst`: their size, then themselves."""
    data = np.frombuffer(pickle.dumps(list(object_list)), np.uint8)

    def start(g: ProcessGroup) -> tuple[list[Any], Any]:
        peer = root_of(g, dst, group_dst, "dst")
        return [g.comm.Isend(np.array([data.size]), peer, _OBJECTS), g.comm.Isend(data, peer, _OBJECTS)], lambda: None

    run("send_object_list", group, [], start, False)


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> int:
    """Receives objects that process `src` sent; returns its rank."""

    size, found = np.empty(1, np.int64), list[Any]()

    def start(g: ProcessGroup) -> tuple[list[Any], Any]:
        peer = root_of(g, src, group_src, "src")

        def receive() -> None:
            data = np.empty(size[0], np.uint8)
            g.comm.Recv(data, peer, _OBJECTS)
            found.append(pickle.loads(data.tobytes()))

        return [g.comm.Irecv(size, peer, _OBJECTS)], receive

    run("recv_object_list", group, [], start, False)
    if found:
        object_list[:] = found[0]
    return src if src is not None else -1
