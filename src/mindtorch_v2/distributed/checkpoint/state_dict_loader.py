"""`torch.distributed.checkpoint.state_dict_loader`."""

from __future__ import annotations

from typing import Any

from ._load import load
from .filesystem import FileSystemReader

__all__ = ["load", "load_state_dict"]


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: FileSystemReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """`load`, as programs before PyTorch 2.2 call it."""
    load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist, planner=planner)
