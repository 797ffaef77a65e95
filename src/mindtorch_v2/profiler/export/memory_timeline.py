"""Memory over time by category, as JSON or as a page that needs nothing else."""

from __future__ import annotations

import json
import os

from ..._device import FOREIGN, types
from ..analysis.memory import Change, changes, find_blocks, in_pytorchs_terms, running_totals
from ..analysis.memory_peak import Holder, held_at_peak
from ..analysis.tree import EventTree
from ..record.row_format import type_code
from ..store.event_store import EventStore
from .atomic import atomic_writer
from .memory_page import page


class MemoryProfileTimeline:
    """The memory of one device over a window: `timeline` lists every change, `holders` who held it at the peak."""

    def __init__(self, timeline: list[Change], device: str, holders: list[Holder] | None = None) -> None:
        self.timeline = timeline
        self.device = device
        self.holders = holders or []

    def totals(self) -> tuple[list[int], list[list[int]]]:
        """See `analysis.memory.running_totals`; by PyTorch's categories."""
        return running_totals(self.timeline, pytorchs=True)

    def export_memory_timeline(self, path: str | os.PathLike[str]) -> None:
        """`[times, sizes]`: microseconds since 1970, and rows of bytes, a zero and then one number per category."""
        with atomic_writer(path) as out:
            out.write(json.dumps(self.totals()))

    def export_memory_timeline_raw(self, path: str | os.PathLike[str]) -> None:
        """`[[nanoseconds since 1970, action, signed bytes, category], ...]`."""
        with atomic_writer(path) as out:
            out.write(
                json.dumps(
                    [
                        [time, int(action), nbytes, int(in_pytorchs_terms(category))]
                        for time, action, nbytes, category in self.timeline
                    ]
                )
            )

    def export_memory_timeline_html(self, path: str | os.PathLike[str]) -> None:
        """A page with the picture, to be opened in a browser."""
        with atomic_writer(path) as out:
            out.write(page(*running_totals(self.timeline), self.device, self.holders))


def write(
    source: EventStore | EventTree, path: str | os.PathLike[str], device: str | None = None
) -> MemoryProfileTimeline:
    """Write the memory timeline of a device ("cpu" unless the profile watched another); the name's end says in which
    form: ".html", "raw.json.gz", any other ".gz", or else plain JSON. Returns what was written.
    """
    tree = EventTree.of(source)
    timeline = make_timeline(tree, device)
    name = os.fsdecode(os.fspath(path))
    if name.endswith(".html"):
        timeline.export_memory_timeline_html(path)
    elif name.endswith("raw.json.gz"):
        timeline.export_memory_timeline_raw(path)
    else:
        timeline.export_memory_timeline(path)
    return timeline


def make_timeline(tree: EventTree, device: str | None = None) -> MemoryProfileTimeline:
    """The timeline of a device. A device that nothing ran on has an empty one; RuntimeError for what is no device."""
    use_device = tree.store.metadata.use_device
    wanted = str(device) if device is not None else f"{use_device}:0" if use_device else "cpu"
    kind, _, index = wanted.partition(":")
    if kind not in types() + FOREIGN or (index and not index.isdigit()):
        raise RuntimeError(
            f"Expected one of {', '.join(types() + FOREIGN)} device type at start of device string: {wanted}"
        )
    if kind not in types():
        return MemoryProfileTimeline([], wanted)
    blocks = find_blocks(tree, type_code(kind), int(index) if index else -1)
    return MemoryProfileTimeline(changes(tree, blocks), wanted, held_at_peak(tree.store, blocks))
