"""`FunctionEventAvg` rows: groups of events with their sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..analysis.formatting import cell_text
from ..analysis.grouping import group_entries, sum_groups
from ..analysis.source import EventSource
from ..record.enums import DeviceType
from .function_event import FunctionEvent, event_of
from .function_event_avg import FunctionEventAvg

_DEVICES = {member.value: member for member in DeviceType}


def average_entries(
    source: EventSource,
    entries: np.ndarray | None,
    *,
    by_shape: bool = False,
    stack_n: int = 0,
    by_overload: bool = False,
) -> list[FunctionEventAvg]:
    """The groups of a source's entries, in the order of first appearance."""
    group, first = group_entries(source.tree, entries, by_shape, stack_n, by_overload)
    rows = _sum_groups(source, entries, group, first)
    for row in rows:
        event = row._first
        assert event is not None
        row.input_shapes = event.input_shapes if by_shape else ""
        row.overload_name = event.overload_name if by_overload else ""
        row.stack = event.stack[:stack_n] if stack_n > 0 and event.stack else []
    return rows


def total_of_entries(source: EventSource, entries: np.ndarray) -> FunctionEventAvg:
    """All entries as one group; what is not a sum is that of the last."""
    row = _sum_groups(source, entries, np.zeros(len(entries), np.int64), entries[-1:])[0]
    assert row._first is not None
    for name in ("input_shapes", "overload_name", "stack"):
        setattr(row, name, getattr(row._first, name))
    return row


def _sum_groups(
    source: EventSource, entries: np.ndarray | None, group: np.ndarray, first: np.ndarray
) -> list[FunctionEventAvg]:
    """One row per group with its sums and the plain attributes of the entry in `first`."""
    tree, groups = source.tree, len(first)
    columns, covered = sum_groups(tree, entries, group, first)
    columns |= {
        "scope": tree.scope_of(first).tolist(),
        "is_async": tree.is_async[first].tolist(),
        "is_user_annotation": tree.is_annotation[first].tolist(),
        "device_type": [_DEVICES[i] for i in tree.device_type[first].tolist()],
        "node_id": [-1] * groups,
        "use_device": [tree.store.metadata.use_device] * groups,
    }
    rows = []
    for index, (entry, *values) in enumerate(zip(first.tolist(), *columns.values())):
        row = FunctionEventAvg()
        row.fill(zip(columns, values), event_of(source, entry), covered, index)
        rows.append(row)
    return rows


def average_events(
    events: Sequence[FunctionEvent], *, by_shape: bool, stack_n: int, by_overload: bool
) -> list[FunctionEventAvg]:
    """The same for events of any origin, one by one: those made by hand, changed, or from several windows."""
    groups: dict[tuple[str, ...], FunctionEventAvg] = {}
    for event in events:
        key = [
            str(event.key),
            str(event.node_id),
            str(event.device_type),
            str(event.is_legacy),
            str(event.is_user_annotation),
        ]
        if by_overload:
            key.append(cell_text(event.overload_name))
        if by_shape:
            key.append(str(event.input_shapes))
        if stack_n > 0:
            key += (event.stack or ())[:stack_n]
        groups.setdefault(tuple(key), FunctionEventAvg()).add(event)
    for row in groups.values():
        row.stack = (row.stack or [])[:stack_n] if stack_n > 0 else []
        row.input_shapes = row.input_shapes if by_shape else ""
        row.overload_name = row.overload_name if by_overload else ""
    return list(groups.values())
