"""What a table must know of all its rows, printed or not: widths, which columns there are, and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..store.distinct import distinct
from .formatting import printable
from .source import EventSource
from .tree import EventTree
from .values import plain_shapes

Row = Any  # FunctionEvent or FunctionEventAvg: only their common attributes are needed


@dataclass
class Summary:
    """What the layout needs to know of all rows, printed or not."""

    longest_name: int = 0
    longest_shapes: int = 0
    longest_source: int = 0
    has_overloads: bool = False
    has_nodes: bool = False
    self_cpu_us: float = 0
    self_device_us: float = 0
    has_device_time: bool = False
    has_device_memory: bool = False
    use_device: str | None = None
    flops: list[int] = field(default_factory=list)
    count: int = 0


def summarize(rows: Sequence[Row]) -> Summary:
    """One pass over all rows."""
    found = Summary(use_device=rows[0].use_device)
    cpu_rows_device_us = 0.0
    for row in rows:
        found.longest_name = max(found.longest_name, len(printable(str(row.key))))
        if row.input_shapes:
            found.longest_shapes = max(found.longest_shapes, len(str(row.input_shapes)))
        if row.stack:
            found.longest_source = max(found.longest_source, max(map(len, row.stack)))
        found.has_overloads = found.has_overloads or bool(row.overload_name)
        found.has_nodes = found.has_nodes or row.node_id != -1
        found.self_cpu_us += row.self_cpu_time_total
        found.count += row.count
        device_us = row.self_device_time_total
        found.has_device_time = found.has_device_time or device_us > 0
        if row.device_type == "CPU":
            cpu_rows_device_us += device_us
        elif not row.is_user_annotation:
            found.self_device_us += device_us
        if row.flops:
            found.flops.append(row.flops)
        found.has_device_memory = found.has_device_memory or row.self_device_memory_usage > 0
    # Events that carry their kernels' times without the kernels being events of their own are all there is then.
    found.self_device_us = found.self_device_us or cpu_rows_device_us
    return found


def summarize_views(source: EventSource, entries: np.ndarray) -> Summary:
    """The same for views of a store's entries, from its columns: no attribute of any single event is read."""
    tree = source.tree
    store = tree.store
    options, device = store.metadata.options, store.metadata.use_device

    def ids(values: np.ndarray) -> list[int]:
        return [i for i in distinct(values[entries]).tolist() if i >= 0]

    names = [len(printable(tree.name_of_id[i])) for i in ids(tree.name_id)]
    shapes = [
        len(str(plain_shapes(store.inputs[i].shapes)))
        for i in ids(tree.column(store.columns["inputs"], -1))
        if store.inputs[i].shapes and options.describes_inputs
    ]
    overloads = ids(tree.column(store.overload, -1)) if options.capture_overload_names else []
    nodes = ids(tree.column(store.stack, -1))
    device_ns = _device_total(tree, entries) if device else 0
    return Summary(
        longest_name=max(names),
        longest_shapes=max(shapes, default=0),
        longest_source=_longest_frame(source, nodes),
        has_overloads=any(store.strings[i] for i in overloads),
        self_cpu_us=int(tree.self_ns[entries].sum()) / 1000,
        self_device_us=device_ns / 1000,
        has_device_time=device_ns > 0,
        use_device=device,
        has_device_memory=bool(len(store.memory)) and bool((tree.self_device_bytes[entries] > 0).any()),
        flops=[i for i in distinct(tree.flops[entries]).tolist() if i],
        count=len(entries),
    )


def _device_total(tree: EventTree, entries: np.ndarray) -> int:
    """What ran on devices; where no such event is listed, what others launched."""
    own, on_device = tree.self_device_ns[entries], tree.device_type[entries] != 0
    return int(own[on_device & ~tree.is_annotation[entries]].sum()) or int(own[~on_device].sum())


def _longest_frame(source: EventSource, nodes: list[int]) -> int:
    """The length of the longest frame in the stacks that end in `nodes`."""
    stacks, strings = source.tree.store.stacks, source.tree.store.strings
    parent, frame = stacks.parent.tolist(), stacks.frame.tolist()
    seen, longest = set(), 0
    for node in nodes:
        while node >= 0 and node not in seen:  # what is above a node that was seen was seen too
            seen.add(node)
            longest = max(longest, len(strings[frame[node]]))
            node = parent[node]
    return longest
