"""Forming groups of some of the processes."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from . import _status, engines
from ._mpi import mpi
from .process_groups import GroupMember, ProcessGroup, add_group, formed_before, get_rank, get_world_size, world_group
from .work import Work, nothing

_FORMING = 32_001  # tag of the messages by which processes come together to form a group


def _come_together(world: ProcessGroup, ranks: list[int]) -> None:
    """Waits until the processes that form a group have come: what follows blocks in MPI, where nothing is noticed."""
    what, seconds = f"new_group({ranks})", world.timeout.total_seconds()
    if ranks == world.ranks:
        Work([world.comm.Ibarrier()], nothing, [], _status.begin(what, what, 0), seconds)._wait(seconds)
        return
    comm, others, empty = world.comm, [rank for rank in ranks if rank != ranks[0]], bytearray(0)
    own = others if world.rank() == ranks[0] else ranks[:1]

    def answer() -> Any:
        return [comm.Isend(empty, rank, _FORMING) for rank in own], nothing

    requests = [comm.Irecv(empty, rank, _FORMING) for rank in own]
    requests = requests if own is others else [*answer()[0], *requests]
    Work(requests, answer if own is others else nothing, [], _status.begin(what, what), seconds)._wait(seconds)


def new_group(
    ranks: list[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """Forms a group of some processes (all if none are named).

    Every process of the world calls it, also those outside; with `use_local_synchronization` those of the group alone.
    """
    world = world_group()
    chosen = sorted(ranks) if ranks is not None else list(world.ranks)
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"the new group's rank should be unique, got {ranks}")
    if len(chosen) > world.size() or not chosen:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    if chosen[0] < 0 or chosen[-1] >= world.size():
        raise ValueError("The new group's rank should be within the world_size set by init_process_group")
    choice, limit = engines.choose(backend) if backend else world.choice, timeout or world.timeout
    inside = world.rank() in chosen
    if use_local_synchronization:
        if not inside:
            return GroupMember.NON_GROUP_MEMBER
        _come_together(world, chosen)
        group_id = _status.group_id(chosen, formed_before(chosen))
        comm = world.comm.Create_group(world.comm.Get_group().Incl(chosen), group_id % _FORMING)
        return add_group(comm, chosen, choice, limit, f"local-{group_id:08x}")
    _come_together(world, world.ranks)
    comm = world.comm.Split(0 if inside else mpi().UNDEFINED, chosen.index(world.rank()) if inside else 0)
    group = add_group(comm if inside else None, chosen, choice, limit)
    return group if inside else GroupMember.NON_GROUP_MEMBER


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbours (the processes of a machine if it is None): this process's own, and all of
    them.
    """
    size = group_size or int(os.environ.get("LOCAL_WORLD_SIZE", get_world_size()))
    if size <= 0 or size > get_world_size() or get_world_size() % size != 0:
        raise ValueError(f"The world size ({get_world_size()}) must be divisible by 'group_size={size}'")
    return new_subgroups_by_enumeration(
        [list(range(first, first + size)) for first in range(0, get_world_size(), size)], timeout, backend
    )


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: list[list[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of these ranks: this process's own (None if it is in none of them), and all of them."""
    owner: dict[int, list[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in owner:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {owner[rank]} and {ranks}")
            owner[rank] = ranks
    made = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    mine = [group for group, ranks in zip(made, ranks_per_subgroup_list) if get_rank() in ranks]
    return mine[0] if mine else None, made
