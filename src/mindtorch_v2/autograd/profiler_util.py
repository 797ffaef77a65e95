"""`torch.autograd.profiler_util`: events, their averages and what they are made of."""
from __future__ import annotations

from ..profiler.analysis.events import EventList
from ..profiler.analysis.formatting import _attr_formatter, _format_memory, _format_time, _format_time_share  # noqa: F401
from ..profiler.analysis.function_event import FunctionEvent
from ..profiler.analysis.function_event_avg import FunctionEventAvg
from ..profiler.analysis.values import EventMetadata, FormattedTimesMixin, Interval, Kernel, MemRecordsAcc, StringTable

__all__ = ["EventList", "EventMetadata", "FormattedTimesMixin", "Interval", "Kernel", "FunctionEvent", "FunctionEventAvg",
           "StringTable", "MemRecordsAcc"]
