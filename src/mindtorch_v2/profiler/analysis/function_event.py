"""`FunctionEvent`: one event with PyTorch's attributes, a view of a store or made by hand."""
from __future__ import annotations

import collections
import itertools
from typing import Any, Callable, Iterator, Sequence

from .._enums import DeviceType
from .source import KIND_NAMES, EventSource
from .values import EventMetadata, FormattedTimesMixin, Interval, Kernel, deprecated

_SHOWN_ONLY = frozenset({"self_cpu_percent", "total_cpu_percent", "total_device_percent"})


class _Stored:
    """An attribute that a view reads from its source and that assignment replaces: it defines no `__set__`, so a value
    in the event's own dictionary goes before it. Events made by hand have all their attributes there."""

    def __init__(self, read: Callable[[EventSource, int], Any]) -> None:
        self.read = read

    def __get__(self, event: FunctionEvent | None, owner: type | None = None) -> Any:
        return self if event is None else self.read(event._source, event._index)  # type: ignore[arg-type]


class _Listed:
    """The same for an attribute that is one list of the source: one call less, for those that loops read."""

    def __init__(self, column: str) -> None:
        self.column = column

    def __get__(self, event: FunctionEvent | None, owner: type | None = None) -> Any:
        return self if event is None else getattr(event._source, self.column)[event._index]


def _listed(column: str) -> Any:
    return _Listed(column)


def _of_inputs(part: Callable[[Any], Any], empty: Callable[[], Any] = list) -> Any:
    """An attribute made from the description of the arguments; empty where none was recorded."""
    def read(source: EventSource, entry: int) -> Any:
        inputs = source.inputs(entry)
        return empty() if inputs is None else part(inputs)
    return _Stored(read)


def as_lists(value: Any) -> Any:
    """Tuples as lists, all the way down: what PyTorch returns and JSON writes."""
    return [as_lists(item) for item in value] if isinstance(value, (tuple, list)) else value


def plain_shapes(shapes: tuple[Any, ...]) -> list[list[int]]:
    """Dimensions per argument; a list of tensors counts as no tensor."""
    return [list(shape) if not shape or isinstance(shape[0], int) else [] for shape in shapes]


def event_of(source: EventSource, entry: int) -> FunctionEvent:
    """The event of an entry: the very object in the list of all events while that exists, else a new view."""
    events = source.all_events() if source.all_events is not None else None
    if events is not None and entry < len(events):
        found = list.__getitem__(events, entry)
        if found._source is source and found._index == entry:
            return found
    return views_of(source, [entry])[0]


def views_of(source: EventSource, entries: Sequence[int]) -> list[FunctionEvent]:
    """New views of entries. All steps run in C: making a million views must not take a second."""
    made = list(map(object.__new__, itertools.repeat(FunctionEvent, len(entries))))
    collections.deque(map(_set_source, made, itertools.repeat(source)), maxlen=0)
    collections.deque(map(_set_index, made, entries), maxlen=0)
    return made


