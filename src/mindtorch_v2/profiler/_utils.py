"""`torch.profiler._utils`: PyTorch's module for the functions that walk event trees."""

from .results.event_walk import (
    BasicEvaluation,
    EventKey,
    EventMetrics,
    Interval,
    argmax,
    index_of_first_match,
    source_code_location,
    traverse_bfs,
    traverse_dfs,
)

__all__ = [
    "BasicEvaluation",
    "EventKey",
    "EventMetrics",
    "Interval",
    "argmax",
    "index_of_first_match",
    "source_code_location",
    "traverse_bfs",
    "traverse_dfs",
]
