"""`FunctionEvent`: one event with PyTorch's attributes, a view of a store or made by hand."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..analysis.source import KIND_NAMES, EventSource
from ..analysis.values import EventMetadata, FormattedTimesMixin, Interval, Kernel, as_lists, deprecated, plain_shapes
from ..record.enums import DeviceType
from ..record.kinds import Kind
from ..store.files import collector_paused

_GC_PAUSE_FROM = 10_000


class OwnValues:
    """The source of a single event that is no view: a list of one value per attribute."""

    is_store = False

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update((name, [value]) for name, value in values.items())


def _stored(name: str, read: Callable[[FunctionEvent], Any]) -> Any:
    """An attribute that is read from the event's source. Assigning to it gives the event its own values."""
    def assign(event: FunctionEvent, value: Any) -> None:
        event._detach()
        getattr(event._source, name)[0] = value
    _ATTRIBUTES.append(name)
    return property(read, assign)


def _looked_up(name: str, find: Callable[[EventSource, int], Any]) -> Any:
    """An attribute that has no list in a store's source because making it for all events would be wasteful."""
    def read(event: FunctionEvent) -> Any:
        source = event._source
        return find(source, event._index) if source.is_store else getattr(source, name)[0]
    return _stored(name, read)


def _of_inputs(name: str, part: Callable[[Any], Any]) -> Any:
    """A list made from the description of the arguments; empty where shapes were not asked for."""
    def find(source: EventSource, entry: int) -> Any:
        inputs = source.inputs(entry)
        return [] if inputs is None or not source.tree.store.metadata.options.describes_inputs else part(inputs)
    return _looked_up(name, find)


def _concrete(source: EventSource, entry: int) -> list[Any]:
    """The values of arguments. PyTorch gives numbers and lists of them; what a user gave to a scope is given as it is."""
    inputs = source.inputs(entry)
    if inputs is None or not source.tree.store.metadata.options.concrete_inputs:
        return []
    values = as_lists(inputs.values)
    return [None if isinstance(value, str) else value for value in values] if source.kind[entry] == Kind.OP else values


def _keywords(source: EventSource, entry: int) -> dict[str, Any]:
    inputs = source.inputs(entry)
    return {} if inputs is None else {key: as_lists(value) for key, value in inputs.keywords}


def _shown_in_trace(source: EventSource, entry: int) -> str:
    """What a trace shows of an event besides its arguments: its number there, which memory records and devices have none of."""
    tree = source.tree
    is_numbered = tree.store.metadata.options.event_metadata and tree.row[entry] >= 0 and tree.device_type[entry] == 0
    return f'"Ev Idx": {int(tree.host_number[entry])}' if is_numbered else ""


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


_ATTRIBUTES: list[str] = []
_SHOWN = (   # what `vars()` of an event shows: PyTorch's names, in its order
    "id", "node_id", "name", "overload_name", "trace_name", "time_range", "thread", "fwd_thread", "kernels", "count", "cpu_children",
    "cpu_parent", "input_shapes", "concrete_inputs", "kwinputs", "stack", "scope", "use_device", "cpu_memory_usage",
    "device_memory_usage", "is_async", "is_remote", "sequence_nr", "device_type", "device_index", "device_resource_id", "is_legacy",
    "flops", "is_user_annotation", "is_python_function", "activity_type", "self_cpu_percent", "total_cpu_percent",
    "total_device_percent", "_metadata_json", "flow_id", "flow_type", "flow_start", "external_id", "linked_correlation_id",
    "event_metadata", "structured_input_shapes", "structured_input_strides", "input_dtypes", "python_id", "python_parent_id",
    "python_module_id")


class _Held:
    """What an event really has; see `FunctionEvent.__dict__`."""

    __slots__ = ("_source", "_index", "__dict__")
    _source: Any
    _index: int


_own_attributes: Callable[[Any], dict[str, Any]] = vars(_Held)["__dict__"].__get__


