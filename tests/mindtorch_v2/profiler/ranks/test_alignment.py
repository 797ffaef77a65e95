"""Clocks of ranks: what ties them together, and how well."""

from __future__ import annotations

from mindtorch_v2.profiler.ranks.alignment import Alignment, align
from mindtorch_v2.profiler.ranks.answer import JobAnswer
from mindtorch_v2.profiler.ranks.summary import RankSummary, summarize
from mindtorch_v2.profiler.record.kinds import Kind

from ..hand_made import E
from .jobs import facts, rank_store


def _rank(rank: int, meetings: list[tuple[int, int]], ahead: int = 0, first_seq: int = 0, **more) -> RankSummary:
    """A rank that meets others at these times (beginning, end) of the true clock; its own is `ahead` of that."""
    events = [
        E(
            "gloo:all_reduce",
            begin + ahead,
            end + ahead,
            kind=Kind.SCOPE,
            inputs=facts("all_reduce", 1, range(4), first_seq + seq),
        )
        for seq, (begin, end) in enumerate(meetings)
    ]
    return summarize(rank_store(rank, 4, events, **more))


def test_one_machine_has_one_clock() -> None:
    ranks = [_rank(0, [(0, 10)], clock="a"), _rank(1, [(3, 10)], clock="a")]
    assert align(ranks) == [Alignment(0, 0, "reference"), Alignment(0, 0, "same clock")]


def test_collectives_bound_the_difference_of_two_clocks() -> None:
    # Rank 1's clock is 5,000 ahead. In the first it comes last, in the second rank 0 does: an end is never before a
    # beginning.
    first = _rank(0, [(0, 1_000), (3_000, 3_400)])
    second = _rank(1, [(800, 1_000), (2_000, 3_400)], ahead=5_000)
    found = align([first, second])[1]
    assert found.source == "collectives"
    low, high = 3_000 - 8_400, 1_000 - 5_800
    assert (found.offset_ns, found.uncertainty_ns) == (-5_000, max(high + 5_000, -5_000 - low))


def test_an_end_that_was_noticed_late_is_bounded_by_what_is_certain() -> None:
    first, second = _rank(0, [(0, 1_000)]), _rank(1, [(900, 9_000)])
    assert align([first, second])[1] == Alignment(-8_000, 8_100, "collectives")


def test_traces_of_one_machine_have_its_time() -> None:
    ranks = [_rank(0, [(0, 900_000)], host="a"), _rank(1, [(800_000, 900_000)], host="a")]
    assert align(ranks)[1] == Alignment(0, 20_000, "same machine")
    wrong = _rank(1, [(2_000_000, 2_100_000)], host="a")
    assert align([ranks[0], wrong])[1].source == "collectives"


def test_exchanges_with_the_jobs_clock_align_ranks_that_never_met() -> None:
    ranks = [_rank(0, [], pings=[(100, 50, 10), (900, 52, 8)]), _rank(1, [], pings=[(100, -950, 20), (900, -950, 12)])]
    found = align(ranks)[1]
    # Rank 0 is behind the job's clock by 44 to 60, rank 1 ahead of it by 938 to 962.
    assert (found.source, found.contradiction_ns) == ("pings", 0)
    assert found.offset_ns - (found.uncertainty_ns or 0) <= -1_001 <= found.offset_ns + (found.uncertainty_ns or 0)
    assert found.uncertainty_ns == 20


def test_a_rank_is_aligned_through_another() -> None:
    ranks = [
        _rank(0, [(0, 10)]),
        _rank(1, [(0, 10), (20, 30)], ahead=100),
        _rank(2, [(20, 30)], ahead=-40, first_seq=1),
    ]
    found = align(ranks)
    assert found[2].offset_ns == 40 and found[2].uncertainty_ns == 20


def test_what_cannot_be_aligned_is_marked_and_takes_no_part() -> None:
    ranks = [_rank(0, [(0, 10)]), _rank(1, [(500, 600)], first_seq=7)]
    job = JobAnswer(ranks)
    assert not job.is_aligned and job.alignments[1].uncertainty_ns is None
    assert any("rank 1 cannot be aligned" in text for text in job.problems)
    assert job.meetings.unmatched == 1 and job.straggler is None


def test_clocks_that_run_apart_are_told_of() -> None:
    first = _rank(0, [(0, 10), (100_000, 100_010)])
    second = _rank(1, [(0, 10), (103_000, 103_010)])
    found = align([first, second])[1]
    assert found.contradiction_ns == 2_980 and found.uncertainty_ns == 2_980
    assert any("ran apart" in text for text in JobAnswer([first, second]).problems)


def test_a_trace_of_another_base_is_on_the_ranks_own_clock() -> None:
    """An exported trace counts from another moment than the profile; its metadata leads back."""
    events = [E("gloo:all_reduce", 1_000, 2_000, kind=Kind.SCOPE, inputs=facts("all_reduce", 1, range(2), 0))]
    store = rank_store(0, 2, events, clock="a", epoch=500)
    moved = store.replaced(
        {**store.columns, "start_ns": store.start_ns - 300, "end_ns": store.end_ns - 300}
    ).with_metadata(epoch_offset_ns=800)
    assert summarize(moved).collectives.start_ns.tolist() == summarize(store).collectives.start_ns.tolist() == [1_000]
