"""Processes that no MPI launcher started (`torch.multiprocessing.spawn`, several terminals) become one MPI job.

They meet at a store: the one of `env://`, `tcp://` or `file://`, or the program's own. The first process starts a
process manager (`_pmi_server`), and the store tells the others where it is; MPI's initialisation does the rest. That
is how MPICH's own launcher introduces processes, so it works with MPICH and its descendants (Intel MPI), not with
Open MPI.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from urllib.parse import parse_qs, urlparse

from . import _mpi
from .store import FileStore, PrefixStore, Store, TCPStore
from .work import DistBackendError, DistStoreError

_STATUS = "MINDTORCH_DISTRIBUTED_STATUS"
_OURS = ("PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_SIZE")
handlers: dict[str, Callable[..., Iterator[tuple[Store, int, int]]]] = {}  # the program's own, by scheme
_store: Store | None = None  # kept: the first process serves it


def is_needed(world_size: int) -> bool:
    """Whether processes that were asked to be so many must find each other first."""
    module = sys.modules.get("mpi4py.MPI")
    started = module is not None and module.Is_initialized()
    return world_size > 1 and not started and _mpi.rank_from_environment() is None


def rank_and_size(init_method: str | None, rank: int, world_size: int) -> tuple[int, int]:
    """Rank and size, also where the address names them (`tcp://host:port?rank=0&world_size=2`)."""
    query = parse_qs(urlparse(init_method or "").query)
    rank = int(query["rank"][0]) if rank == -1 and "rank" in query else rank
    return rank, int(query["world_size"][0]) if world_size == -1 and "world_size" in query else world_size


def meet(init_method: str | None, store: Store | None, rank: int, world_size: int, timeout: timedelta) -> None:
    """Makes this process a part of an MPI job of `world_size` processes. MPI is initialised when it returns."""
    global _store
    if not 0 <= rank < world_size:
        raise ValueError(f"init_process_group: rank {rank} is none of the {world_size} of the group")
    _store = store if store is not None else open_store(init_method or "env://", rank, world_size, timeout)
    _store.set_timeout(timeout)
    shared = PrefixStore("mindtorch/rendezvous", _store)
    shared.set_timeout(timeout)
    shared.set(f"host/{rank}", socket.gethostname())
    if rank == 0:
        hosts = _hosts(shared, world_size, timeout)
        status = tempfile.mkdtemp(prefix="mindtorch-job-") if len(set(hosts)) == 1 else ""
        shared.set("status", status)
        shared.set("manager", _start_manager(hosts, status, timeout))
    status = shared.get("status").decode()
    if status:
        os.environ[_STATUS] = status
    _initialise(shared.get("manager").decode(), rank, world_size)


def _hosts(shared: Store, world_size: int, timeout: timedelta) -> list[str]:
    """The machine of each process, once all have come."""
    end = time.monotonic() + timeout.total_seconds()
    while missing := [rank for rank in range(world_size) if not shared.check([f"host/{rank}"])]:
        if time.monotonic() > end:
            raise DistStoreError(
                f"init_process_group: {world_size - len(missing)} of {world_size} processes came within "
                f"{timeout.total_seconds():g} s; missing are the ranks {', '.join(map(str, missing))}"
            )
        time.sleep(0.01)
    return [shared.get(f"host/{rank}").decode() for rank in range(world_size)]


def mapping_of(hosts: Sequence[str]) -> str:
    """Which processes share a machine, as PMI writes it: (machine, machines, processes on each) for runs of ranks."""
    machines: dict[str, int] = {}
    runs: list[list[int]] = []
    for host in hosts:
        machine = machines.setdefault(host, len(machines))
        if runs and runs[-1][0] == machine:
            runs[-1][1] += 1
        else:
            runs.append([machine, 1])
    return f"(vector,{','.join(f'({machine},1,{count})' for machine, count in runs)})"


def _start_manager(hosts: Sequence[str], status: str, timeout: timedelta) -> str:
    """Starts the process manager; host:port of it."""
    server = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_pmi_server.py")
    arguments = [str(len(hosts)), mapping_of(hosts), str(timeout.total_seconds()), status]
    started = subprocess.Popen(
        [sys.executable, "-I", "-S", server, *arguments], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    assert started.stdout is not None
    port = started.stdout.readline().strip()
    if not port:
        raise DistBackendError(f"the process manager of the group did not start (exit code {started.wait()})")
    return f"{'127.0.0.1' if status else socket.gethostname()}:{port}"


def _initialise(manager: str, rank: int, world_size: int) -> None:
    """Initialises MPI as the given process of the job. What tells MPI so is not left to children of this process."""
    host, _, port = manager.rpartition(":")
    os.environ.update(zip(_OURS, (f"{socket.gethostbyname(host)}:{port}", str(rank), str(rank), str(world_size))))
    try:
        world = _mpi.initialise_unlocked().COMM_WORLD
    finally:
        for name in _OURS:
            os.environ.pop(name, None)
    if (world.Get_rank(), world.Get_size()) != (rank, world_size):
        library = _mpi.mpi().Get_library_version().split("\n")[0]
        raise DistBackendError(
            f"{library} does not form groups of processes that its launcher did not start. Start the program with "
            "`python -m mindtorch_v2.distributed.run --nproc-per-node N script.py`, or install MPICH"
        )


def open_store(init_method: str, rank: int, world_size: int, timeout: timedelta) -> Store:
    """The store that an address names."""
    address = urlparse(init_method)
    if address.scheme in handlers:
        return next(handlers[address.scheme](init_method, timeout=timeout))[0]
    if address.scheme == "file":
        return FileStore(address.path, world_size)
    if address.scheme == "tcp":
        return TCPStore(address.hostname or "", address.port or 0, None, rank == 0, timeout)
    if address.scheme != "env":
        raise RuntimeError(f"No rendezvous handler for {address.scheme}://")
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if not os.environ.get(name):
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: "
                f"environment variable {name} expected, but not set"
            )
    return TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), None, rank == 0, timeout)
