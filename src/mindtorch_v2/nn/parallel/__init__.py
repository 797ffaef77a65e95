"""`torch.nn.parallel`: a module on several devices of one process (where there are none it runs as it is) or in
several processes.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


def __getattr__(name: str) -> Any:
    if name == "distributed":
        return import_module(f"{__name__}.distributed")
    if name == "DistributedDataParallel":  # imported at first use: it brings the collectives
        return import_module(f"{__name__}.distributed").DistributedDataParallel
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute '{name}'")
