"""Low-level access to a finished window, in the shape of PyTorch's `_ProfilerResult`."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from ..store.event_store import EventStore
from .function_event import metadata_json_of
from .results import Results

if TYPE_CHECKING:
    from .event_tree import _ProfilerEvent

# Methods of a low-level event that read an attribute of the same event in `events()`.
_ATTRIBUTES = {
    "activity_type": "activity_type",
    "concrete_inputs": "concrete_inputs",
    "device_index": "device_index",
    "device_resource_id": "device_resource_id",
    "device_type": "device_type",
    "dtypes": "input_dtypes",
    "external_id": "external_id",
    "correlation_id": "id",
    "flops": "flops",
    "flow_id": "flow_id",
    "flow_start": "flow_start",
    "flow_type": "flow_type",
    "fwd_thread_id": "fwd_thread",
    "is_async": "is_async",
    "is_python_function": "is_python_function",
    "is_user_annotation": "is_user_annotation",
    "kwinputs": "kwinputs",
    "linked_correlation_id": "linked_correlation_id",
    "overload_name": "overload_name",
    "python_id": "python_id",
    "python_module_id": "python_module_id",
    "python_parent_id": "python_parent_id",
    "scope": "scope",
    "sequence_nr": "sequence_nr",
    "shapes": "input_shapes",
    "stack": "stack",
    "structured_input_shapes": "structured_input_shapes",
    "structured_input_strides": "structured_input_strides",
    "start_thread_id": "thread",
    "end_thread_id": "thread",
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
        """What else a trace shows of the event, as members of a JSON object; asked for with
        `expose_kineto_event_metadata`.
        """
        return metadata_json_of(self._event)


class ProfilerResult:
    """The events of a window below the level of `events()`: PyTorch's names for what `Results` answers."""

    def __init__(self, results: Results) -> None:
        self.results = results

    @property
    def store(self) -> EventStore:
        return self.results.store

    def events(self) -> list[KinetoEvent]:
        """The events as objects whose facts are methods."""
        origin = self.results.start_ns()
        return [KinetoEvent(event, origin) for event in self.results.events()]

    def experimental_event_tree(self) -> list[_ProfilerEvent]:
        """The roots of the tree of everything recorded: operators, annotations, Python calls and allocations."""
        return list(self.results.event_tree.roots)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the trace."""
        self.results.export_chrome_trace(path)

    def trace_start_ns(self) -> int:
        """When the window began, since 1970."""
        return self.results.start_ns()
