"""The timeline of the page: every event that fits, packed into few bytes, and the rest merged where it lies.

Events are drawn in lanes: a lane is one depth of one track, so that its events neither overlap nor nest. Lanes are
stored one after another; inside a lane events are in the order of time and a start is the distance from the one
before. Columns of whole numbers are stored as planes of bytes, lowest first, which deflate packs well.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..analysis.flows import find_flows
from ..analysis.lanes import depths_of, tracks_of
from ..analysis.operators import users_lines
from ..analysis.steps import Steps, window_of
from ..analysis.tree import EventTree
from ..analysis.values import plain_shapes
from ..record.kinds import Kind
from ..store.event_store import EventStore, kept_ancestors

MOST_EVENTS = 420_000
MOST_FLOWS = 60_000
_NAME_CHARACTERS, _TEXT_CHARACTERS = 600_000, 200_000  # of all names; of all shapes, and of all lines
_SEEN = 4_000  # a gap of this part of the window, and shorter ones, cannot be seen
_LONGEST_TEXT = 240
_TIME_PLANES = 6  # 2**48 ns: three days


@dataclass(frozen=True)
class Layout:
    """Rows in lanes: for each kept row its lane, and what each lane is."""

    rows: np.ndarray  # row indices of the store, in the order of the packed columns; -1 for merged events
    start: np.ndarray
    end: np.ndarray
    name: np.ndarray
    count: np.ndarray  # 0 for an event, n for n merged ones
    lane_sizes: list[int]
    lanes: list[tuple[int, int]]  # (track, depth)
    tracks: list[dict[str, Any]]


def timeline(
    tree: EventTree, steps: Steps, wanted: list[int], most: int = MOST_EVENTS
) -> tuple[dict[str, Any], dict[int, int]]:
    """The timeline as JSON, and the index of its event for each of the `wanted` rows (those are kept in any case)."""
    store = tree.store
    keep = _rows_to_keep(store, steps, wanted, most)
    layout = _lay_out(store, keep)
    origin = min(window_of(store)[0], int(steps.start_ns[0]))
    event_of_row = np.full(len(store) + 1, -1, np.int64)
    is_event = layout.rows >= 0
    event_of_row[layout.rows[is_event]] = np.flatnonzero(is_event)
    data = {
        "tracks": layout.tracks,
        "lanes": [[t, d, n] for (t, d), n in zip(layout.lanes, layout.lane_sizes)],
        "count": len(layout.rows),
        "events": len(store),
        "drawn": int(is_event.sum()),
        "columns": _columns(tree, layout, origin),
        **_texts(tree, layout),
        "flows": _flows(tree, event_of_row),
    }
    return data, {row: int(event_of_row[row]) for row in wanted if event_of_row[row] >= 0}


def _rows_to_keep(store: EventStore, steps: Steps, wanted: list[int], most: int) -> np.ndarray:
    """Which rows are drawn one by one: all where they fit; else the slowest and the median step wholly (if they
    fit), and of the others the longest rows. What encloses a drawn row is drawn.
    """
    if len(store) <= most:
        return np.ones(len(store), bool)
    keep = np.zeros(len(store), bool)
    keep[wanted] = True
    by_length = np.argsort(steps.duration_ns, kind="stable")
    for step in {int(by_length[-1]), int(by_length[len(by_length) // 2])}:
        inside = (store.start_ns < steps.end_ns[step]) & (store.end_ns > steps.start_ns[step])
        if int((keep | inside).sum()) <= most * 2 // 3:
            keep |= inside
    length = store.end_ns - store.start_ns
    rest = np.flatnonzero(~keep)
    room = max(most - int(keep.sum()), 0)
    if room < len(rest):
        bound = np.partition(length[rest], len(rest) - room - 1)[len(rest) - room - 1]
        rest = rest[length[rest] > bound]
    keep[rest] = True
    at = np.flatnonzero(keep)
    while len(at := store.parent[at][(store.parent[at] >= 0)]) and not keep[at].all():
        keep[at] = True
    return keep


def _lay_out(store: EventStore, keep: np.ndarray) -> Layout:
    track, tracks = tracks_of(store)
    depth = depths_of(store, track)
    start, end, name, count, rows = (
        store.start_ns,
        store.end_ns,
        store.name,
        np.zeros(len(store), np.int64),
        np.arange(len(store)),
    )
    if not keep.all():
        extra = _merge_neighbours(store, keep, track, depth)
        start, end, name, count, rows, track, depth = (
            np.concatenate([column[keep], more])
            for column, more in zip((start, end, name, count, rows, track, depth), extra)
        )
    order = np.lexsort((start, depth, track))
    lane = track[order].astype(np.int64) * 4096 + depth[order]
    codes, begins = np.unique(lane, return_index=True)
    sizes = np.diff(np.append(begins, len(order))).tolist()
    for t, info in enumerate(tracks):
        info["depth"] = int(depth[track == t].max(initial=0)) + 1 if (track == t).any() else 0
    return Layout(
        rows[order],
        start[order],
        end[order],
        name[order],
        count[order],
        sizes,
        [(int(c) // 4096, int(c) % 4096) for c in codes],
        tracks,
    )


def _merge_neighbours(
    store: EventStore, keep: np.ndarray, track: np.ndarray, depth: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Neighbours in a lane that are not drawn, as one event each: (start, end, name, count, row, track, depth). They
    merge until the next drawn one or the next gap that can be seen; the count includes all that is below them."""
    is_top = ~keep & np.append(keep, True)[store.parent]
    below = np.bincount(kept_ancestors(store.parent, keep | is_top)[~keep], minlength=len(store))
    members = np.flatnonzero(keep | is_top)
    code = track[members].astype(np.int64) * 4096 + depth[members]
    order = np.lexsort((store.start_ns[members], code))
    members, code = members[order], code[order]
    gap = np.append(0, store.start_ns[members][1:] - store.end_ns[members][:-1])
    breaks = np.append(True, keep[members[:-1]] | (code[1:] != code[:-1])) | (
        gap > (int(store.end_ns.max()) - int(store.start_ns[0])) // _SEEN
    )
    top = is_top[members]
    group = np.cumsum(breaks & top)[top] - 1
    members = members[top]
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    count = np.bincount(group, weights=below[members]).astype(np.int64)
    end = np.maximum.reduceat(store.end_ns[members], first)
    head = members[first]
    return store.start_ns[head], end, store.name[head], count, np.full(len(head), -1), track[head], depth[head]


