"""Attributes of `FunctionEvent`: read from a store's source until someone assigns to one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..analysis.source import EventSource
from ..analysis.values import as_lists
from ..record.kinds import Kind

_Event = Any  # a FunctionEvent
STORED_ATTRIBUTES: list[str] = []  # names of all attributes that `stored` made


class OwnValues:
    """The source of a single event that is not a view: a list of one value per attribute."""

    is_store = False

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update((name, [value]) for name, value in values.items())


def stored(name: str, read: Callable[[_Event], Any]) -> Any:
    """An attribute that is read from the event's source. Assigning to it gives the event its own values."""

    def assign(event: _Event, value: Any) -> None:
        event._detach()
        getattr(event._source, name)[0] = value

    STORED_ATTRIBUTES.append(name)
    return property(read, assign)


def looked_up(name: str, find: Callable[[EventSource, int], Any]) -> Any:
    """An attribute that has no list in a store's source because making it for all events would be wasteful."""

    def read(event: _Event) -> Any:
        source = event._source
        return find(source, event._index) if source.is_store else getattr(source, name)[0]

    return stored(name, read)


def of_inputs(name: str, part: Callable[[Any], Any]) -> Any:
    """A list made from the description of the arguments; empty where shapes were not asked for."""

    def find(source: EventSource, entry: int) -> Any:
        inputs = source.inputs(entry)
        return [] if inputs is None or not source.tree.store.metadata.options.describes_inputs else part(inputs)

    return looked_up(name, find)


def concrete_inputs_of(source: EventSource, entry: int) -> list[Any]:
    """The values of arguments.

    PyTorch gives numbers and lists of them; what a user gave to a scope is given as it is.
    """
    inputs = source.inputs(entry)
    if inputs is None or not source.tree.store.metadata.options.concrete_inputs:
        return []
    values = as_lists(inputs.values)
    return [None if isinstance(value, str) else value for value in values] if source.kind[entry] == Kind.OP else values


def keywords_of(source: EventSource, entry: int) -> dict[str, Any]:
    inputs = source.inputs(entry)
    return {} if inputs is None else {key: as_lists(value) for key, value in inputs.keywords}


def metadata_of(source: EventSource, entry: int) -> str:
    """What a trace shows of an event besides its arguments: its index there, which memory records and devices have
    none of.
    """
    tree = source.tree
    has_index = tree.store.metadata.options.event_metadata and tree.row[entry] >= 0 and tree.device_type[entry] == 0
    return f'"Ev Idx": {int(tree.host_index[entry])}' if has_index else ""


VARS_NAMES = (  # what `vars()` of an event shows: PyTorch's names, in its order
    "id",
    "node_id",
    "name",
    "overload_name",
    "trace_name",
    "time_range",
    "thread",
    "fwd_thread",
    "kernels",
    "count",
    "cpu_children",
    "cpu_parent",
    "input_shapes",
    "concrete_inputs",
    "kwinputs",
    "stack",
    "scope",
    "use_device",
    "cpu_memory_usage",
    "device_memory_usage",
    "is_async",
    "is_remote",
    "sequence_nr",
    "device_type",
    "device_index",
    "device_resource_id",
    "is_legacy",
    "flops",
    "is_user_annotation",
    "is_python_function",
    "activity_type",
    "self_cpu_percent",
    "total_cpu_percent",
    "total_device_percent",
    "_metadata_json",
    "flow_id",
    "flow_type",
    "flow_start",
    "external_id",
    "linked_correlation_id",
    "event_metadata",
    "structured_input_shapes",
    "structured_input_strides",
    "input_dtypes",
    "python_id",
    "python_parent_id",
    "python_module_id",
)
