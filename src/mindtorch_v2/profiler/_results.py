"""Low-level access to a finished window, in the shape of PyTorch's `_ProfilerResult`."""
from __future__ import annotations

from os import PathLike
from typing import Any

from ._enums import DeviceType, _EventType
from ._fields import Flag, Kind
from ._filters import shown_in_trace
from ._store import EventStore
from .analysis.events import build_events
from .export import chrome_trace

# Methods of a low-level event that read an attribute of the same event in `events()`.
_ATTRIBUTES = {
    "activity_type": "activity_type", "concrete_inputs": "concrete_inputs", "device_index": "device_index",
    "device_resource_id": "device_resource_id", "device_type": "device_type", "dtypes": "input_dtypes",
    "external_id": "external_id", "correlation_id": "id", "flops": "flops", "flow_id": "flow_id", "flow_start": "flow_start",
    "flow_type": "flow_type", "fwd_thread_id": "fwd_thread", "is_async": "is_async",
    "is_python_function": "is_python_function", "is_user_annotation": "is_user_annotation", "kwinputs": "kwinputs",
    "linked_correlation_id": "linked_correlation_id", "overload_name": "overload_name", "python_id": "python_id",
    "python_module_id": "python_module_id", "python_parent_id": "python_parent_id", "scope": "scope",
    "sequence_nr": "sequence_nr", "shapes": "input_shapes", "stack": "stack",
    "structured_input_shapes": "structured_input_shapes", "structured_input_strides": "structured_input_strides",
    "start_thread_id": "thread", "end_thread_id": "thread",
}


class KinetoEvent:
    """One event; every fact about it is a method."""

    def __init__(self, event: Any, origin_ns: int) -> None:
        self._event = event
        self._origin_ns = origin_ns

    def __getattr__(self, name: str) -> Any:
        attribute = _ATTRIBUTES.get(name)
        if attribute is None:
            raise AttributeError(f"'_KinetoEvent' object has no attribute '{name}'")
        value = getattr(self._event, attribute)
        return lambda: value

    def name(self) -> str:
        return str(self._event.trace_name or self._event.name)

    def start_ns(self) -> int:
        """Since 1970."""
        return self._origin_ns + round(self._event.time_range.start * 1000)

    def end_ns(self) -> int:
        return self._origin_ns + round(self._event.time_range.end * 1000)

    def duration_ns(self) -> int:
        return self.end_ns() - self.start_ns()

    def nbytes(self) -> int:
        return int(self._event.cpu_memory_usage)

    def is_hidden_event(self) -> bool:
        return False

    def cuda_elapsed_us(self) -> int:
        return -1

    def privateuse1_elapsed_us(self) -> int:
        return -1

    def extra_meta(self) -> dict[str, str]:
        return {}

    def metadata_json(self) -> str:
        return ""


class ProfilerEvent:
    """A node of the event tree: a row of the store with its children."""

    def __init__(self, store: EventStore, row: int, children: dict[int, list[int]]) -> None:
        self._store, self._row, self._children = store, row, children

    @property
    def name(self) -> str:
        return self._store.name_of(self._row)

    @property
    def overload_name(self) -> str:
        return self._store.overload_of(self._row)

    @property
    def id(self) -> int:
        return self._row

    @property
    def correlation_id(self) -> int:
        return self._row + 1

    @property
    def children(self) -> list[ProfilerEvent]:
        return [ProfilerEvent(self._store, row, self._children) for row in self._children.get(self._row, ())]

    @property
    def parent(self) -> ProfilerEvent | None:
        row = int(self._store.parent[self._row])
        return ProfilerEvent(self._store, row, self._children) if row >= 0 else None

    @property
    def start_time_ns(self) -> int:
        return int(self._store.start_ns[self._row]) + self._store.metadata.epoch_offset_ns

    @property
    def end_time_ns(self) -> int:
        return int(self._store.end_ns[self._row]) + self._store.metadata.epoch_offset_ns

    @property
    def duration_time_ns(self) -> int:
        return self.end_time_ns - self.start_time_ns

    @property
    def start_tid(self) -> int:
        return self._store.threads[self._store.thread[self._row]].os_id

    @property
    def finished(self) -> bool:
        return not self._store.flags[self._row] & Flag.UNFINISHED

    @property
    def device_type(self) -> DeviceType:
        return DeviceType(int(self._store.device_type[self._row]))

    @property
    def tag(self) -> _EventType:
        kind = self._store.kind[self._row]
        if kind in (Kind.PYTHON, Kind.MODULE):
            return _EventType.PyCall
        return _EventType.PyCCall if kind in (Kind.BUILTIN, Kind.GC) else _EventType.TorchOp


class ProfilerResult:
    """The events of a window below the level of `events()`."""

    def __init__(self, store: EventStore) -> None:
        self._store = store

    def events(self) -> list[KinetoEvent]:
        """The events as objects whose facts are methods."""
        return [KinetoEvent(event, self.trace_start_ns()) for event in build_events(self._store)]

    def experimental_event_tree(self) -> list[ProfilerEvent]:
        """The roots of the tree of all rows, Python calls included."""
        children: dict[int, list[int]] = {}
        for row, parent in enumerate(self._store.parent.tolist()):
            children.setdefault(parent, []).append(row)
        return [ProfilerEvent(self._store, row, children) for row in children.get(-1, ())]

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the trace."""
        chrome_trace.write(shown_in_trace(self._store), path)

    def trace_start_ns(self) -> int:
        """When the window began, since 1970."""
        return self._store.metadata.start_ns + self._store.metadata.epoch_offset_ns
