"""`torch.distributed.checkpoint`: checkpoints that all processes write together, and that any number of them can
load."""

from __future__ import annotations

from ._async_save import async_save
from ._files import CheckpointException, FileSystemReader, FileSystemWriter
from ._load import load
from ._save import save
from .stateful import Stateful

__all__ = ["CheckpointException", "FileSystemReader", "FileSystemWriter", "Stateful", "async_save", "load", "save"]
