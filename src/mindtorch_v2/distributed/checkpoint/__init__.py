"""`torch.distributed.checkpoint`: checkpoints that all processes write together, and that any number of them can
load."""

from __future__ import annotations

from ._files import CheckpointException, FileSystemReader, FileSystemWriter
from ._load import load
from ._save import save

__all__ = ["CheckpointException", "FileSystemReader", "FileSystemWriter", "load", "save"]
