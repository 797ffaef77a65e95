"""`torch.nn.parallel`: a module on several devices of one process (where there are none it runs as it is) or in
several processes.
"""

from __future__ import annotations

from ..._lazy_parts import lazy_parts as _lazy_parts
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


# imported at first use: it brings the collectives
__getattr__, __dir__ = _lazy_parts(
    __name__, ("_functions", "comm", "distributed"), {"DistributedDataParallel": "nn.parallel.distributed"}
)
