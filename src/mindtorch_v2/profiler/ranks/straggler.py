"""The rank that the others wait for, and what explains that it is late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .alignment import Alignment
from .meeting import Meetings
from .parts import Part
from .summary import Cost, RankSummary

_SHARE = 0.6  # of all waiting, that a straggler causes at least
_LEAST = 0.02  # of the steps' time, that the others wait for it on average at least
_EXPLAINS = 0.25  # of what the others wait, that a cause is at least
_HOLDS = (
    0.2  # of what a rank computes longer, the part that a module must hold to be named: backward passes are in none
)
_SAME_WORK = 0.05  # calls that differ by less are the same work


class Straggler(NamedTuple):
    """rank       its rank
    share      part of all waiting in the job that is waiting for it
    waited_ns  what each other rank waited for it, on average, over all steps
    last_in    of `collectives` that all wait in, those to which it came last
    cause      "input", "more work", "slower computation" (of as much work), "longer computation" (how much work it is
               was not
               recorded), "Python or idle device", or "unknown"
    where      the module or operator that took longer; "" where none stands out
    excess_ns  how much more time than the median of the others it spent there, over all steps
    sentence   all that in words
    """

    rank: int
    share: float
    waited_ns: int
    last_in: int
    collectives: int
    cause: str
    where: str
    excess_ns: int
    sentence: str


def find_straggler(ranks: Sequence[RankSummary], alignments: Sequence[Alignment], met: Meetings) -> Straggler | None:
    """None where no rank stands out."""
    counted = met.last >= 0
    if len(ranks) < 2 or not counted.any():
        return None
    caused = np.bincount(met.last[counted], weights=met.waited_ns[counted], minlength=len(ranks))
    total = float(caused.sum())
    index = int(np.argmax(caused))
    waited = caused[index] / (len(ranks) - 1)
    wall = float(np.median([rank.parts.sum() for rank in ranks]))
    last_in = int((met.last[counted] == index).sum())
    if total <= 0 or caused[index] < _SHARE * total or waited < _LEAST * wall:
        return None
    doubt = max(found.uncertainty_ns or 0 for found in alignments)
    cause, where, excess = _cause(ranks, index, waited)
    rank, share = ranks[index].rank, float(caused[index] / total)
    told = f"Rank {rank} holds the others up: {waited / max(wall, 1):.0%} of their time is waiting for it."
    sentence = f"{told} {_because(cause, where, excess, ranks)}"
    if doubt * last_in > waited:
        sentence += f" The ranks' clocks are known to {doubt / 1e6:.3g} ms only, which could explain it too."
    return Straggler(rank, share, int(waited), last_in, int(counted.sum()), cause, where, int(excess), sentence)


def _because(cause: str, where: str, excess: float, ranks: Sequence[RankSummary]) -> str:
    steps = max(len(ranks[0].step_number), 1)
    more = f"{excess / steps / 1e6:.3g} ms more in each step than the median of the others"
    part = f", above all in {where}" if where else ""
    return {
        "input": f"Its input takes {more}.",
        "more work": f"It has more work: computing takes {more}{part}, with more calls or larger ones.",
        "slower computation": f"The same work takes it longer: {more}{part}.",
        "longer computation": f"Computing takes it longer, with as many calls: {more}{part}.",
        "Python or idle device": f"It spends {more} in Python, or with an idle device.",
    }.get(cause, "What it does meanwhile is not in the profile.")


def _cause(ranks: Sequence[RankSummary], index: int, waited: float) -> tuple[str, str, float]:
    """(cause, where, how much more time than the median of the others)."""
    totals = np.array([rank.parts.sum(0) for rank in ranks], float)
    excess = totals[index] - np.median(np.delete(totals, index, 0), axis=0)
    excess[Part.COMMUNICATION] = 0
    part = int(np.argmax(excess))
    if excess[part] < _EXPLAINS * waited:
        return "unknown", "", 0.0
    if part == Part.INPUT:
        return "input", "", excess[part]
    if part == Part.OTHER:
        return "Python or idle device", "", excess[part]
    operator, cause = _operator(ranks, index)
    return cause, _module(ranks, index, _HOLDS * excess[part]) or operator, excess[part]


def _excesses(tables: Sequence[dict[str, Cost]], index: int) -> dict[str, float]:
    """Per name: how much longer it took the rank than the median of the others."""
    others = [table for i, table in enumerate(tables) if i != index]
    zero = Cost(0, 0)
    return {
        name: cost.nanoseconds - float(np.median([table.get(name, zero).nanoseconds for table in others]))
        for name, cost in tables[index].items()
    }


def _module(ranks: Sequence[RankSummary], index: int, least: float) -> str:
    """The innermost module that holds most of what took longer in modules; "" where modules were not recorded, or took
    less than `least` nanoseconds longer."""
    tables = [rank.modules for rank in ranks]
    if not all(tables):
        return ""
    excess = _excesses(tables, index)
    most = max(excess.values(), default=0.0)
    enough = [name for name, value in excess.items() if value >= max(least, 0.6 * most) > 0]
    return min(enough, key=lambda name: (tables[index][name].nanoseconds, name)) if enough else ""


def _operator(ranks: Sequence[RankSummary], index: int) -> tuple[str, str]:
    """(the operator that took longer by most, what that says about the work)."""
    tables = [rank.operators for rank in ranks]
    excess = _excesses(tables, index)
    name = max(excess, key=lambda key: (excess[key], key), default="")
    costs = [table.get(name, Cost(0, 0)) for table in tables]
    others = [cost for i, cost in enumerate(costs) if i != index]
    calls, flops = (float(np.median([cost[field] for cost in others])) for field in (1, 2))
    if costs[index].calls > calls * (1 + _SAME_WORK) or costs[index].flops > flops * (1 + _SAME_WORK):
        return name, "more work"
    return name, "slower computation" if flops else "longer computation"
