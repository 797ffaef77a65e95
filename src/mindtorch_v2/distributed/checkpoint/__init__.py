"""`torch.distributed.checkpoint`: checkpoints that all processes write together, and that any number of them can
load. Their format is PyTorch's."""

from __future__ import annotations

from ._async_save import async_save
from ._entries import CheckpointException
from ._load import load
from ._save import save
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .state_dict_loader import load_state_dict
from .state_dict_saver import save_state_dict
from .stateful import Stateful

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "HuggingFaceStorageReader",
    "HuggingFaceStorageWriter",
    "Metadata",
    "Stateful",
    "TensorStorageMetadata",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
]
