"""Each collective on all ranks: who came last, how long the others waited for it, and how long the transfer itself
took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .alignment import Alignment, Key, keys_of
from .collectives import FROM_ONE, MEETING
from .summary import RankSummary

# Bytes that cross a link for each byte of the message, in a group of n: what bandwidths of different collectives are
# compared by.
_BUS_FACTOR = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
}
_NEVER = np.iinfo(np.int64).min


class Meetings(NamedTuple):
    """The collectives that two ranks or more recorded.

    Columns over collectives:
    name, nbytes, size   what it is, the message's bytes, the processes of its group
    last                 index (among the ranks given) of the rank that came last; -1 where nobody waits for all
    ready_ns             when everybody that is waited for had come, on the reference's clock
    transfer_ns          from then to the end, the median of the ranks
    ranks                how many of the ranks given took part
    waited_ns            what the others waited for the last one, and nothing hid, summed
    Matrices over ranks and collectives are not kept: `waiting_ns` and `transfer_exposed_ns` are sums by rank.
    """

    name: list[str]
    nbytes: np.ndarray
    size: np.ndarray
    last: np.ndarray
    ready_ns: np.ndarray
    transfer_ns: np.ndarray
    ranks: np.ndarray
    waited_ns: np.ndarray
    waiting_ns: np.ndarray
    transfer_exposed_ns: np.ndarray
    unmatched: int


class _Rows(NamedTuple):
    """All collectives of all ranks, one row for each rank's part."""

    names: list[str]  # by key
    key: np.ndarray
    rank: np.ndarray
    start: np.ndarray
    end: np.ndarray
    exposed: np.ndarray
    nbytes: np.ndarray
    size: np.ndarray
    source: np.ndarray


def meet(ranks: Sequence[RankSummary], alignments: Sequence[Alignment]) -> Meetings:
    """Finds the collectives of each rank on the others. A rank that is not aligned takes no part."""
    rows = _join_rows(ranks, alignments)
    order = np.lexsort((rows.start, rows.key))
    key = rows.key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.zeros(0, np.int64)
    count = np.diff(np.append(first, len(key)))
    name = [rows.names[k] for k in key[first].tolist()]
    ready, last = _ready(rows, order, first, count, name, ranks)
    group = np.repeat(np.arange(len(first)), count)
    start, end, exposed = rows.start[order], rows.end[order], rows.exposed[order]
    doubt = np.array([found.uncertainty_ns or 0 for found in alignments])[rows.rank[order]]
    impossible = np.bincount(group, weights=end + 2 * doubt.max(initial=0) < ready[group], minlength=len(first)) > 0
    ready[impossible], last[impossible] = (
        _NEVER,
        -1,
    )  # they are not the same collective: one ended before the last began
    # What nothing hid is taken to be the last part of a collective: computation that overlaps it began before it.
    known = ready[group] > _NEVER
    waiting = np.where(known, np.clip(ready[group] - (end - exposed), 0, exposed), 0)
    by_rank = np.bincount(rows.rank[order], weights=waiting, minlength=len(ranks)).astype(np.int64)
    exposed_by_rank = np.bincount(rows.rank[order], weights=exposed, minlength=len(ranks)).astype(np.int64)
    took = np.maximum(end - np.maximum(ready[group], start), 0)
    several = (count > 1) & ~impossible
    return Meetings(
        [text for text, keep in zip(name, several) if keep],
        np.maximum.reduceat(rows.nbytes[order], first)[several] if len(first) else np.zeros(0, np.int64),
        np.maximum.reduceat(rows.size[order], first)[several] if len(first) else np.zeros(0, np.int64),
        last[several],
        ready[several],
        _medians(took, first, count)[several],
        count[several],
        np.bincount(group, weights=waiting, minlength=len(first)).astype(np.int64)[several],
        by_rank,
        exposed_by_rank - by_rank,
        int((~several).sum()),
    )


def _join_rows(ranks: Sequence[RankSummary], alignments: Sequence[Alignment]) -> _Rows:
    keys: dict[Key, int] = {}
    names: list[str] = []
    columns: list[list[np.ndarray]] = [[] for _ in range(8)]
    for index, (rank, alignment) in enumerate(zip(ranks, alignments)):
        found = rank.collectives
        if alignment.uncertainty_ns is None or not len(found):
            continue
        ids = []
        for key, name in zip(keys_of(found), found.name.tolist()):
            ids.append(keys.setdefault(key, len(keys)))
            if len(keys) > len(names):
                names.append(found.names[name])
        shift = alignment.offset_ns
        parts = (np.array(ids), np.full(len(found), index), found.start_ns + shift, found.end_ns + shift)
        for column, part in zip(columns, (*parts, found.exposed_ns, found.nbytes, found.size, found.source)):
            column.append(part)
    joined = [np.concatenate(column) if column else np.zeros(0, np.int64) for column in columns]
    return _Rows(names, *joined)


def _ready(
    rows: _Rows, order: np.ndarray, first: np.ndarray, count: np.ndarray, name: list[str], ranks: Sequence[RankSummary]
) -> tuple[np.ndarray, np.ndarray]:
    """Per collective: when everybody that the others wait for had come, and the index of the last; the smallest integer
    and -1 where
    nobody waits, or one rank alone recorded it. Rows of a collective stand in the order of their beginnings."""
    ready = np.full(len(first), _NEVER)
    last = np.full(len(first), -1)
    index_of = {rank.rank: index for index, rank in enumerate(ranks)}
    for i, (begin, n, text) in enumerate(zip(first.tolist(), count.tolist(), name)):
        if n < 2:
            continue
        members = order[begin : begin + n]
        if text in MEETING:
            chosen = int(members[-1])
        elif text in FROM_ONE and int(rows.source[members[0]]) in index_of:
            at = np.flatnonzero(rows.rank[members] == index_of[int(rows.source[members[0]])])
            if not len(at):
                continue
            chosen = int(members[at[0]])
        else:
            continue
        ready[i], last[i] = rows.start[chosen], rows.rank[chosen]
    return ready, last


def _medians(values: np.ndarray, first: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.array([int(np.median(values[b : b + n])) for b, n in zip(first.tolist(), count.tolist())], np.int64)


class Bandwidth(NamedTuple):
    """Collectives of one name, size and group size: how many, the median transfer, and bytes per second of message and
    of the links."""

    name: str
    nbytes: int
    size: int
    times: int
    transfer_ns: int
    algorithm: float
    bus: float


def bandwidths(met: Meetings, files: int = 0, world_size: int = 0) -> list[Bandwidth]:
    """By collective, group size and message size, the largest messages first.

    Older traces do not say the size of a group: it is then taken to be the count of ranks that took part, or that of
    the job if all took part of which there are `files`.
    """
    found: dict[tuple[str, int, int], list[int]] = {}
    for i, name in enumerate(met.name):
        taking_part = int(met.ranks[i])
        size = int(met.size[i]) or (max(world_size, files) if taking_part == files else taking_part)
        if met.last[i] >= 0:
            found.setdefault((name, int(met.nbytes[i]), size), []).append(int(met.transfer_ns[i]))
    made = []
    for (name, nbytes, size), times in found.items():
        median = int(np.median(times))
        algorithm = nbytes / median * 1e9 if median else 0.0
        factor = _BUS_FACTOR.get(name, lambda n: 1.0)(size)
        made.append(Bandwidth(name, nbytes, size, len(times), median, algorithm, algorithm * factor))
    return sorted(made, key=lambda b: (-b.nbytes * b.times, b.name))
