"""What a profile of this process says about its job: `distributedInfo`, as PyTorch writes it, and how its clock stands
to the others'."""

from __future__ import annotations

import os
from typing import Any

from ..profiler.record import clock as profile_clock
from . import _clock
from .process_groups import GroupMember, all_groups

_server: _clock.ClockServer | None = None
_address = ""


def open_clock(comm: Any) -> None:
    """Agrees on the job's clock: the launcher's, or where there is none that of the first process."""
    global _server, _address
    _address = os.environ.get(_clock.VARIABLE, "")
    if comm.Get_size() > 1 and not _address:
        if comm.Get_rank() == 0:
            _server = _clock.ClockServer(_own_host())
        _address = comm.bcast(_server.address if _server is not None else "", 0)


def close_clock() -> None:
    """Ends what `open_clock` began."""
    global _server, _address
    if _server is not None:
        _server.close()
    _server, _address = None, ""


def _own_host() -> str:
    """A name by which other machines reach this one; the loopback address where the job has one machine."""
    import socket

    local, size = os.environ.get("LOCAL_WORLD_SIZE", ""), os.environ.get("WORLD_SIZE", "")
    return "127.0.0.1" if local and local == size else socket.gethostname()


def distributed_info() -> dict[str, Any] | None:
    """The member `distributedInfo` of a trace; None where no group was formed."""
    world = GroupMember.WORLD
    if world is None:
        return None
    groups = [group for group in all_groups() if group.comm is not None]
    return {
        "backend": str(world.backend),
        "rank": world.rank(),
        "world_size": world.size(),
        "pg_count": len(groups),
        "pg_config": [
            {
                "pg_name": group.group_name,
                "pg_desc": group.group_desc,
                "backend_config": group.choice.config,
                "pg_size": group.size(),
                "ranks": list(group.ranks),
            }
            for group in groups
        ],
    }


def clock_reading() -> list[int] | None:
    """[own time, how far the job's clock is ahead, uncertainty] in nanoseconds; None where there is no such clock."""
    if GroupMember.WORLD is None or not _address:
        return None
    found = _clock.read(_address, profile_clock.current().now)
    return None if found is None else list(found)


def clock_alignment(epoch_offset_ns: int, readings: list[list[int] | None]) -> dict[str, Any]:
    """What tells how this process's clock stands to those of the other ranks (`profiler.load_ranks` reads it)."""
    return {
        "clock": _clock.identity(),
        "epoch_offset_ns": epoch_offset_ns,
        "pings": [reading for reading in readings if reading is not None],
    }
