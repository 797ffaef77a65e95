"""Communication of Python objects, pickled. What arrives is unpickled: only for processes that trust each other."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from ._calls import root_of, run
from .process_groups import ProcessGroup
from .work import nothing

_Part = tuple[list[Any], Callable[[], Any]]  # MPI's requests, and what to do when they are done
_OBJECTS = 1  # tag of messages that hold objects


def _exchange(name: str, group: Any, start: Callable[[ProcessGroup], _Part]) -> None:
    """Runs an exchange of objects as one event of a profile; does nothing in a process outside the group.

    `start` begins it when all processes of the group have come: one that calls something else is then told apart before
    sizes and bytes are mistaken for others. No part of it blocks in MPI, so that a process that ends or hangs at any
    moment is noticed as in other collectives.
    """
    run(name, group, [], lambda g: ([g.comm.Ibarrier()], lambda: start(g)), False)


def _packed(value: Any) -> np.ndarray:
    return np.frombuffer(pickle.dumps(value), np.uint8)


def _unpacked(data: np.ndarray, sizes: np.ndarray) -> list[Any]:
    ends = np.cumsum(sizes)
    return [pickle.loads(data[end - size : end].data) for size, end in zip(sizes, ends)]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fills the list with the objects of all processes."""
    own = _packed(obj)

    def start(g: ProcessGroup) -> _Part:
        sizes = np.empty(g.size(), np.int64)

        def exchange() -> _Part:
            data = np.empty(int(sizes.sum()), np.uint8)
            return [g.comm.Iallgatherv(own, [data, sizes])], lambda: _fill(object_list, _unpacked(data, sizes))

        return [g.comm.Iallgather(np.array([own.size]), sizes)], exchange

    _exchange("all_gather_object", group, start)


def _fill(object_list: list[Any], found: list[Any]) -> None:
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
    own = _packed(obj)

    def start(g: ProcessGroup) -> _Part:
        root = root_of(g, dst, group_dst, "dst")
        if g.rank() != root:
            size = [g.comm.Igather(np.array([own.size]), None, root)]
            return size, lambda: ([g.comm.Igatherv(own, None, root)], nothing)
        if object_gather_list is None:
            raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
        sizes, target = np.empty(g.size(), np.int64), object_gather_list

        def exchange() -> _Part:
            data = np.empty(int(sizes.sum()), np.uint8)
            return [g.comm.Igatherv(own, [data, sizes], root)], lambda: _fill(target, _unpacked(data, sizes))

        return [g.comm.Igather(np.array([own.size]), sizes, root)], exchange

    _exchange("gather_object", group, start)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Gives the objects of process `src` (0 if none is named) to all."""
    src = 0 if src is None and group_src is None else src
    own = _packed(list(object_list))

    def start(g: ProcessGroup) -> _Part:
        root = root_of(g, src, group_src, "src")
        is_root, size = g.rank() == root, np.array([own.size])

        def exchange() -> _Part:
            data = own.copy() if is_root else np.empty(size[0], np.uint8)
            return [g.comm.Ibcast(data, root)], nothing if is_root else lambda: store(data)

        return [g.comm.Ibcast(size, root)], exchange

    def store(data: np.ndarray) -> None:
        object_list[:] = pickle.loads(data.data)

    _exchange("broadcast_object_list", group, start)


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

    def start(g: ProcessGroup) -> _Part:
        root = root_of(g, src, group_src, "src")
        given, size = _given(scatter_object_input_list, g) if g.rank() == root else [], np.empty(1, np.int64)
        sizes = np.array([part.size for part in given]) if given else None

        def exchange() -> _Part:
            data = np.empty(size[0], np.uint8)
            source = [np.concatenate(given), sizes] if given else None
            return [g.comm.Iscatterv(source, data, root)], lambda: store(data)

        return [g.comm.Iscatter(sizes, size, root)], exchange

    def store(data: np.ndarray) -> None:
        scatter_object_output_list[0] = pickle.loads(data.data)

    _exchange("scatter_object_list", group, start)


def _given(objects: list[Any] | None, g: ProcessGroup) -> list[np.ndarray]:
    if objects is None or len(objects) != g.size():
        raise ValueError(
            f"scatter_object_input_list must have one object for each of the {g.size()} processes of the group, got "
            f"{'None' if objects is None else len(objects)}"
        )
    return [_packed(each) for each in objects]


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None
) -> None:
    """Sends objects to process `dst`: their size, then themselves."""
    data = _packed(list(object_list))

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

        def receive() -> _Part:
            data = np.empty(size[0], np.uint8)
            return [g.comm.Irecv(data, peer, _OBJECTS)], lambda: found.append(pickle.loads(data.data))

        return [g.comm.Irecv(size, peer, _OBJECTS)], receive

    run("recv_object_list", group, [], start, False)
    if found:
        object_list[:] = found[0]
    return src if src is not None else -1
