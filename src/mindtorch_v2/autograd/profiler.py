"""`torch.autograd.profiler`: a single recorded window, and annotations for other profilers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from ..profiler.analysis.values import MemRecordsAcc
from ..profiler.record.config import _ExperimentalConfig, kineto_available  # noqa: F401
from ..profiler.record.enums import DeviceType, ProfilerActivity, ProfilerState  # noqa: F401
from ..profiler.record.session import any_running
from ..profiler.record.step_tracker import KinetoStepTracker
from ..profiler.record_function import record_function
from ..profiler.results.autograd_profile import profile
from ..profiler.results.event_list import EventList
from ..profiler.results.function_event import FunctionEvent
from ..profiler.results.low_level import (  # noqa: F401
    ProfilerConfig,
    _disable_profiler,
    _enable_profiler,
    _kineto_step,
    _prepare_profiler,
)
from .profiler_util import MEMORY_EVENT_NAME, OUT_OF_MEMORY_EVENT_NAME, _filter_name, _filter_stack_entry, _rewrite_name  # noqa: F401

__all__ = [
    "profile",
    "record_function",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "EnforceUnique",
    "parse_nvprof_trace",
    "KinetoStepTracker",
    "EventList",
    "FunctionEvent",
    "MemRecordsAcc",
]


def __getattr__(name: str) -> Any:
    if name == "_is_profiler_enabled":
        return any_running()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class emit_nvtx:
    """Would mark every operator for NVIDIA's tools; entering it raises, because there is no CUDA here."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False

    def __enter__(self) -> emit_nvtx | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        raise AssertionError("Torch not compiled with CUDA enabled")

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        """Nothing was begun, so nothing ends."""


class emit_itt:
    """Would mark every operator for Intel's VTune; without VTune it does nothing."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False

    def __enter__(self) -> emit_itt | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("ITT annotation context manager is not reentrant")
        self.entered = True
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        """Nothing is sent, so nothing ends."""


class EnforceUnique:
    """Raises when a key is seen a second time."""

    def __init__(self) -> None:
        self.seen: set[tuple[Any, ...]] = set()

    def see(self, *key: Any) -> None:
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


def load_nvprof(path: str) -> EventList:
    """The ranges in an nvprof database, as events."""
    return EventList(parse_nvprof_trace(path))


def parse_nvprof_trace(path: str) -> list[FunctionEvent]:
    """Reads the ranges that were marked in an nvprof run. The database is only read; a missing file is not made."""
    with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
        strings = dict(database.execute("SELECT _id_, value FROM StringTable"))
        return sorted(_ranges(database, strings), key=lambda event: event.time_range.start)


def _ranges(database: sqlite3.Connection, strings: dict[int, str]) -> Iterator[FunctionEvent]:
    """Begin and end of a range are two rows with one id; only the beginning has a name."""
    query = """SELECT begin.id, begin.name, begin.timestamp, done.timestamp
               FROM CUPTI_ACTIVITY_KIND_MARKER AS begin JOIN CUPTI_ACTIVITY_KIND_MARKER AS done
               ON begin.id = done.id WHERE begin.name != 0 AND done.name = 0"""
    unique = EnforceUnique()
    for number, name, start, end in database.execute(query):
        unique.see(number)
        yield FunctionEvent(id=number, name=strings[name], thread=0, start_us=start / 1000, end_us=end / 1000)
