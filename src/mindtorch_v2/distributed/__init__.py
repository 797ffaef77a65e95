"""`torch.distributed`: several processes that train together, on MPI (see docs/distributed.md).

    python -m mindtorch_v2.distributed.run --nproc-per-node 4 train.py

`is_available()` says whether mpi4py is installed (`pip install 'mindtorch_v2[distributed]'`). The backends `mpi` and
`gloo` both run on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .process_groups import (
    Backend,
    GroupMember,
    ProcessGroup,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
)
from .reduce_op import ReduceOp

# What needs tensors and the profiler is imported at first use.
_LATER = {
    "collectives": (
        "all_gather",
        "all_gather_into_tensor",
        "all_gather_single",
        "all_reduce",
        "all_to_all",
        "all_to_all_single",
        "barrier",
        "broadcast",
        "gather",
        "monitored_barrier",
        "reduce",
        "reduce_scatter",
        "reduce_scatter_single",
        "reduce_scatter_tensor",
        "scatter",
    ),
    "_coalesced": ("_coalescing_manager", "all_gather_coalesced", "all_reduce_coalesced"),
    "point_to_point": ("P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"),
    "new_groups": ("new_group", "new_subgroups", "new_subgroups_by_enumeration"),
    "objects": (
        "all_gather_object",
        "broadcast_object_list",
        "gather_object",
        "recv_object_list",
        "scatter_object_list",
        "send_object_list",
    ),
    "work": ("DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "Work"),
    "device_mesh": ("DeviceMesh", "init_device_mesh"),
    "_debug_level": ("DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"),
    "rendezvous": ("register_rendezvous_handler", "rendezvous"),
    "store": ("FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"),
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names}
_SUBMODULES = (
    "checkpoint",
    "fsdp",
    "algorithms",
    "constants",
    "device_mesh",
    "distributed_c10d",
    "elastic",
    "launch",
    "launcher",
    "nn",
    "optim",
    "rpc",
    "run",
    "store",
    "tensor",
)

__all__ = [
    "Backend",
    "GroupMember",
    "ProcessGroup",
    "ReduceOp",
    "default_pg_timeout",
    "destroy_process_group",
    "get_backend",
    "get_backend_config",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    *(name for name in _MODULE_OF if not name.startswith("_")),
]


def __getattr__(name: str) -> Any:
    if name == "group":  # PyTorch's holder of the group of all processes
        return GroupMember
    if name == "GradBucket":  # what hooks of DistributedDataParallel are given
        return import_module("..nn.parallel._buckets", __name__).GradBucket
    if name in _MODULE_OF:
        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        return value
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.distributed' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "group", "GradBucket"})
