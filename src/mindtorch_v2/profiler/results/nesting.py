"""Parents of events that were made by hand, from their times alone. (Events of a store know theirs from recording.)"""

from __future__ import annotations

from collections.abc import Sequence

from ..record.enums import DeviceType
from .function_event import FunctionEvent


def link_parents(events: Sequence[FunctionEvent]) -> None:
    """Set `cpu_parent` and `cpu_children`: the parent is the innermost event of the same thread and node that contains
    the event. Asynchronous events, events of other devices and events that overlap only partly have none."""
    tracks: dict[tuple[int, int], list[FunctionEvent]] = {}
    for event in events:
        if not event.is_async and event.device_type == DeviceType.CPU:
            tracks.setdefault((event.thread, event.node_id), []).append(event)
    for track in tracks.values():
        open_events: list[FunctionEvent] = []
        for event in sorted(track, key=lambda e: (e.time_range.start, -e.time_range.end)):
            while open_events and not _contains(open_events[-1], event):
                open_events.pop()
            if open_events:
                open_events[-1].append_cpu_child(event)
                event.set_cpu_parent(open_events[-1])
            open_events.append(event)


def _contains(parent: FunctionEvent, child: FunctionEvent) -> bool:
    return child.time_range.start < parent.time_range.end and child.time_range.end <= parent.time_range.end


def collapse_repeats(events: Sequence[FunctionEvent]) -> list[FunctionEvent]:
    """The events without those that `analysis.collapse` takes into their parents; links are mended."""
    kept = []
    taken: dict[int, FunctionEvent] = {}
    for event in events:
        parent = event.cpu_parent
        if (
            parent is not None
            and parent.name == event.name
            and len(parent.cpu_children) == 1
            and parent.is_user_annotation == event.is_user_annotation
        ):
            taken[id(event)] = event
        else:
            kept.append(event)
    for event in kept:
        while any(id(child) in taken for child in event.cpu_children):
            event.cpu_children = [
                grandchild
                for child in event.cpu_children
                for grandchild in (child.cpu_children if id(child) in taken else [child])
            ]
            for child in event.cpu_children:
                child.set_cpu_parent(event)
    return kept
