"""The engine below `torch.distributed`: MPI, through mpi4py, loaded when a group is first formed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, NamedTuple

HOW_TO_INSTALL = (
    "pip install 'mindtorch_v2[distributed]' brings mpi4py and a complete MPI (MPICH); on a cluster build mpi4py "
    "against the "
    "MPI that is there"
)
# How launchers tell a process its place, by MPI: rank, size, rank on this machine, processes on this machine.
_PLACE_VARIABLES = (
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
)


class Place(NamedTuple):
    """Where a process stands among those that MPI started together."""

    rank: int
    size: int
    local_rank: int
    local_size: int


def is_installed() -> bool:
    """Whether mpi4py can be imported."""
    return find_spec("mpi4py") is not None


def mpi() -> Any:
    """The module `mpi4py.MPI`, which initialises MPI when it is first imported."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # mpi4py raises either where it finds no MPI library
        raise RuntimeError(
            f"torch.distributed runs on MPI, which cannot be loaded ({error}). {HOW_TO_INSTALL}"
        ) from error
    return MPI


def place_from_environment() -> Place | None:
    """What MPI's launcher says in the environment; None for a process that none started."""
    for names in _PLACE_VARIABLES:
        rank, size, local_rank, local_size = (os.environ.get(name) for name in names)
        if rank is not None and size is not None:
            return Place(int(rank), int(size), int(local_rank or rank), int(local_size or size))
    return None
