"""All ranks as one answer: time by rank, who holds the others up and why, imbalance by module, bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .alignment import Alignment, align
from .meeting import Bandwidth, Meetings, bandwidths, meet
from .parts import Part
from .straggler import Straggler, find_straggler
from .summary import RankSummary


class RankRow(NamedTuple):
    """Where the time of one rank's steps went, in nanoseconds: the last five sum to `wall_ns`."""

    rank: int
    wall_ns: int
    compute_ns: int
    transfer_ns: int
    waiting_ns: int
    input_ns: int
    other_ns: int


class Imbalance(NamedTuple):
    """A module (or operator) that takes some ranks longer than others, over all steps; `excess_ns` is the slowest less
    the mean."""

    name: str
    mean_ns: int
    slowest_ns: int
    slowest_rank: int
    excess_ns: int

    @property
    def ratio(self) -> float:
        return self.slowest_ns / self.mean_ns if self.mean_ns else 0.0


class JobAnswer:
    """What the summaries of a job's ranks say together. `ranks` are in ascending order; `problems` are
    sentences."""

    def __init__(self, summaries: Sequence[RankSummary], problems: Sequence[str] = ()) -> None:
        self.problems = list(problems)
        self.ranks = self._distinct(_assign_ranks(summaries))
        self.alignments: list[Alignment] = align(self.ranks)
        self._note_alignment()
        self.meetings: Meetings = meet(self.ranks, self.alignments)

    def _distinct(self, summaries: list[RankSummary]) -> list[RankSummary]:
        """One summary for each rank, of several the one that ends last."""
        newest: dict[int, RankSummary] = {}
        for summary in summaries:
            if summary.rank in newest:
                self.problems.append(f"rank {summary.rank} has several files; the one that ends last counts")
            before = newest.get(summary.rank)
            ends = summary.stop_ns + summary.unix_offset_ns
            if before is None or ends > before.stop_ns + before.unix_offset_ns:
                newest[summary.rank] = summary
        missing = sorted(set(range(max((s.world_size for s in summaries), default=0))) - newest.keys())
        if missing:
            listed = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
            self.problems.append(f"{len(missing)} ranks of the job are missing: {listed}")
        return [newest[rank] for rank in sorted(newest)]

    def _note_alignment(self) -> None:
        for rank, found in zip(self.ranks, self.alignments):
            if found.uncertainty_ns is None:
                self.problems.append(
                    f"rank {rank.rank} cannot be aligned: it shares no clock and no collective with the others"
                )
            elif found.contradiction_ns:
                self.problems.append(
                    f"the clock of rank {rank.rank} ran apart from the others' by "
                    f"{found.contradiction_ns / 1000:.1f} us; its waiting is known no better"
                )
        for rank in self.ranks:
            self.problems += [f"rank {rank.rank}: {text}" for text in rank.problems]
            if rank.dropped_events:
                self.problems.append(f"rank {rank.rank}: {rank.dropped_events:,} events were dropped")

    @property
    def is_aligned(self) -> bool:
        return all(found.uncertainty_ns is not None for found in self.alignments)

    @cached_property
    def time_by_rank(self) -> list[RankRow]:
        rows = []
        for index, rank in enumerate(self.ranks):
            sums = rank.parts.sum(0)
            waiting = min(int(self.meetings.waiting_ns[index]), int(sums[Part.COMMUNICATION]))
            rows.append(
                RankRow(
                    rank.rank,
                    int(sums.sum()),
                    int(sums[Part.COMPUTE]),
                    int(sums[Part.COMMUNICATION]) - waiting,
                    waiting,
                    int(sums[Part.INPUT]),
                    int(sums[Part.OTHER]),
                )
            )
        return rows

    @cached_property
    def straggler(self) -> Straggler | None:
        """The rank that the others wait for, with the cause; None where nobody stands out."""
        return find_straggler(self.ranks, self.alignments, self.meetings)

    @cached_property
    def imbalance(self) -> list[Imbalance]:
        """Modules (operators, where modules were not recorded) by how much longer the slowest rank takes than the
        mean."""
        by_module = all(rank.modules for rank in self.ranks)
        tables = [rank.modules if by_module else rank.operators for rank in self.ranks]
        names = {name for table in tables for name in table}
        made = []
        for name in names:
            times = np.array([table[name].nanoseconds if name in table else 0 for table in tables])
            slowest = int(np.argmax(times))
            mean = int(times.mean())
            excess = int(times[slowest]) - mean
            if excess > 0:
                made.append(Imbalance(name, mean, int(times[slowest]), self.ranks[slowest].rank, excess))
        return sorted(made, key=lambda row: (-row.excess_ns, row.name))

    @cached_property
    def bandwidths(self) -> list[Bandwidth]:
        return bandwidths(self.meetings, len(self.ranks), max((s.world_size for s in self.ranks), default=0))

    @cached_property
    def verdict(self) -> str:
        """The answer in one sentence."""
        if self.straggler is not None:
            return self.straggler.sentence
        rows = self.time_by_rank
        wall = max(sum(row.wall_ns for row in rows), 1)
        waiting, transfer = (sum(getattr(row, name) for row in rows) / wall for name in ("waiting_ns", "transfer_ns"))
        if transfer + waiting < 0.05:
            return "The ranks are balanced, and computation hides the communication."
        if transfer >= waiting:
            return f"The ranks are balanced; {transfer:.0%} of the time is transfer that no computation hides."
        return f"The ranks wait for each other {waiting:.0%} of the time, for no single one."

    def as_json(self, rows: int = 20) -> dict[str, Any]:
        """The answer as plain values. Times are nanoseconds, bandwidths bytes per second."""
        return {
            "ranks": len(self.ranks),
            "verdict": self.verdict,
            "problems": self.problems,
            "time_by_rank": [row._asdict() for row in self.time_by_rank],
            "straggler": None if self.straggler is None else self.straggler._asdict(),
            "imbalance": [{**row._asdict(), "ratio": row.ratio} for row in self.imbalance[:rows]],
            "bandwidths": [row._asdict() for row in self.bandwidths[:rows]],
            "collectives": {"matched": len(self.meetings.name), "on_one_rank_only": self.meetings.unmatched},
            "alignment": [
                {"rank": rank.rank, "host": rank.host, "file": rank.path, **found._asdict()}
                for rank, found in zip(self.ranks, self.alignments)
            ],
        }


def _assign_ranks(summaries: Sequence[RankSummary]) -> list[RankSummary]:
    """Ranks that neither their profile nor their file's name tell get the free ones, in the order given."""
    from dataclasses import replace

    taken = {summary.rank for summary in summaries if summary.rank >= 0}
    free = (rank for rank in range(len(summaries) + len(taken)) if rank not in taken)
    return [summary if summary.rank >= 0 else replace(summary, rank=next(free)) for summary in summaries]
