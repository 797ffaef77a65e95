"""`torch.nn.parallel`: a module on several devices of one process. Where there are none, the module runs as it is."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":
        try:
            return import_module(f"{__name__}.distributed").DistributedDataParallel
        except ModuleNotFoundError:
            pass
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute '{name}'")
