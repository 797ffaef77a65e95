"""The page of a job: the answer for all ranks with their timelines, and the profiles of single ranks to choose from."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..._files import atomic_file
from ..._version import __version__
from ..analysis.steps import find_steps, window_of
from ..analysis.tree import EventTree
from ..ranks.answer import JobAnswer
from ..store.event_store import EventStore
from .data import report_data
from .page import page
from .timeline import MOST_EVENTS, timeline

MOST_RANKS = 16  # whose timelines are in the page
MOST_SINGLE = 4  # whose whole profiles are in it
_MOST_ROWS = 400


def write_ranks(job: JobAnswer, store_of: Callable[[Sequence[int]], EventStore], path: str | os.PathLike[str]) -> None:
    """Writes the page. `store_of(ranks)` gives the events of some ranks on one time axis. The file appears when it is
    complete."""
    chosen = telling_ranks(job, MOST_RANKS)
    profiles = [ranks_data(job, store_of(chosen), chosen)]
    for rank in telling_ranks(job, MOST_SINGLE):
        profiles.append(report_data(store_of([rank]), f"rank {rank}", MOST_EVENTS // (MOST_SINGLE + 2)))
    text = page(profiles)
    with atomic_file(path) as out:
        out.write(text.encode("utf-8"))


def telling_ranks(job: JobAnswer, most: int) -> list[int]:
    """All ranks where they are few; else the straggler, the one that waited most, and the first ones."""
    ranks = [rank.rank for rank in job.ranks]
    if len(ranks) <= most:
        return ranks
    waited_most = max(job.time_by_rank, key=lambda row: (row.waiting_ns, -row.rank)).rank
    wanted = [job.straggler.rank] if job.straggler is not None else []
    ordered = dict.fromkeys([*wanted, waited_most, *ranks])
    return sorted(list(ordered)[:most])


def ranks_data(job: JobAnswer, store: EventStore, drawn: Sequence[int]) -> dict[str, Any]:
    """What the page tells of a job, in the form of `report_data`: the answer and a timeline, and nothing of what is one
    rank's."""
    tree = EventTree(store)
    events, _ = timeline(tree, find_steps(store), [], MOST_EVENTS // 3)
    first, last = window_of(store)
    left_out = (
        [] if len(drawn) == len(job.ranks) else [f"Timelines of {len(job.ranks) - len(drawn)} ranks are left out."]
    )
    return {
        "title": f"all {len(job.ranks)} ranks",
        "tool": f"mindtorch_v2 {__version__}",
        "events": sum(rank.events for rank in job.ranks),
        "window_ns": last - first,
        "left_out": left_out,
        "ranks": job.as_json(_MOST_ROWS),
        "phases": {"count": 0, "number": [], "start": [], "length": []},
        "operators": {"rows": []},
        "flames": {},
        "modules": [],
        "memory": [],
        "devices": [],
        "advice": [],
        "timeline": events,
    }
