"""The engine below `torch.distributed`: MPI, through mpi4py, loaded when a group is first formed."""

from __future__ import annotations

import contextlib
import os
import re
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

HOW_TO_INSTALL = (
    "pip install 'mindtorch_v2[distributed]' brings mpi4py and a complete MPI (MPICH); on a cluster build mpi4py "
    "against the "
    "MPI that is there"
)
# How launchers tell a process its rank, by MPI: rank, size, rank on this machine, processes on this machine.
_RANK_VARIABLES = (
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
)


class RankInfo(NamedTuple):
    """Where a process stands among those that MPI started together."""

    rank: int
    size: int
    local_rank: int
    local_size: int


def is_installed() -> bool:
    """Whether mpi4py can be imported."""
    return find_spec("mpi4py") is not None


@cache
def mpi() -> Any:
    """The module `mpi4py.MPI`, which initialises MPI when it is first imported."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # mpi4py raises either where it finds no MPI library
        raise RuntimeError(
            f"torch.distributed runs on MPI, which cannot be loaded ({error}). {HOW_TO_INSTALL}"
        ) from error
    return MPI


def initialise_unlocked() -> Any:
    """The module `mpi4py.MPI`, initialised while other threads of this process go on: one of them may serve the
    store that the other processes still read. mpi4py itself would hold Python's lock meanwhile. MPI is not finalised
    when the process ends: that waits for all processes, so that one that failed would never end."""
    import ctypes

    import mpi4py

    mpi4py.rc.initialize = mpi4py.rc.finalize = False
    module = mpi()
    library = ctypes.CDLL(module.__file__)  # finds MPI's functions in the library that the module is linked with
    provided = ctypes.c_int()
    code = library.MPI_Init_thread(None, None, int(module.THREAD_MULTIPLE), ctypes.byref(provided))
    if code:
        raise RuntimeError(f"MPI could not be initialised (error {code})")
    module.COMM_WORLD.Set_errhandler(module.ERRORS_RETURN)  # errors become exceptions, as mpi4py does it
    return module


def forget_shared_memory(comm: Any) -> None:
    """Takes MPICH's shared memory out of /dev/shm once all processes hold it: nothing is left behind by a job that is
    killed. The memory itself lives as long as a process of the job. Every process of `comm` calls it."""
    comm.Barrier()
    try:
        with open("/proc/self/maps", encoding="ascii", errors="replace") as file:
            names = set(re.findall(r" (/dev/shm/mpich_shm_\w+)$", file.read(), re.MULTILINE))
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):  # another process of this machine was quicker
            os.unlink(name)


def rank_from_environment() -> RankInfo | None:
    """What MPI's launcher says in the environment; None for a process that none started."""
    for names in _RANK_VARIABLES:
        rank, size, local_rank, local_size = (os.environ.get(name) for name in names)
        if rank is not None and size is not None:
            return RankInfo(int(rank), int(size), int(local_rank or rank), int(local_size or size))
    return None
