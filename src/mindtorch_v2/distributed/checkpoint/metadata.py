"""`torch.distributed.checkpoint.metadata`: what `.metadata` of a checkpoint says, in PyTorch's classes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..._dtype import float32
from ..._shape import Size
from ..._tensor import contiguous_format, strided

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A box of a tensor that lies together: its first element along each dimension, and its size."""

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):
    """How a pickle says a memory format. Tensors of checkpoints are contiguous."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """The dtype of a tensor; the other fields have one value in all checkpoints."""

    dtype: Any = float32
    layout: Any = strided
    requires_grad: bool = False
    memory_format: Any = contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        encoded = _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT
        return self.dtype, self.layout, self.requires_grad, encoded, self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, _, self.pin_memory = state
        self.memory_format = contiguous_format


@dataclass
class TensorStorageMetadata:
    """A tensor of a checkpoint: dtype, shape, and the chunks it is written in."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value of a checkpoint that is no tensor."""


@dataclass
class StorageMeta:
    """Where and by which call a checkpoint was written."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """A checkpoint: `state_dict_metadata` says what each name is, `planner_data` the keys and indices that lead to it,
    `storage_data` where each chunk is."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """A chunk of a tensor, or a value (`offset` None). `index` is the position among the chunks."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.offset is not None:
            object.__setattr__(self, "offset", Size(self.offset))
