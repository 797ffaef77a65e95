"""The small value types of PyTorch's `profiler_util`, and the times that events and averages share."""

from __future__ import annotations

import bisect
import re
import warnings
from collections import defaultdict, namedtuple
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .formatting import _attr_formatter

Kernel = namedtuple("Kernel", ["name", "device", "duration"])
Kernel.__doc__ = "Work on a device that an event of the CPU started: its name, the device's index, microseconds."


class Interval:
    """A span of time in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        return self.end - self.start


class EventMetadata(NamedTuple):
    """What a device or a collective reported about an event; None on the CPU."""

    registers_per_thread: int | None = None
    shared_memory: int | None = None
    grid: list[int] | None = None
    block: list[int] | None = None
    priority: int | None = None
    blocks_per_sm: float | None = None
    warps_per_sm: float | None = None
    occupancy: float | None = None
    est_occupancy_pct: float | None = None
    queued: int | None = None
    graph_id: int | None = None
    graph_node_id: int | None = None
    stream: int | None = None
    context: int | None = None
    channel: int | None = None
    channel_type: str | None = None
    bytes: int | None = None
    bandwidth_gb_s: float | None = None
    collective_name: str | None = None
    dtype: str | None = None
    in_msg_nelems: int | None = None
    out_msg_nelems: int | None = None
    in_split_size: list[int] | None = None
    out_split_size: list[int] | None = None
    global_rank_start: int | None = None
    global_rank_stride: int | None = None
    group_size: int | None = None
    process_group_name: str | None = None
    process_group_desc: str | None = None
    group_ranks: list[int] | None = None
    rank: int | None = None
    src_rank: int | None = None
    dst_rank: int | None = None
    seq: int | None = None
    is_async: bool | None = None


class StringTable(defaultdict[str, str]):
    """Names of C++ functions as people read them: mangled ones become `scope::function()`."""

    def __missing__(self, key: str) -> str:
        self[key] = _readable(key)
        return self[key]


def _readable(name: str) -> str:
    """The nested name of a mangled C++ function, whose parts are spelt <length><name>; any other name unchanged."""
    parts, rest = [], name[3:] if name.startswith("_ZN") else name[2:] if name.startswith("_Z") else ""
    while (digits := re.match(r"\d+", rest)) is not None:
        begin, length = digits.end(), int(digits.group())
        parts.append(rest[begin : begin + length])
        rest = rest[begin + length :]
    return "::".join(parts) + "()" if parts else name


class MemRecordsAcc:
    """Memory records sorted by time, for asking which fall into an interval. Records answer to `start_ns()`."""

    def __init__(self, mem_records: Sequence[Any]) -> None:
        self._mem_records = mem_records
        times = sorted((record[0].start_ns(), index) for index, record in enumerate(mem_records))
        self._start_nses = [time for time, _ in times]
        self._indices = [index for _, index in times]

    def in_interval(self, start_ns: float, end_ns: float) -> Iterator[Any]:
        """The records from `start_ns` to `end_ns`, both included."""
        first = bisect.bisect_left(self._start_nses, start_ns)
        last = bisect.bisect_right(self._start_nses, end_ns)
        for index in self._indices[first:last]:
            yield self._mem_records[index]


def warn_deprecated(message: str) -> None:
    """Tell the caller of a property that its name is going away."""
    warnings.warn(message, FutureWarning, stacklevel=3)


class FormattedTimesMixin:
    """Averages over `count`, and times as text."""

    __slots__ = ()
    count: int
    cpu_time_total: Any
    device_time_total: Any

    cpu_time_str = _attr_formatter("cpu_time")
    device_time_str = _attr_formatter("device_time")
    cpu_time_total_str = _attr_formatter("cpu_time_total")
    device_time_total_str = _attr_formatter("device_time_total")
    self_cpu_time_total_str = _attr_formatter("self_cpu_time_total")
    self_device_time_total_str = _attr_formatter("self_device_time_total")

    @property
    def cpu_time(self) -> float:
        return 0.0 if self.count == 0 else 1.0 * self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        return 0.0 if self.count == 0 else 1.0 * self.device_time_total / self.count

    @property
    def cuda_time(self) -> float:
        warn_deprecated("`cuda_time` is deprecated, please use `device_time` instead.")
        return self.device_time


def as_lists(value: Any) -> Any:
    """Tuples as lists, all the way down: what PyTorch returns and JSON writes."""
    return [as_lists(item) for item in value] if isinstance(value, (tuple, list)) else value


def plain_shapes(shapes: tuple[Any, ...]) -> list[list[int]]:
    """Dimensions per argument; a list of tensors counts as no tensor."""
    return [list(shape) if not shape or isinstance(shape[0], int) else [] for shape in shapes]
