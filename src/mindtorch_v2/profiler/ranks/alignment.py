"""One time axis for clocks that differ: what each rank's clock must be moved by, and how far that can be wrong.

Three things are known, each as an interval that certainly holds the difference of two clocks:

- processes that read the same clock: exactly 0; traces of one machine that say no more: Unix time, which they convert
  each for itself;
- exchanges with the job's clock at the beginning and at the end of a profile: the answer was made between question and
  reply;
- collectives in which nobody ends before everybody has begun: an end on one rank is later than a beginning on another.

The difference lies in the intersection, most likely where collectives end on all ranks at once. Where that is empty,
the clocks ran apart during the profile, and the rank is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .collectives import MEETING, Collectives
from .summary import RankSummary

_UNKNOWN = 1 << 60
_WRITTEN = 20_000  # ns: how well processes of one machine agree on Unix time, each with a conversion of its own
_CERTAIN = MEETING - {"all_to_all"}  # there two ranks may have nothing for each other, and do not wait
Key = tuple[str | int, ...]
Moments = dict[Key, tuple[int, int]]  # (beginning, end) of collectives


class Alignment(NamedTuple):
    """How one rank's times become the reference's: `time + offset_ns`.

    uncertainty_ns   how far that can be wrong; None where nothing ties the rank to the reference
    source           what it is known from: "reference", "same clock", "same machine", "pings", "collectives", "pings
                     and
                     collectives", or "none"
    contradiction_ns how far the clocks ran apart during the profile beyond what one offset explains; 0 in sound
    profiles
    """

    offset_ns: int
    uncertainty_ns: int | None
    source: str
    contradiction_ns: int = 0


class _Bounds(NamedTuple):
    """Certain bounds of (clock of one rank) - (clock of another), in nanoseconds."""

    low: int = -_UNKNOWN
    high: int = _UNKNOWN

    def and_also(self, other: _Bounds) -> _Bounds:
        return _Bounds(max(self.low, other.low), min(self.high, other.high))

    @property
    def known(self) -> bool:
        return self.low > -_UNKNOWN and self.high < _UNKNOWN


def align(ranks: Sequence[RankSummary]) -> list[Alignment]:
    """The alignment of each rank to the first one."""
    made: dict[int, Alignment] = {0: Alignment(0, 0, "reference")}
    waiting = [0]
    moments = [_meetings(rank) for rank in ranks]
    while (
        waiting
    ):  # from the reference outwards: a rank that shares nothing with it may share something with a neighbour
        base = waiting.pop(0)
        for other in range(len(ranks)):
            if other not in made:
                found = _between(ranks[base], ranks[other], moments[base], moments[other])
                if found.uncertainty_ns is not None:
                    made[other] = _through(made[base], found)
                    waiting.append(other)
    return [made.get(i, _unaligned(ranks[0], rank)) for i, rank in enumerate(ranks)]


def _unaligned(reference: RankSummary, rank: RankSummary) -> Alignment:
    """As the machines' own Unix clocks say, of which nothing is known."""
    return Alignment(rank.unix_offset_ns - reference.unix_offset_ns, None, "none")


def _through(base: Alignment, step: Alignment) -> Alignment:
    if base.source == "reference":
        return step
    uncertainty = (base.uncertainty_ns or 0) + (step.uncertainty_ns or 0)
    return Alignment(base.offset_ns + step.offset_ns, uncertainty, step.source, step.contradiction_ns)


def _between(base: RankSummary, rank: RankSummary, at_base: Moments, at_rank: Moments) -> Alignment:
    """How `rank`'s times become those of `base`."""
    if base.clock and base.clock == rank.clock:
        return Alignment(0, 0, "same clock")
    pings, (met, ends) = _from_pings(base, rank), _from_collectives(at_base, at_rank)
    both = pings.and_also(met)
    written = rank.unix_offset_ns - base.unix_offset_ns
    one_machine = bool(base.host) and base.host == rank.host and not pings.known
    if one_machine and both.low - _WRITTEN <= written <= both.high + _WRITTEN:
        return Alignment(written, _WRITTEN, "same machine")
    if not both.known:
        return Alignment(0, None, "none")
    source = " and ".join(["pings"] * pings.known + ["collectives"] * met.known)
    if both.low > both.high:
        middle = (both.low + both.high) // 2
        return Alignment(middle, both.low - both.high, source, both.low - both.high)
    likely = (pings.low + pings.high) // 2 if pings.known else ends
    offset = min(max(likely, both.low), both.high)
    return Alignment(offset, max(both.high - offset, offset - both.low), source)


def _from_pings(base: RankSummary, rank: RankSummary) -> _Bounds:
    """Both ranks know how far the job's clock was ahead of theirs, at the beginning and at the end: the difference of
    the two, where
    the bounds of all exchanges hold. Over a profile two clocks drift apart by microseconds a second, which widens the
    bounds."""
    if not base.pings or not rank.pings:
        return _Bounds()
    low = min(p.offset_ns - p.uncertainty_ns for p in rank.pings) - max(
        p.offset_ns + p.uncertainty_ns for p in base.pings
    )
    high = max(p.offset_ns + p.uncertainty_ns for p in rank.pings) - min(
        p.offset_ns - p.uncertainty_ns for p in base.pings
    )
    tight_low = max(p.offset_ns - p.uncertainty_ns for p in rank.pings) - min(
        p.offset_ns + p.uncertainty_ns for p in base.pings
    )
    tight_high = min(p.offset_ns + p.uncertainty_ns for p in rank.pings) - max(
        p.offset_ns - p.uncertainty_ns for p in base.pings
    )
    return _Bounds(tight_low, tight_high) if tight_low <= tight_high else _Bounds(low, high)


def _meetings(rank: RankSummary) -> Moments:
    """(beginning, end) of the collectives in which everybody waits for everybody, by what identifies them on all
    ranks."""
    found = rank.collectives
    meets = np.array([name in _CERTAIN for name in found.names] or [False])[found.name] if len(found) else []
    return {
        key: (start, end)
        for key, start, end, is_meeting in zip(keys_of(found), found.start_ns.tolist(), found.end_ns.tolist(), meets)
        if is_meeting
    }


def keys_of(found: Collectives) -> list[Key]:
    """What identifies each collective on every rank of its group: its sequence id there. Without one it is its index
    among those like it in its step, which agrees on ranks that recorded as many of them; others get other keys."""
    columns = (found.group, found.name, found.seq, found.step, found.nbytes, found.alike, found.ordinal)
    made: list[Key] = []
    for group, name, seq, step, nbytes, alike, ordinal in zip(*(column.tolist() for column in columns)):
        text = found.names[name]
        size = 0 if text == "all_to_all" else nbytes
        made.append((found.groups[group], seq) if seq >= 0 else (found.groups[group], text, step, size, alike, ordinal))
    return made


def _from_collectives(at_base: Moments, at_rank: Moments) -> tuple[_Bounds, int]:
    """What collectives prove, and what is likely: that they end at the same moment on both ranks."""
    common = [(at_base[key], at_rank[key]) for key in at_base.keys() & at_rank.keys()]
    if not common:
        return _Bounds(), 0
    times = np.array(common)  # (collective, rank, beginning or end)
    proven = _Bounds(int((times[:, 0, 0] - times[:, 1, 1]).max()), int((times[:, 0, 1] - times[:, 1, 0]).min()))
    return proven, int(np.median(times[:, 0, 1] - times[:, 1, 1]))
