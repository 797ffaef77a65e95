"""`torch.autograd.profiler_util`: events, their averages and what they are made of."""

from __future__ import annotations

from ..profiler.analysis.collapse import UNLISTED_NAMES
from ..profiler.analysis.entries import MEMORY_NAME, STEP_NAME, STEP_PREFIX
from ..profiler.analysis.formatting import _attr_formatter, _format_memory, _format_time, _format_time_share  # noqa: F401
from ..profiler.analysis.values import EventMetadata, FormattedTimesMixin, Interval, Kernel, MemRecordsAcc, StringTable
from ..profiler.record.enums import DeviceType  # noqa: F401
from ..profiler.results.event_list import EventList
from ..profiler.results.function_event import FunctionEvent
from ..profiler.results.function_event_avg import FunctionEventAvg

__all__ = [
    "EventList",
    "EventMetadata",
    "FormattedTimesMixin",
    "Interval",
    "Kernel",
    "FunctionEvent",
    "FunctionEventAvg",
    "StringTable",
    "MemRecordsAcc",
]

MEMORY_EVENT_NAME = MEMORY_NAME
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"
_readable_names = StringTable()


def _filter_name(name: str) -> bool:
    """Whether an event of this name is the profiler's bookkeeping, which lists of events leave out."""
    return name == MEMORY_EVENT_NAME or name in UNLISTED_NAMES


def _filter_stack_entry(entry: str) -> bool:
    """Whether a frame belongs to the program; the functions that start a backward pass do not."""
    return not any(
        file in entry and function in entry
        for file, function in (
            ("autograd/__init__", "_make_grads"),
            ("autograd/__init__", "backward"),
            ("torch/tensor", "backward"),
            ("_internal/common_utils", "prof_callable"),
            ("_internal/common_utils", "prof_func_call"),
            ("_internal/common_utils", "prof_meth_call"),
        )
    )


def _rewrite_name(name: str, with_wildcard: bool = False) -> str:
    """A name as it is printed: C++ names readable, and `with_wildcard` the steps of a profile under one name."""
    readable = _readable_names[name]
    return STEP_NAME if with_wildcard and readable.startswith(STEP_PREFIX) else readable
