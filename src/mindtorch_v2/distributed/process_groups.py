"""Groups of processes: forming the first one, smaller ones, and who is in them."""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta
from typing import Any

from .._accelerators import all_backends
from . import _status, engines
from ._mpi import HOW_TO_INSTALL, forget_shared_memory, is_installed, mpi

default_pg_timeout = timedelta(minutes=30)


class _DefaultBackends:
    """What carries the tensors of each device, as an attribute of a class. Devices are looked up when it is read."""

    def __get__(self, instance: Any, owner: type) -> dict[str, str]:
        return {"cpu": "gloo", **{b.name: b.engines[0] for b in all_backends() if b.engines}}


class Backend(str):
    """The name of an engine. `mpi` and `gloo` both stand for MPI, which serves tensors of the CPU; a device may have an
    engine of its own."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map = _DefaultBackends()

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name!r}")
        return super().__new__(cls, name.lower())


class GroupMember:
    """`WORLD` is the group of all processes; `NON_GROUP_MEMBER` is what a process gets for a group that it is not
    in.
    """

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class ProcessGroup:
    """Processes that communicate with each other. Tensors of the CPU travel over an MPI communicator of the group's
    own, those of a device over its engine where the group was asked for one, else through the CPU.
    """

    def __init__(self, comm: Any, ranks: list[int], name: str, choice: engines.Choice, timeout: timedelta) -> None:
        self.comm, self.ranks, self.backend, self.timeout = comm, ranks, Backend(choice.name), timeout
        self.choice = choice
        self._engines: dict[str, Any] = {}  # device type -> engine, made when it is first needed
        self.group_name, self.group_desc = name, "default_pg" if name == "0" else "undefined"
        self.id = 0 if GroupMember.WORLD is None else _status.group_id(ranks, _formed[tuple(ranks)])
        _formed[tuple(ranks)] += 1
        self.in_words = f" of the group of ranks {ranks}" if self.id else ""
        self._seq = 0

    def engine_for(self, tensors: list[Any]) -> Any:
        """The engine of the tensors' device, None for MPI. Without tensors (a barrier) it is MPI where the group has
        it. RuntimeError for a device that nothing in the group serves.
        """
        types = {tensor.device.type for tensor in tensors} or ({"cpu"} if self.choice.cpu else {*self.choice.devices})
        device = types.pop()
        if types:
            raise ValueError(f"tensors of one communication must be on one device, got {sorted({device, *types})}")
        if device not in self.choice.devices:
            if not self.choice.cpu:
                raise RuntimeError(
                    f"No backend type associated with device type {device}: the group's backend {str(self.backend)!r} "
                    f"carries tensors on {', '.join(self.choice.devices)}; move the tensor there, or form a group with "
                    f"init_process_group or new_group(backend='cpu:gloo,{self.choice.config}')"
                )
            return None
        if device not in self._engines:
            name, seconds = self.choice.devices[device], self.timeout.total_seconds()
            self._engines[device] = engines.make(device, name, self.comm, seconds, self.group_name)
        return self._engines[device]

    def close(self) -> None:
        """Dissolves the group in this process."""
        while self._engines:
            self._engines.popitem()[1].close()
        if self.comm is not None:
            self.comm.Free()

    def next_seq(self) -> int:
        """The sequence id of the next collective of the group, which is the same in all its processes."""
        self._seq += 1
        return self._seq - 1

    def take_back(self, seq: int) -> None:
        """Gives the sequence id back that was taken last (-1 for none): nothing was begun with it."""
        self._seq = self._seq if seq < 0 else seq

    def rank(self) -> int:
        """The rank of this process in the group."""
        return self.comm.Get_rank()

    def size(self) -> int:
        """How many processes are in the group."""
        return len(self.ranks)

    def name(self) -> str:
        """The engine's name."""
        return str(self.backend)

    def __repr__(self) -> str:
        return f"<torch.distributed.ProcessGroup {self.group_name} on {self.backend}: ranks {self.ranks}>"


_groups: list[ProcessGroup] = []
_formed: Counter[tuple[int, ...]] = Counter()  # how many groups of these ranks there were since `init_process_group`


def formed_before(ranks: list[int]) -> int:
    """How many groups of these ranks were formed since `init_process_group`."""
    return _formed[tuple(ranks)]


def all_groups() -> list[ProcessGroup]:
    """The groups that were formed, also those that this process is not in (their `comm` is None)."""
    return list(_groups)


def is_available() -> bool:
    """Whether processes can form groups: mpi4py is installed."""
    return is_installed()


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return GroupMember.WORLD is not None


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    return is_installed()


def is_gloo_available() -> bool:
    """Whether programs that ask for gloo are served, by MPI."""
    return is_installed()


