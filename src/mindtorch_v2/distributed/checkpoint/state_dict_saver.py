"""`torch.distributed.checkpoint.state_dict_saver`."""

from __future__ import annotations

from typing import Any

from ._async_save import async_save
from ._save import save
from .filesystem import FileSystemWriter

__all__ = ["async_save", "save", "save_state_dict"]


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: FileSystemWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """`save`, as programs before PyTorch 2.2 call it."""
    save(state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner)
