"""`torch.profiler._memory_profiler`: PyTorch's place for the views of a profile's memory."""

from .results.memory_profiler import (
    _ACTION_TO_INDEX,
    _CATEGORY_TO_COLORS,
    _CATEGORY_TO_INDEX,
    Action,
    Category,
    CategoryDict,
    Key,
    MemoryProfile,
    MemoryProfileTimeline,
    TensorKey,
    TimelineEntry,
)

__all__ = [
    "Action",
    "Category",
    "CategoryDict",
    "Key",
    "MemoryProfile",
    "MemoryProfileTimeline",
    "TensorKey",
    "TimelineEntry",
    "_ACTION_TO_INDEX",
    "_CATEGORY_TO_COLORS",
    "_CATEGORY_TO_INDEX",
]
