"""`torch.utils.data.datapipes.iter`: streams of samples."""

from __future__ import annotations

from .combining import ConcaterIterDataPipe as Concater
from .combining import DemultiplexerIterDataPipe as Demultiplexer
from .combining import ForkerIterDataPipe as Forker
from .combining import MultiplexerIterDataPipe as Multiplexer
from .combining import ZipperIterDataPipe as Zipper
from .grouping import BatcherIterDataPipe as Batcher
from .grouping import GrouperIterDataPipe as Grouper
from .grouping import UnBatcherIterDataPipe as UnBatcher
from .single import CollatorIterDataPipe as Collator
from .single import FilterIterDataPipe as Filter
from .single import IterableWrapperIterDataPipe as IterableWrapper
from .single import MapperIterDataPipe as Mapper
from .single import ShardingFilterIterDataPipe as ShardingFilter
from .single import ShufflerIterDataPipe as Shuffler

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "Filter",
    "Forker",
    "Grouper",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "ShardingFilter",
    "Shuffler",
    "UnBatcher",
    "Zipper",
]