def is_nccl_available() -> bool:
    """False."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether groups can be formed with a backend of this name."""
    try:
        engines.choose(backend)
    except (RuntimeError, ValueError):
        return False
    return is_installed()


def is_torchelastic_launched() -> bool:
    """Whether the launcher (`python -m mindtorch_v2.distributed.run`, `torchrun`) started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def expected_rank_and_size(rank: int, world_size: int, init_method: str | None, store: Any) -> tuple[int, int]:
    """Rank and size that the program or the environment asks for; -1 where nothing does."""
    if init_method is None and store is None or (init_method or "").startswith("env://"):
        rank = int(os.environ.get("RANK", -1)) if rank == -1 else rank
        world_size = int(os.environ.get("WORLD_SIZE", -1)) if world_size == -1 else world_size
    return rank, world_size


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Forms the group of all processes of the job. Each calls it once.

    Processes that a launcher started know each other; a rank or size given here or in RANK and WORLD_SIZE must agree
    with theirs. Others (`torch.multiprocessing.spawn`) need a rank, a size and where to meet: MASTER_ADDR and
    MASTER_PORT (`env://`), `tcp://host:port`, `file:///path`, or a `store`. `pg_options` is accepted and not needed.
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    choice = engines.choose(backend)
    if not is_installed():
        raise RuntimeError(f"torch.distributed runs on MPI, and mpi4py is not installed. {HOW_TO_INSTALL}")
    from . import _rendezvous
    from ._profile import open_clock

    asked = _rendezvous.rank_and_size(init_method, *expected_rank_and_size(rank, world_size, init_method, store))
    if _rendezvous.is_needed(asked[1]):
        _rendezvous.meet(init_method, store, *asked, timeout or default_pg_timeout)
    world = mpi().COMM_WORLD
    own = (world.Get_rank(), world.Get_size())
    if any(want not in (-1, have) for want, have in zip(asked, own)):
        raise RuntimeError(
            f"init_process_group: rank {asked[0]} of {asked[1]} was asked for, but this process is rank {own[0]} "
            f"of {own[1]} that "
            "MPI started together. Start the program with `python -m mindtorch_v2.distributed.run --nproc-per-node N "
            "script.py` "
            "(or `mpiexec -n N python script.py`)"
        )
    _status.open_board(own[0])
    GroupMember.WORLD = add_group(world.Dup(), list(range(own[1])), choice, timeout or default_pg_timeout)
    forget_shared_memory(GroupMember.WORLD.comm)
    open_clock(GroupMember.WORLD.comm)


def add_group(comm: Any, ranks: list[int], choice: engines.Choice, timeout: timedelta, name: str = "") -> ProcessGroup:
    """Keeps a group that was formed; without a name it is numbered."""
    group = ProcessGroup(comm, ranks, name or str(sum(_formed.values())), choice, timeout)
    _groups.append(group)
    return group


def world_group() -> ProcessGroup:
    """The group of all processes; ValueError before `init_process_group`."""
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return GroupMember.WORLD


def resolve(group: Any) -> ProcessGroup | None:
    """The group that a communication runs in; None where this process is not in it."""
    if group is None:
        return world_group()
    return None if group is GroupMember.NON_GROUP_MEMBER else group


def get_rank(group: Any = None) -> int:
    """The rank of this process in the group; -1 where it is not in it."""
    found = resolve(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """How many processes are in the group; -1 where this process is not in it."""
    found = resolve(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> Backend:
    """The engine's name."""
    found = resolve(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return found.backend


def get_backend_config(group: Any = None) -> str:
    """Which engine carries the tensors of which device: `cpu:gloo`."""
    found = resolve(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return found.choice.config


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank of this process on its machine: LOCAL_RANK, else the fallback."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def get_pg_count() -> int:
    """How many groups this process knows of."""
    return len(_groups)


def get_default_backend_for_device(device: Any) -> str:
    """The backend that programs choose for tensors of a device, a `torch.device` or its name. ValueError for none."""
    return engines.default_for(str(device).partition(":")[0])


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks, among all processes, of the group's members."""
    found = resolve(group)
    return [] if found is None else list(found.ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank among all processes of the group's member `group_rank`."""
    if not 0 <= group_rank < len(group.ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in the group of the process whose rank among all is `global_rank`."""
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def destroy_process_group(group: Any = None) -> None:
    """Dissolves a group, or with None all of them."""
    found = world_group() if group is None else resolve(group)
    if found is None:
        return
    everything = found is GroupMember.WORLD
    for each in list(_groups) if everything else [found]:
        each.close()
        _groups.remove(each)
    if everything:
        from ._profile import close_clock

        close_clock()
        GroupMember.WORLD = None
        _status.leave()
        _formed.clear()