class FunctionEvent(FormattedTimesMixin):
    """An operator call, a node of the autograd engine, an annotation, or a memory record.

    It answers to PyTorch's attributes and, as a mapping, to the keys `name`, `kind` ("op", "scope" or "memory"),
    `device_type`, `step`, `thread_id`, `start_ns`, `end_ns`, `duration_ns`, `correlation_id`, and, where recorded,
    `input_shapes`, `stack` and `cpu_memory_allocated_before/_after/_delta` (and the same of a device).
    Two views of the same event are equal.
    """

    __slots__ = ("_source", "_index", "__dict__")
    _source: EventSource | None
    _index: int
    _changed: bool = False  # an attribute was assigned: averages must read this object and not the store

    # ---- attributes -----------------------------------------------------------------------------------------
    node_id: int = -1
    count: int = 1
    is_remote: bool = False
    is_legacy: bool = False
    linked_correlation_id: int = 0
    extra_meta: Any = None
    event_metadata: EventMetadata | None = None
    _metadata_json: Any = None
    is_python_function: bool = False
    python_id: int = -1
    python_parent_id: int = -1
    python_module_id: int = -1
    self_cpu_percent: Any = -1
    total_cpu_percent: Any = -1
    total_device_percent: Any = -1

    id: int = _Stored(lambda source, entry: entry + 1)  # type: ignore[assignment]
    external_id: int = _Stored(lambda source, entry: entry + 1)  # type: ignore[assignment]
    name: str = _listed("name")
    trace_name: str | None = _listed("trace_name")
    overload_name: str | None = _listed("overload_name")
    time_range: Interval = _Stored(  # type: ignore[assignment]
        lambda source, entry: Interval(source.start_us[entry], source.end_us[entry]))
    thread: int = _listed("thread")
    fwd_thread: int | None = _listed("forward_thread")
    scope: int = _listed("scope")
    sequence_nr: int = _listed("sequence_nr")
    device_type: DeviceType = _listed("device_type")
    device_index: int = _Stored(lambda source, entry: source.tree.store.metadata.pid)  # type: ignore[assignment]
    device_resource_id: int = _listed("os_thread")
    use_device: str | None = _Stored(lambda source, entry: source.tree.store.metadata.use_device)  # type: ignore[assignment]
    is_async: bool = _listed("is_async")
    is_user_annotation: bool = _listed("is_annotation")
    activity_type: str = _Stored(  # type: ignore[assignment]
        lambda source, entry: "user_annotation" if source.is_annotation[entry] else "cpu_op")
    flops: int | None = _listed("flops")
    cpu_memory_usage: int = _listed("cpu_bytes")
    device_memory_usage: int = _listed("device_bytes")
    kernels: list[Kernel] = _Stored(lambda source, entry: [])  # type: ignore[assignment]
    stack: list[str] | None = _Stored(lambda source, entry: source.stack(entry))  # type: ignore[assignment]
    input_shapes: Any = _of_inputs(lambda inputs: plain_shapes(inputs.shapes))
    structured_input_shapes: Any = _of_inputs(lambda inputs: as_lists(inputs.shapes))
    structured_input_strides: Any = _of_inputs(lambda inputs: as_lists(inputs.strides))
    input_dtypes: Any = _of_inputs(lambda inputs: list(inputs.types))
    concrete_inputs: Any = _of_inputs(lambda inputs: as_lists(inputs.values))
    kwinputs: Any = _of_inputs(lambda inputs: {key: as_lists(value) for key, value in inputs.keywords}, dict)
    cpu_parent: FunctionEvent | None = _Stored(  # type: ignore[assignment]
        lambda source, entry: event_of(source, source.parent[entry]) if source.parent[entry] >= 0 else None)
    cpu_children: list[FunctionEvent] = _Stored(  # type: ignore[assignment]
        lambda source, entry: [event_of(source, child) for child in source.tree.children(entry)])
    flow_id: int | None = _Stored(lambda source, entry: source.flow_of_entry.get(entry, (0, False))[0])  # type: ignore[assignment]
    flow_type: int | None = _Stored(lambda source, entry: int(entry in source.flow_of_entry))  # type: ignore[assignment]
    flow_start: bool | None = _Stored(lambda source, entry: source.flow_of_entry.get(entry, (0, False))[1])  # type: ignore[assignment]

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
        given = dict(locals())
        for consumed in ("self", "start_us", "end_us", "metadata_json"):
            del given[consumed]
        _set_source(self, None)
        self.__dict__.update(
            given, _changed=True, time_range=Interval(start_us, end_us), _metadata_json=metadata_json, count=1, kernels=[], cpu_children=[],
            cpu_parent=None, device_resource_id=thread if device_resource_id is None else device_resource_id)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name not in _SHOWN_ONLY:
            self.__dict__["_changed"] = True

    def __getstate__(self) -> tuple[Any, ...]:
        return self._source, self._index if self._source is not None else 0, dict(self.__dict__)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _set_source(self, state[0])
        _set_index(self, state[1])
        self.__dict__.update(state[2])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (isinstance(other, FunctionEvent) and self._source is not None and self._source is other._source
                and self._index == other._index)

    def __hash__(self) -> int:
        return object.__hash__(self) if self._source is None else hash((id(self._source), self._index))

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
        if not self._changed:
            return self._source.total_us[self._index]  # type: ignore[union-attr]
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> float:
        if not self._changed:
            return self._source.self_us[self._index]  # type: ignore[union-attr]
        if self.is_async or self.device_type != DeviceType.CPU:
            return 0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        if not self.use_device or self.is_async:
            return 0
        if self.device_type != DeviceType.CPU:
            return self.time_range.elapsed_us()
        own = sum(kernel.duration for kernel in self.kernels)
        return own if self.is_legacy else own + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self) -> float:
        if not self.use_device or self.is_async:
            return 0
        if self.device_type != DeviceType.CPU:
            return self.device_time_total
        return self.device_time_total - sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        if not self._changed:
            return self._source.self_cpu_bytes[self._index]  # type: ignore[union-attr]
        if self.is_async or self.device_type != DeviceType.CPU:
            return 0
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> int:
        if not self._changed:
            return self._source.self_device_bytes[self._index]  # type: ignore[union-attr]
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
        if self._source is None:
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
        if simple is not None and (self._source is not None or key != "step"):
            return simple(self)
        if not isinstance(key, str) or key not in self:
            raise KeyError(key)
        if key in ("input_shapes", "stack"):
            return getattr(self, key)
        before, after = self._source.live_bytes(self._index, key.startswith("cpu_"))  # type: ignore[union-attr]
        return {"before": before, "after": after, "delta": after - before}[key.rpartition("_")[2]]

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

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
    if event._source is not None:
        return KIND_NAMES[event._source.kind[event._index]]
    return "scope" if event.is_user_annotation else "op"


def _nanoseconds(column: str) -> Callable[[FunctionEvent], int]:
    def read(event: FunctionEvent) -> int:
        if event._source is not None:
            return getattr(event._source, f"{column}_ns")[event._index]
        return round(getattr(event.time_range, column) * 1000)
    return read


_start_ns, _end_ns = _nanoseconds("start"), _nanoseconds("end")
_KEYS: dict[str, Callable[[FunctionEvent], Any]] = {
    "name": lambda event: event.name,
    "kind": _kind,
    "device_type": lambda event: event.device_type.name,
    "step": lambda event: event._source.step[event._index],  # type: ignore[union-attr]
    "thread_id": lambda event: event.device_resource_id,
    "start_ns": _start_ns,
    "end_ns": _end_ns,
    "duration_ns": lambda event: _end_ns(event) - _start_ns(event),
    "correlation_id": lambda event: event.id,
}
# The members of the slots, so that a view is made without passing through `__setattr__`.
_set_source: Any = FunctionEvent.__dict__["_source"].__set__
_set_index: Any = FunctionEvent.__dict__["_index"].__set__
