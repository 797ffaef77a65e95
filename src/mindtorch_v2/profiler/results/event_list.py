"""`EventList`: the list of events or of averages that a profile answers with."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np

from ..analysis.source import EventSource
from ..analysis.summary import summarize_views
from ..analysis.tree import EventTree
from ..export.simple_trace import write_simple_trace
from ..export.stacks import STACK_METRICS, write_stacks
from ..export.table import build_table, device_attribute
from ..record.enums import DeviceType
from ..store.event_store import EventStore
from .averages import average_entries, average_events, total_of_entries
from .function_event import FunctionEvent, views_of
from .function_event_avg import FunctionEventAvg
from .nesting import collapse_repeats, link_parents


class EventList(list):
    """A list of `FunctionEvent` or `FunctionEventAvg` that can print, group and export itself.

    Slices, sums and copies are EventLists too. `str()` is the table.
    """

    def __init__(
        self,
        *args: Any,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
        dropped_events: int = 0,
    ) -> None:
        super().__init__(*args)
        self._dropped_events = dropped_events
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False

    # ---- staying an EventList -------------------------------------------------------------------------------

    def _like(self, items: Iterable[Any]) -> Any:
        made = type(self)(
            items, use_device=self._use_device, profile_memory=self._profile_memory, with_flops=self._with_flops
        )
        made.__dict__.update(self.__dict__)
        return made

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return self._like(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return self._like(super().__add__(other))

    def __mul__(self, times: SupportsIndex) -> Any:
        return self._like(super().__mul__(times))

    __rmul__ = __mul__

    def copy(self) -> Any:
        return self._like(self)

    __copy__ = copy

    def __str__(self) -> str:
        return self.table()

    # ---- numbers --------------------------------------------------------------------------------------------

    @property
    def self_cpu_time_total(self) -> Any:
        """The sum of the elements' own times, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def total_average(self) -> FunctionEventAvg:
        """All elements as one group under the key "Total"."""
        views = self._views()
        if views is not None and len(self):
            total = total_of_entries(*views)
        else:
            total = FunctionEventAvg()
            for event in self:
                total.key = None  # so that the next addition is the first again and takes any key
                total.add(event)
        total.key = "Total"
        return total

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> _KeyAverages:
        """The events grouped by name (and device and kind), and, where asked for, by input shapes, by the innermost
        `group_by_stack_n` frames, by overload; groups are in the order of their first events."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        by: dict[str, Any] = {
            "by_shape": group_by_input_shapes,
            "stack_n": group_by_stack_n,
            "by_overload": group_by_overload_name,
        }
        views = self._views()
        rows = average_entries(*views, **by) if views is not None else average_events(self, **by)
        made = _KeyAverages(
            rows,
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            dropped_events=self._dropped_events,
        )
        return made._made_of(self, group_by_input_shapes, group_by_stack_n)

    def _views(self) -> tuple[EventSource, np.ndarray] | None:
        """The source and the entries of the elements, if they are all unchanged views of one source."""
        first = next(iter(self), None)
        source = getattr(first, "_source", None)
        if (
            source is None
            or not source.is_store
            or not all(type(e) is FunctionEvent and e._source is source for e in self)
        ):
            return None
        return source, np.fromiter((e._index for e in self), np.int64, len(self))

    # ---- text and files -------------------------------------------------------------------------------------

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int | None = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """PyTorch's table, followed by a line with the number of events and their total time, and by one that says
        how many a bound kept out, where it did.

        `sort_by` names any attribute (`cpu_time_total`, `self_cpu_time_total`, `count`, `cpu_memory_usage`...), largest
        first; metrics named after an accelerator are those of the device. See `export.table.build_table`.
        """
        views = self._views()
        text = build_table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
            with_flops=self._with_flops,
            profile_memory=self._profile_memory,
            summary=summarize_views(*views) if views is not None and len(self) else None,
        )
        return f"{text}Dropped events: {self._dropped_events}\n" if self._dropped_events else text

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """The simple form of a trace: a JSON array of the elements.

        `profile.export_chrome_trace` writes the full one.
        """
        write_simple_trace(path, (event for event in self if event.trace_name is not None))

    def supported_export_stacks_metrics(self) -> list[str]:
        return list(STACK_METRICS)

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """Collapsed stacks (`outermost;...;innermost microseconds` per line), equal stacks summed."""
        if metric not in STACK_METRICS:
            raise ValueError(f"metric should be one of: {list(STACK_METRICS)}")
        attribute = device_attribute(metric)
        write_stacks(
            path, ((event.stack[::-1], getattr(event, attribute)) for event in self._stack_bearers() if event.stack)
        )

    def _stack_bearers(self) -> EventList:
        return self

    # ---- events made by hand --------------------------------------------------------------------------------

    def _build_tree(self) -> None:
        """Find out which events enclose which, by their times, and take same-named only children into their parents."""
        link_parents(self)
        self[:] = collapse_repeats(self)
        self._tree_built = True


class _KeyAverages(EventList):
    """Averages. `_build_rows` gives them as dicts."""

    _grouped_by: tuple[str, ...] = ()
    _members: EventList | EventSource | None = None  # what was grouped

    def _made_of(self, members: EventList | EventSource, by_shape: bool, stack_n: int) -> _KeyAverages:
        self._members = members
        self._grouped_by = ("input_shapes",) * bool(by_shape) + ("stack",) * (stack_n > 0)
        return self

    def _build_rows(self) -> list[dict[str, Any]]:
        """The groups as `name`, `device_type`, `count`, `total_time_ns`, `self_time_ns`, `avg_time_ns`, and
        `input_shapes` and `stack` where they were grouped by. Times are those of the device that the row is of."""
        rows = []
        for row in self:
            here = row.device_type == DeviceType.CPU
            total = round((row.cpu_time_total if here else row.device_time_total) * 1000)
            own = round((row.self_cpu_time_total if here else row.self_device_time_total) * 1000)
            rows.append(
                {
                    "name": row.key,
                    "device_type": row.device_type.name,
                    "count": row.count,
                    "total_time_ns": total,
                    "self_time_ns": own,
                    "avg_time_ns": total / row.count if row.count else 0.0,
                    **{key: getattr(row, key) for key in self._grouped_by},
                }
            )
        return rows

    def _stack_bearers(self) -> EventList:
        """Rows that were not grouped by stack have none; the events that they were made of have."""
        members = self._members
        if members is None or any(row.stack for row in self):
            return self
        return EventList(views_of(members, range(len(members.tree)))) if isinstance(members, EventSource) else members


def build_events(source: EventStore | EventTree) -> EventList:
    """All events of a store as views, in the order of (start, -end)."""
    tree = EventTree.of(source)
    views = EventSource(tree)
    made = EventList(views_of(views, range(len(tree))), **_flags(tree))
    made._tree_built = True
    views.all_events = weakref.ref(made)
    return made


def key_averages(
    source: EventStore | EventTree,
    group_by_input_shape: bool = False,
    group_by_stack_n: int = 0,
    group_by_overload_name: bool = False,
) -> _KeyAverages:
    """`build_events(source).key_averages(...)` without making the events."""
    tree = EventTree.of(source)
    views = EventSource(tree)
    rows = average_entries(
        views, None, by_shape=group_by_input_shape, stack_n=group_by_stack_n, by_overload=group_by_overload_name
    )
    return _KeyAverages(rows, **_flags(tree))._made_of(views, group_by_input_shape, group_by_stack_n)


def _flags(tree: EventTree) -> dict[str, Any]:
    metadata = tree.store.metadata
    return {
        "use_device": metadata.use_device,
        "profile_memory": metadata.options.profile_memory,
        "with_flops": metadata.options.with_flops,
        "dropped_events": metadata.dropped_events,
    }