class FunctionEvent(FormattedTimesMixin, _Held):
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

    name = _stored("name", lambda event: event._source.name[event._index])
    trace_name = _stored("trace_name", lambda event: event._source.trace_name[event._index])
    overload_name = _stored("overload_name", lambda event: event._source.overload_name[event._index])
    thread = _stored("thread", lambda event: event._source.thread[event._index])
    fwd_thread = _stored("fwd_thread", lambda event: event._source.fwd_thread[event._index])
    scope = _stored("scope", lambda event: event._source.scope[event._index])
    sequence_nr = _stored("sequence_nr", lambda event: event._source.sequence_nr[event._index])
    device_type = _stored("device_type", lambda event: event._source.device_type[event._index])
    device_resource_id = _stored("device_resource_id", lambda event: event._source.device_resource_id[event._index])
    is_async = _stored("is_async", lambda event: event._source.is_async[event._index])
    is_user_annotation = _stored("is_user_annotation", lambda event: event._source.is_user_annotation[event._index])
    flops = _stored("flops", lambda event: event._source.flops[event._index])
    cpu_memory_usage = _stored("cpu_memory_usage", lambda event: event._source.cpu_memory_usage[event._index])
    device_memory_usage = _stored("device_memory_usage", lambda event: event._source.device_memory_usage[event._index])

    id = _looked_up("id", lambda source, entry: entry + 1)
    external_id = _looked_up("external_id", lambda source, entry: entry + 1)
    time_range = _looked_up("time_range", lambda source, entry: Interval(source.start_us[entry], source.end_us[entry]))
    device_index = _looked_up("device_index", lambda source, entry: source.device_index(entry))
    use_device = _looked_up("use_device", lambda source, entry: source.tree.store.metadata.use_device)
    activity_type = _looked_up("activity_type", lambda source, entry: source.activity_type(entry))
    stack = _looked_up("stack", lambda source, entry: source.stack(entry))
    input_shapes = _of_inputs("input_shapes", lambda inputs: plain_shapes(inputs.shapes))
    structured_input_shapes = _of_inputs("structured_input_shapes", lambda inputs: as_lists(inputs.shapes))
    structured_input_strides = _of_inputs("structured_input_strides", lambda inputs: as_lists(inputs.strides))
    input_dtypes = _of_inputs("input_dtypes", lambda inputs: list(inputs.types))
    concrete_inputs = _looked_up("concrete_inputs", _concrete)
    kwinputs = _looked_up("kwinputs", _keywords)
    cpu_parent = _looked_up(
        "cpu_parent", lambda source, entry: event_of(source, source.parent[entry]) if source.parent[entry] >= 0 else None)
    cpu_children = _looked_up("cpu_children", lambda source, entry: [event_of(source, c) for c in source.tree.children(entry)])
    flow_id = _looked_up("flow_id", lambda source, entry: source.flow_of_entry.get(entry, (0, False))[0])
    flow_type = _looked_up("flow_type", lambda source, entry: int(entry in source.flow_of_entry))
    flow_start = _looked_up("flow_start", lambda source, entry: source.flow_of_entry.get(entry, (0, False))[1])
    node_id = _looked_up("node_id", lambda source, entry: -1)
    count = _looked_up("count", lambda source, entry: 1)
    kernels = _looked_up("kernels", lambda source, entry: source.kernels(entry))
    is_remote = _looked_up("is_remote", lambda source, entry: False)
    is_legacy = _looked_up("is_legacy", lambda source, entry: False)
    is_python_function = _looked_up("is_python_function", lambda source, entry: False)
    linked_correlation_id = _looked_up("linked_correlation_id", lambda source, entry: int(source.tree.owner[entry]) + 1)
    extra_meta = _looked_up("extra_meta", lambda source, entry: None)
    event_metadata: EventMetadata | None = _looked_up("event_metadata", lambda source, entry: None)
    _metadata_json = _looked_up("_metadata_json", _shown_in_trace)
    python_id = _looked_up("python_id", lambda source, entry: -1)
    python_parent_id = _looked_up("python_parent_id", lambda source, entry: -1)
    python_module_id = _looked_up("python_module_id", lambda source, entry: -1)

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, overload_name: str | None = None,
        fwd_thread: int | None = None, input_shapes: Any = None, stack: list[str] | None = None, scope: int = 0,
        use_device: str | None = None, cpu_memory_usage: int = 0, device_memory_usage: int = 0, is_async: bool = False,
        is_remote: bool = False, sequence_nr: int = -1, node_id: int = -1, device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0, device_resource_id: int | None = None, is_legacy: bool = False, flops: int | None = None,
        trace_name: str | None = None, concrete_inputs: Any = None, kwinputs: Any = None, is_user_annotation: bool = False,
        is_python_function: bool = False, activity_type: str | None = None, metadata_json: Any = None,
        flow_id: int | None = None, flow_type: int | None = None, flow_start: bool | None = None, external_id: int = 0,
        linked_correlation_id: int = 0, extra_meta: Any = None, structured_input_shapes: Any = None,
        structured_input_strides: Any = None, input_dtypes: Any = None, python_id: int = -1, python_parent_id: int = -1,
        python_module_id: int = -1,
    ) -> None:
        values = dict(locals())
        for consumed in ("self", "start_us", "end_us", "metadata_json"):
            del values[consumed]
        values |= {"time_range": Interval(start_us, end_us), "_metadata_json": metadata_json, "event_metadata": None,
                   "count": 1, "kernels": [], "cpu_children": [], "cpu_parent": None,
                   "device_resource_id": thread if device_resource_id is None else device_resource_id}
        self._source = OwnValues(values)
        self._index = 0

    def _detach(self) -> None:
        """Stop being a view."""
        if self._source.is_store:
            self._source = OwnValues({name: getattr(self, name) for name in _ATTRIBUTES})
            self._index = 0

    def __getstate__(self) -> tuple[Any, ...]:
        return self._source, self._index, dict(_own_attributes(self))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._source, self._index = state[:2]
        _own_attributes(self).update(state[2])

    @property  # type: ignore[misc]
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """PyTorch's attributes and whatever else was assigned, as a new dictionary: what `vars(event)` gives. It is worked out
        when asked for; changing it does not change the event."""
        return {name: getattr(self, name) for name in _SHOWN} | _own_attributes(self)

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
        deprecated("`cuda_time_total` is deprecated. Use `device_time_total` instead.")
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        deprecated("`self_cuda_time_total` is deprecated. Use `self_device_time_total` instead.")
        return self.self_device_time_total

    @property
    def self_cuda_memory_usage(self) -> int:
        deprecated("`self_cuda_memory_usage` is deprecated. Use `self_device_memory_usage` instead.")
        return self.self_device_memory_usage

    @property
    def metadata_json(self) -> Any:
        deprecated("`metadata_json` is deprecated. Use `event_metadata` instead.")
        return self._metadata_json

    # ---- as a mapping ---------------------------------------------------------------------------------------

    def keys(self) -> list[str]:
        """The keys that this event answers to; what was not recorded is not among them."""
        keys = list(_KEYS)
        if not self._source.is_store:
            return [key for key in keys if key != "step"] + [key for key in ("input_shapes", "stack") if getattr(self, key) is not None]
        metadata = self._source.tree.store.metadata
        keys += ["input_shapes"] * metadata.options.record_shapes + ["stack"] * metadata.options.with_stack
        if metadata.options.profile_memory:
            for device in ("cpu", *([metadata.use_device] if metadata.use_device else ())):
                keys += [f"{device}_memory_allocated_{moment}" for moment in ("before", "after", "delta")]
        return keys

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __getitem__(self, key: str) -> Any:
        simple = _KEYS.get(key)
        if simple is not None and (self._source.is_store or key != "step"):
            return simple(self)
        if not isinstance(key, str) or key not in self:
            raise KeyError(key)
        if key in ("input_shapes", "stack"):
            return getattr(self, key)
        before, after = self._source.live_bytes(self._index, key.startswith("cpu_"))
        return {"before": before, "after": after, "delta": after - before}[key.rpartition("_")[2]]

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __repr__(self) -> str:
        device = self.use_device
        children = str([child.id for child in self.cpu_children])
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} device_type={self.device_type} "
            f"node_id={self.node_id} cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={children} {device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
            f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>")


def _kind(event: FunctionEvent) -> str:
    if event._source.is_store:
        return KIND_NAMES[event._source.kind[event._index]]
    return "scope" if event.is_user_annotation else "op"


def _nanoseconds(column: str) -> Callable[[FunctionEvent], int]:
    def read(event: FunctionEvent) -> int:
        if event._source.is_store:
            return getattr(event._source, f"{column}_ns")[event._index]
        return round(getattr(event.time_range, column) * 1000)
    return read


_start_ns, _end_ns = _nanoseconds("start"), _nanoseconds("end")
_KEYS: dict[str, Callable[[FunctionEvent], Any]] = {
    "name": lambda event: event.name,
    "kind": _kind,
    "device_type": lambda event: event.device_type.name,
    "step": lambda event: event._source.step[event._index],
    "thread_id": lambda event: event.device_resource_id,
    "start_ns": _start_ns,
    "end_ns": _end_ns,
    "duration_ns": lambda event: _end_ns(event) - _start_ns(event),
    "correlation_id": lambda event: event.id,
}