# ---- packing
# ----------------------------------------------------------------------------------------------------------


def _columns(tree: EventTree, layout: Layout, origin: int) -> dict[str, str]:
    starts = layout.start - origin
    begins = np.cumsum([0, *layout.lane_sizes])[:-1]
    delta = np.diff(starts, prepend=0)
    delta[begins] = starts[begins]
    return {
        "start": pack(delta, _TIME_PLANES),
        "length": pack(layout.end - layout.start, _TIME_PLANES),
        "merged": pack(layout.count, 3),
        "kind": pack(np.where(layout.rows >= 0, tree.store.kind[layout.rows], 0), 1),
    }


def pack(values: np.ndarray, planes: int) -> str:
    """Whole numbers from 0, as planes of bytes, deflated, in base64."""
    raw = np.ascontiguousarray(values.astype("<i8")).view(np.uint8).reshape(-1, 8)[:, :planes]
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    return base64.b64encode(compressor.compress(np.ascontiguousarray(raw.T).tobytes()) + compressor.flush()).decode(
        "ascii"
    )


def _texts(tree: EventTree, layout: Layout) -> dict[str, Any]:
    """Names of events, and what a click on one tells besides its time: shapes and the user's line."""
    store = tree.store
    rows = layout.rows
    made = _table("names", store.strings, layout.name, _NAME_CHARACTERS)
    if store.inputs:
        texts = [str(plain_shapes(inputs.shapes)) for inputs in store.inputs]
        made |= _table("shapes", texts, np.where(rows >= 0, store.columns["inputs"][rows], -1), _TEXT_CHARACTERS)
    if len(store.stacks):
        lines, of_node = users_lines(store)
        made |= _table("lines", lines, np.where(rows >= 0, of_node[store.stack[rows]], -1), _TEXT_CHARACTERS)
    return made


def _table(name: str, texts: Sequence[str], index: np.ndarray, characters: int) -> dict[str, Any]:
    """The texts that events refer to most often, as many as fit into so many characters, and the references; 0 is
    none of them.
    """
    counts = np.bincount(index[index >= 0], minlength=len(texts))
    chosen = np.argsort(-counts, kind="stable")
    chosen = chosen[counts[chosen] > 0]
    fits = int(np.searchsorted(np.cumsum([min(len(texts[i]), _LONGEST_TEXT) + 3 for i in chosen.tolist()]), characters))
    index_of_text = np.zeros(len(texts) + 1, np.int64)
    index_of_text[chosen[:fits]] = 1 + np.arange(fits)
    return {
        name: [cut(texts[i]) for i in chosen[:fits].tolist()],
        f"{name}_left_out": len(chosen) - fits,
        f"{name}_index": pack(index_of_text[np.where(index >= 0, index, -1)], 3),
    }


def cut(text: str) -> str:
    """A text that is not longer than the page needs."""
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _flows(tree: EventTree, event_of_row: np.ndarray) -> dict[str, Any]:
    """Pairs of event indices: from a launching call to its work, and from a forward operator to its backward one."""
    store = tree.store
    launched = np.flatnonzero((store.launcher >= 0) & (store.kind != Kind.DEVICE_SCOPE))
    pairs = find_flows(tree)
    source = np.concatenate([event_of_row[store.launcher[launched]], event_of_row[tree.rows_of(pairs.forward)]])
    target = np.concatenate([event_of_row[launched], event_of_row[tree.rows_of(pairs.backward)]])
    both = np.flatnonzero((source >= 0) & (target >= 0))
    drawn = both[:MOST_FLOWS]
    return {
        "from": pack(source[drawn], 3),
        "to": pack(target[drawn], 3),
        "count": len(drawn),
        "left_out": len(source) - len(drawn),
    }
