"""`FunctionEventAvg`: what the events of one group add up to, with PyTorch's attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..analysis.values import FormattedTimesMixin
from ..record.enums import DeviceType
from .function_event import FunctionEvent

_COPIED = (
    "key",
    "node_id",
    "is_async",
    "is_remote",
    "cpu_parent",
    "cpu_children",
    "overload_name",
    "input_shapes",
    "stack",
    "scope",
    "device_type",
    "is_legacy",
    "use_device",
    "is_user_annotation",
)
_SUMMED = (
    "cpu_time_total",
    "device_time_total",
    "self_cpu_time_total",
    "self_device_time_total",
    "cpu_memory_usage",
    "device_memory_usage",
    "self_cpu_memory_usage",
    "self_device_memory_usage",
    "count",
)


_SHOWN = (  # what `vars()` of a group shows: PyTorch's names, in its order
    "key",
    "count",
    "node_id",
    "is_async",
    "is_remote",
    "use_device",
    "cpu_time_total",
    "device_time_total",
    "self_cpu_time_total",
    "self_device_time_total",
    "input_shapes",
    "overload_name",
    "stack",
    "scope",
    "cpu_memory_usage",
    "device_memory_usage",
    "self_cpu_memory_usage",
    "self_device_memory_usage",
    "cpu_children",
    "cpu_parent",
    "device_type",
    "is_legacy",
    "flops",
)


class _OfFirst:
    """An attribute of the group's first event, looked up when asked for; assignment goes before it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, row: FunctionEventAvg | None, owner: type | None = None) -> Any:
        if row is None:
            return self
        return None if row._first is None else getattr(row._first, self.name)


class _Slots:
    """What a group has besides PyTorch's attributes; see `FunctionEventAvg.__dict__`."""

    __slots__ = ("_first", "_covered", "_index", "__dict__")
    _first: FunctionEvent | None
    _covered: Any  # what `averages.Covered` knows of all groups, and
    _index: int  # which of them this is


_own_attributes: Callable[[Any], dict[str, Any]] = vars(_Slots)["__dict__"].__get__


class FunctionEventAvg(FormattedTimesMixin, _Slots):
    """A group of events: times in microseconds, memory, FLOPs and `count` are sums, `cpu_time` and `device_time` means,
    everything else is that of its first event."""

    __slots__ = ()
    cpu_parent: Any = _OfFirst("cpu_parent")
    cpu_children: Any = _OfFirst("cpu_children")

    def __init__(self) -> None:
        self._first, self._covered, self._index = None, None, 0
        self.key: str | None = None
        self.count: int = 0
        self.node_id: int = 0
        self.is_async: bool = False
        self.is_remote: bool = False
        self.use_device: str | None = None
        self.cpu_time_total: Any = 0
        self.device_time_total: Any = 0
        self.self_cpu_time_total: Any = 0
        self.self_device_time_total: Any = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: list[str] | None = None
        self.scope: int | None = None
        self.cpu_memory_usage: int = 0
        self.device_memory_usage: int = 0
        self.self_cpu_memory_usage: int = 0
        self.self_device_memory_usage: int = 0
        self.device_type: DeviceType = DeviceType.CPU
        self.is_legacy: bool = False
        self.flops: int = 0

    def fill(self, values: Iterable[tuple[str, Any]], first: FunctionEvent, covered: Any, index: int) -> None:
        """Takes sums and plain attributes as they are; what else is asked for comes from the group's `first` event."""
        _own_attributes(self).update(values)
        self._first, self._covered, self._index = first, covered, index

    def __getstate__(self) -> tuple[Any, ...]:
        return self._first, self._covered, self._index, dict(_own_attributes(self))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._first, self._covered, self._index = state[:3]
        _own_attributes(self).update(state[3])

    @property  # type: ignore[misc]
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """PyTorch's attributes and whatever else was assigned, as a new dictionary: what `vars(row)` gives."""
        return {name: getattr(self, name) for name in _SHOWN} | _own_attributes(self)

    @property
    def covered_us(self) -> float:
        """The time during which the group ran, in microseconds: unlike `cpu_time_total`, what runs inside an event
        of the same group is not counted again.
        """
        return self.cpu_time_total if self._covered is None else self._covered.microseconds[self._index]

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Take in an event, or a group with the same key; returns itself."""
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if self.key is None:
            for name in _COPIED:
                setattr(self, name, getattr(other, name))
        elif other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        self._covered = None
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops = (self.flops or 0) + (other.flops or 0)
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


# The plans call a row of `key_averages()` so; it is PyTorch's class and says so when it is printed.
_FunctionEventAvgRow = FunctionEventAvg
