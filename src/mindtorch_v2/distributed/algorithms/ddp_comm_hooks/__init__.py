"""How DistributedDataParallel averages gradients: hooks for `register_comm_hook`."""

from __future__ import annotations

from enum import Enum
from typing import Any

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class DDPCommHookType(Enum):
    """Hooks by name."""

    ALLREDUCE = "allreduce_hook"
    FP16_COMPRESS = "fp16_compress_hook"
    BF16_COMPRESS = "bf16_compress_hook"
    POWER_SGD = "powerSGD_hook"
    POWER_SGD_RANK2 = "powerSGD_hook of rank 2"
    BATCHED_POWER_SGD = "batched_powerSGD_hook"
    BATCHED_POWER_SGD_RANK2 = "batched_powerSGD_hook of rank 2"
    NOOP = "noop_hook"


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Has a DistributedDataParallel average its gradients by a hook; `state` is the group of processes."""
    from . import default_hooks, powerSGD_hook

    name, _, rank = comm_hook_type.value.partition(" of rank ")
    if hasattr(default_hooks, name):
        model.register_comm_hook(state, getattr(default_hooks, name))
    else:
        kept = powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=int(rank or 1))
        model.register_comm_hook(kept, getattr(powerSGD_hook, name))
