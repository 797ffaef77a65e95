"""`FunctionEvent`: one event with PyTorch's attributes, a view of a store or made by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ..analysis.formatting import printable
from ..analysis.source import EventSource
from ..analysis.values import (
    EventMetadata,
    FormattedTimesMixin,
    Interval,
    Kernel,
    as_lists,
    plain_shapes,
    warn_deprecated,
)
from ..record.enums import DeviceType
from ..store.files import collector_paused
from .event_attributes import (
    STORED_ATTRIBUTES,
    VARS_NAMES,
    OwnValues,
    concrete_inputs_of,
    keywords_of,
    looked_up,
    metadata_of,
    of_inputs,
    stored,
)
from .event_mapping import EventMapping

_GC_PAUSE_FROM = 10_000


def event_of(source: EventSource, entry: int) -> FunctionEvent:
    """The event of an entry: the very object in the list of all events while that exists, else a new view."""
    events = source.all_events() if source.all_events is not None else None
    if events is not None and entry < len(events):
        found = list.__getitem__(events, entry)
        if found._source is source and found._index == entry:
            return found
    return views_of(source, (entry,))[0]


def views_of(source: EventSource, entries: Sequence[int]) -> list[FunctionEvent]:
    """New views of entries."""
    made: list[FunctionEvent] = []
    append, new = made.append, object.__new__
    with collector_paused() if len(entries) > _GC_PAUSE_FROM else contextlib.nullcontext():
        for entry in entries:
            event = new(FunctionEvent)
            event._source = source
            event._index = entry
            append(event)
    return made


class _Slots:
    """What an event really has; see `FunctionEvent.__dict__`."""

    __slots__ = ("_source", "_index", "__dict__")
    _source: Any
    _index: int


_own_attributes: Callable[[Any], dict[str, Any]] = vars(_Slots)["__dict__"].__get__


class FunctionEvent(FormattedTimesMixin, EventMapping, _Slots):
    """An operator call, a node of the autograd engine, an annotation, or a memory record.

    It answers to PyTorch's attributes and, as a mapping, to the keys `name`, `kind` ("op", "scope" or "memory"),
    `device_type`, `step`, `thread_id`, `start_ns`, `end_ns`, `duration_ns`, `correlation_id`, and, where recorded,
    `input_shapes`, `stack` and `cpu_memory_allocated_before/_after/_delta` (and the same of a device).

    Events of a profile are views: they hold a source and a number, and read what they are asked for. An event made by
    hand, and a view that is assigned to, has its own values. Two views of the same event are equal.
    """

    __slots__ = ()

    # What a table notes on the events that it printed. Not part of the event's value.
    self_cpu_percent: Any = -1
    total_cpu_percent: Any = -1
    total_device_percent: Any = -1

    name = stored("name", lambda event: event._source.name[event._index])
    trace_name = stored("trace_name", lambda event: event._source.trace_name[event._index])
    overload_name = stored("overload_name", lambda event: event._source.overload_name[event._index])
    thread = stored("thread", lambda event: event._source.thread[event._index])
    fwd_thread = stored("fwd_thread", lambda event: event._source.fwd_thread[event._index])
    scope = stored("scope", lambda event: event._source.scope[event._index])
    sequence_nr = stored("sequence_nr", lambda event: event._source.sequence_nr[event._index])
    device_type = stored("device_type", lambda event: event._source.device_type[event._index])
    device_resource_id = stored("device_resource_id", lambda event: event._source.device_resource_id[event._index])
    is_async = stored("is_async", lambda event: event._source.is_async[event._index])
    is_user_annotation = stored("is_user_annotation", lambda event: event._source.is_user_annotation[event._index])
    flops = stored("flops", lambda event: event._source.flops[event._index])
    cpu_memory_usage = stored("cpu_memory_usage", lambda event: event._source.cpu_memory_usage[event._index])
    device_memory_usage = stored("device_memory_usage", lambda event: event._source.device_memory_usage[event._index])

    id = looked_up("id", lambda source, entry: entry + 1)
    external_id = looked_up("external_id", lambda source, entry: entry + 1)
    time_range = looked_up("time_range", lambda source, entry: Interval(source.start_us[entry], source.end_us[entry]))
    device_index = looked_up("device_index", lambda source, entry: source.device_index(entry))
    use_device = looked_up("use_device", lambda source, entry: source.tree.store.metadata.use_device)
    activity_type = looked_up("activity_type", lambda source, entry: source.activity_type(entry))
    stack = looked_up("stack", lambda source, entry: source.stack(entry))
    input_shapes = of_inputs("input_shapes", lambda inputs: plain_shapes(inputs.shapes))
    structured_input_shapes = of_inputs("structured_input_shapes", lambda inputs: as_lists(inputs.shapes))
    structured_input_strides = of_inputs("structured_input_strides", lambda inputs: as_lists(inputs.strides))
    input_dtypes = of_inputs("input_dtypes", lambda inputs: list(inputs.types))
    concrete_inputs = looked_up("concrete_inputs", concrete_inputs_of)
    kwinputs = looked_up("kwinputs", keywords_of)
    cpu_parent = looked_up(
        "cpu_parent",
        lambda source, entry: event_of(source, source.parent[entry]) if source.parent[entry] >= 0 else None,
    )
    cpu_children = looked_up(
        "cpu_children", lambda source, entry: [event_of(source, c) for c in source.tree.children(entry)]
    )
    flow_id = looked_up("flow_id", lambda source, entry: source.flow_of_entry.get(entry, (0, False))[0])
    flow_type = looked_up("flow_type", lambda source, entry: int(entry in source.flow_of_entry))
    flow_start = looked_up("flow_start", lambda source, entry: source.flow_of_entry.get(entry, (0, False))[1])
    node_id = looked_up("node_id", lambda source, entry: -1)
    count = looked_up("count", lambda source, entry: 1)
    kernels = looked_up("kernels", lambda source, entry: source.kernels(entry))
    is_remote = looked_up("is_remote", lambda source, entry: False)
    is_legacy = looked_up("is_legacy", lambda source, entry: False)
    is_python_function = looked_up("is_python_function", lambda source, entry: False)
    linked_correlation_id = looked_up("linked_correlation_id", lambda source, entry: int(source.tree.owner[entry]) + 1)
    extra_meta = looked_up("extra_meta", lambda source, entry: None)
    event_metadata: EventMetadata | None = looked_up("event_metadata", lambda source, entry: None)
    _metadata_json = looked_up("_metadata_json", metadata_of)
    python_id = looked_up("python_id", lambda source, entry: -1)
    python_parent_id = looked_up("python_parent_id", lambda source, entry: -1)
    python_module_id = looked_up("python_module_id", lambda source, entry: -1)

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: list[str] | None = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: Any = None,
        kwinputs: Any = None,
        is_user_annotation: bool = False,
        is_python_function: bool = False,
        activity_type: str | None = None,
        metadata_json: Any = None,
        flow_id: int | None = None,
        flow_type: int | None = None,
        flow_start: bool | None = None,
        external_id: int = 0,
        linked_correlation_id: int = 0,
        extra_meta: Any = None,
        structured_input_shapes: Any = None,
        structured_input_strides: Any = None,
        input_dtypes: Any = None,
        python_id: int = -1,
        python_parent_id: int = -1,
        python_module_id: int = -1,
    ) -> None:
        values = dict(locals())
        for consumed in ("self", "start_us", "end_us", "metadata_json"):
            del values[consumed]
        values |= {
            "time_range": Interval(start_us, end_us),
            "_metadata_json": metadata_json,
            "event_metadata": None,
            "count": 1,
            "kernels": [],
            "cpu_children": [],
            "cpu_parent": None,
            "device_resource_id": thread if device_resource_id is None else device_resource_id,
        }
        self._source = OwnValues(values)
        self._index = 0

    def _detach(self) -> None:
        """Stop being a view."""
        if self._source.is_store:
            self._source = OwnValues({name: getattr(self, name) for name in STORED_ATTRIBUTES})
            self._index = 0

    def __getstate__(self) -> tuple[Any, ...]:
        return self._source, self._index, dict(_own_attributes(self))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._source, self._index = state[:2]
        _own_attributes(self).update(state[2])

    @property  # type: ignore[misc]
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """PyTorch's attributes and whatever else was assigned, as a new dictionary: what `vars(event)` gives. It is
        worked out when asked for; changing it does not change the event.
        """
        return {name: getattr(self, name) for name in VARS_NAMES} | _own_attributes(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionEvent) and self._source is other._source and self._index == other._index

    def __hash__(self) -> int:
        return hash((id(self._source), self._index))

    # ---- building by hand -----------------------------------------------------------------------------------

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        self._expect_cpu()
        self.kernels = [*self.kernels, Kernel(name, device, duration)]

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Adopt `child`; the caller tells the child with `set_cpu_parent`."""
        self._expect_cpu()
        child._expect_cpu()
        self.cpu_children = [*self.cpu_children, child]

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        self._expect_cpu()
        parent._expect_cpu()
        self.cpu_parent = parent

    def _expect_cpu(self) -> None:
        if self.device_type != DeviceType.CPU:
            raise AssertionError("Expected device_type to be CPU")

    # ---- derived --------------------------------------------------------------------------------------------

    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        if self._source.is_store:
            return self._source.total_us[self._index]
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    covered_us = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        if self._source.is_store:
            return self._source.self_us[self._index]
        if self.is_async or self.device_type != DeviceType.CPU:
            return 0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        if not self.use_device or self.is_async:
            return 0
        if self._source.is_store:
            return self._source.device_us[self._index]
        if self.device_type != DeviceType.CPU:
            return self.time_range.elapsed_us()
        own = sum(kernel.duration for kernel in self.kernels)
        return own if self.is_legacy else own + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:
        if not self.use_device or self.is_async:
            return 0
        if self._source.is_store:
            return self._source.self_device_us[self._index]
        if self.device_type != DeviceType.CPU:
            return self.device_time_total
        return self.device_time_total - sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        if self._source.is_store:
            return self._source.self_cpu_bytes[self._index]
        if self.is_async or self.device_type != DeviceType.CPU:
            return 0
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        if self._source.is_store:
            return self._source.self_device_bytes[self._index]
        if self.is_async or self.device_type != DeviceType.CPU:
            return 0
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    @property
    def cuda_time_total(self) -> float:
        warn_deprecated("`cuda_time_total` is deprecated. Use `device_time_total` instead.")
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        warn_deprecated("`self_cuda_time_total` is deprecated. Use `self_device_time_total` instead.")
        return self.self_device_time_total

    @property
    def self_cuda_memory_usage(self) -> int:
        warn_deprecated("`self_cuda_memory_usage` is deprecated. Use `self_device_memory_usage` instead.")
        return self.self_device_memory_usage

    @property
    def metadata_json(self) -> Any:
        warn_deprecated("`metadata_json` is deprecated. Use `event_metadata` instead.")
        return self._metadata_json

    def __repr__(self) -> str:
        device = self.use_device
        children = str([child.id for child in self.cpu_children])
        name = printable(self.name)
        return (
            f"<FunctionEvent id={self.id} name={name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} cpu_children={children} "
            f"{device}_time={self.device_time_str} name={name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage} "
            f"is_async={self.is_async} is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


def metadata_json_of(event: FunctionEvent) -> str:
    """What `event.metadata_json` is, without its warning; "" where there is nothing."""
    return str(event._metadata_json or "")
