"""`torch.distributed`: several processes that train together. Not here: `is_available()` says so."""
from __future__ import annotations

import os
from typing import Any, NoReturn

__all__ = ["init_process_group", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
           "is_torchelastic_launched", "is_ucc_available", "is_xccl_available"]


def is_available() -> bool:
    """False: this package runs in one process."""
    return False


def is_initialized() -> bool:
    """False: no group of processes was formed."""
    return False


def is_nccl_available() -> bool:
    """False."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_torchelastic_launched() -> bool:
    """Whether `torchrun` started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: this package runs in one process."""
    raise NotImplementedError("torch.distributed.init_process_group: this package runs in one process; torch.distributed.is_available() is "
                              "False")
