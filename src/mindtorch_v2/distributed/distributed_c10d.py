"""`torch.distributed.distributed_c10d`: where PyTorch defines what `torch.distributed` shows."""

from __future__ import annotations

from typing import Any

from . import process_groups
from .process_groups import Backend, GroupMember, ProcessGroup, default_pg_timeout, world_group

__all__ = ["Backend", "GroupMember", "ProcessGroup", "default_pg_timeout"]


def _get_default_group() -> ProcessGroup:
    """The group of all processes."""
    return world_group()


def _rank_not_in_group(group: Any) -> bool:
    """Whether this process is not in the group."""
    return process_groups.resolve(group) is None


def __getattr__(name: str) -> Any:
    from mindtorch_v2 import distributed

    return getattr(distributed, name)
