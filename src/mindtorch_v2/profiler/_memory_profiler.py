"""`torch.profiler._memory_profiler`: PyTorch's module for the views of a profile's memory."""

from .results.data_flow import DataFlowEdge, DataFlowGraph, DataFlowNode, OpTree, extract_gradients, extract_parameters
from .results.memory_keys import Category, Key, TensorAndID, TensorKey
from .results.memory_profiler import (
    _ACTION_TO_INDEX,
    _CATEGORY_TO_COLORS,
    _CATEGORY_TO_INDEX,
    Action,
    CategoryDict,
    MemoryProfile,
    MemoryProfileTimeline,
    TimelineEntry,
)
from .results.schema_matcher import SchemaMatcher

__all__ = [
    "Action",
    "Category",
    "CategoryDict",
    "DataFlowEdge",
    "DataFlowGraph",
    "DataFlowNode",
    "Key",
    "MemoryProfile",
    "MemoryProfileTimeline",
    "OpTree",
    "SchemaMatcher",
    "TensorAndID",
    "TensorKey",
    "TimelineEntry",
    "_ACTION_TO_INDEX",
    "_CATEGORY_TO_COLORS",
    "_CATEGORY_TO_INDEX",
    "extract_gradients",
    "extract_parameters",
]
