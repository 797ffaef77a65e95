"""`torch.multiprocessing`: Python's `multiprocessing`, whose queues and arguments carry tensors in memory that both
processes see.

Importing it registers how tensors travel. A tensor that is sent is moved into shared memory first, as with
`share_memory_()`.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403

from .reductions import init_reductions
from .spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

_strategies = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"
__all__ = [
    "ENV_VAR_PARALLEL_START",
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "init_reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
    *multiprocessing.__all__,
]


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes."""
    return _strategies


def get_sharing_strategy() -> str:
    """How shared memory travels. Memory is always handed over as a file descriptor here; the name is kept."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Keeps the name; AssertionError for an unknown one."""
    global _strategy
    if new_strategy not in _strategies:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_strategies)}")
    _strategy = new_strategy


init_reductions()
