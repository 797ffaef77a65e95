"""Jobs of known times: who waits, for whom, and why; exact to the nanosecond."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mindtorch_v2.profiler.ranks.answer import JobAnswer, RankRow
from mindtorch_v2.profiler.ranks.meeting import Bandwidth
from mindtorch_v2.profiler.ranks.merge import merge_stores
from mindtorch_v2.profiler.ranks.summary import Cost, summarize
from mindtorch_v2.profiler.record.kinds import Flag, Kind
from mindtorch_v2.profiler.store.event_store import HeldTable, MemoryTable, OwnedTable, ReferenceTable

from ..hand_made import E
from .jobs import facts, rank_store, step

SIZE = 3


def _job(compute: list[int], load: list[int] | None = None, names: list[str] | None = None) -> JobAnswer:
    """Four steps of three ranks on one clock: the transfer takes 1,000 ns once the last rank has come."""
    load = load or [0] * SIZE
    slowest = max(c + d for c, d in zip(compute, load))
    stores = []
    for rank in range(SIZE):
        events: list[E] = []
        for number in range(4):
            waiting = slowest - compute[rank] - load[rank]
            start = number * (slowest + 1000)
            name = names[rank] if names else "aten::mm"
            events += step(number, start, compute[rank], waiting + 1000, SIZE, number, load[rank], name)
        stores.append(rank_store(rank, SIZE, events, clock="one"))
    return JobAnswer([summarize(store) for store in stores])


def test_time_by_rank_sums_to_the_wall_clock_and_tells_waiting_from_transfer() -> None:
    job = _job([5000, 9000, 6000])
    assert job.time_by_rank == [
        RankRow(0, 40_000, 20_000, 4_000, 16_000, 0, 0),
        RankRow(1, 40_000, 36_000, 4_000, 0, 0, 0),
        RankRow(2, 40_000, 24_000, 4_000, 12_000, 0, 0),
    ]


def test_bandwidth_is_that_of_the_transfer_alone() -> None:
    job = _job([5000, 9000, 6000])
    assert job.bandwidths == [Bandwidth("all_reduce", 4000, 3, 4, 1000, 4e9, 4e9 * 4 / 3)]


def test_the_straggler_is_named_with_its_cause() -> None:
    found = _job([5000, 9000, 6000]).straggler
    assert found is not None
    assert (found.rank, found.last_in, found.collectives, found.share) == (1, 4, 4, 1.0)
    assert (found.cause, found.where, found.excess_ns) == ("longer computation", "aten::mm", 4 * 3500)
    assert found.waited_ns == (16_000 + 12_000) // 2 and "Rank 1 holds the others up" in found.sentence


def test_a_module_is_named_where_it_holds_what_takes_longer() -> None:
    summaries = _job([5000, 9000, 6000]).ranks  # rank 1 computes 14,000 ns longer than the median of the others
    for excess, where in ((100, "aten::mm"), (4000, "net")):
        known = [replace(s, modules={"net": Cost(5000 + excess * (s.rank == 1), 4)}) for s in summaries]
        found = JobAnswer(known).straggler
        assert found is not None and found.where == where


def test_slow_input_is_the_cause_where_it_is() -> None:
    found = _job([5000, 5000, 5000], load=[100, 100, 4100]).straggler
    assert found is not None and (found.rank, found.cause, found.excess_ns) == (2, "input", 16_000)


def test_an_operator_that_only_one_rank_calls_is_more_work() -> None:
    found = _job([5000, 9000, 5000], names=["aten::mm", "aten::sort", "aten::mm"]).straggler
    assert found is not None and (found.cause, found.where) == ("more work", "aten::sort")


def test_equal_ranks_have_no_straggler() -> None:
    job = _job([5000, 5000, 5000])
    assert job.straggler is None and "balanced" in job.verdict
    assert job.imbalance == []


def test_imbalance_names_the_slowest_rank() -> None:
    (row,) = _job([5000, 9000, 7000]).imbalance
    assert (row.name, row.mean_ns, row.slowest_ns, row.slowest_rank, row.excess_ns) == (
        "aten::mm",
        28_000,
        36_000,
        1,
        8_000,
    )


def _asynchronous(rank: int, begins: int, ends: int) -> list[E]:
    """Computes until 10,000 and then waits; the collective runs meanwhile."""
    return [
        E("ProfilerStep#0", 0, ends, kind=Kind.STEP),
        E("aten::mm", 0, 10_000),
        E(
            "gloo:all_reduce",
            begins,
            ends,
            kind=Kind.SCOPE,
            inputs=facts("all_reduce", 10, range(2), 0),
            flags=Flag.ASYNC,
        ),
        E("c10d::wait", 10_000, ends, kind=Kind.FUNCTION),
    ]


def test_what_computation_hides_is_no_communication() -> None:
    stores = [rank_store(r, 2, _asynchronous(r, begins, 12_000), "one") for r, begins in ((0, 1_000), (1, 11_000))]
    job = JobAnswer([summarize(store) for store in stores])
    # Rank 1 came at 11,000: rank 0 had nothing to do since 10,000, and waited a thousand nanoseconds for it.
    assert job.time_by_rank[0] == RankRow(0, 12_000, 10_000, 1_000, 1_000, 0, 0)
    assert job.time_by_rank[1] == RankRow(1, 12_000, 10_000, 1_000, 0, 0, 1_000)


def test_receivers_of_a_broadcast_wait_for_its_source_alone() -> None:
    def rank(number: int, begins: int) -> list[E]:
        told = facts("broadcast", 10, range(3), 0, **{"Src Rank": 0})
        return [
            E("ProfilerStep#0", 0, 10_000, kind=Kind.STEP),
            E("gloo:broadcast", begins, 10_000, kind=Kind.SCOPE, inputs=told),
        ]

    starts = (4_000, 1_000, 9_000)
    job = JobAnswer([summarize(rank_store(r, 3, rank(r, s), "one")) for r, s in enumerate(starts)])
    assert [row.waiting_ns for row in job.time_by_rank] == [0, 3_000, 0]


def test_missing_and_repeated_ranks_are_told_of() -> None:
    events = step(0, 0, 100, 100, 4, 0)
    summaries = [summarize(rank_store(r, 4, events, "one")) for r in (0, 2, 2)]
    job = JobAnswer(summaries)
    assert [rank.rank for rank in job.ranks] == [0, 2]
    assert "rank 2 has several files; the one that ends last counts" in job.problems
    assert "2 ranks of the job are missing: 1, 3" in job.problems


@pytest.mark.parametrize(
    ("path", "rank"), [("x/rank-3.json", 3), ("rank12_trace.json.gz", 12), ("a.json", 0), ("prank3.json", 0)]
)
def test_a_file_name_numbers_a_rank_that_does_not_say_its_own(path: str, rank: int) -> None:
    summary = summarize(rank_store(7, 8, step(0, 0, 10, 10, 1, 0), told=False), path)
    assert JobAnswer([summary]).ranks[0].rank == rank


def test_joined_ranks_keep_their_tensors_and_memory_apart() -> None:
    """Each process counts blocks, tensors and nodes from one: joined they must not be taken for each other."""
    parts = []
    for rank in range(2):
        store = rank_store(rank, 2, [E("aten::mm", 100, 200, seq=7)], clock="one")
        store = store.replaced(
            store.columns,
            memory=MemoryTable({"time_ns": [150], "block": [3], "nbytes": [8], "row": [0], "thread": [0]}),
            scratch=MemoryTable({"time_ns": [160], "block": [4], "nbytes": [16], "row": [0], "thread": [0]}),
            held=HeldTable({"time_ns": [90, 90], "block": [0, 3]}),
            references=ReferenceTable({"row": [0], "argument": [1], "tensor": [5], "block": [3]}),
            owned=OwnedTable({"time_ns": [95], "row": [0], "tensor": [5], "block": [0]}),
        )
        parts.append((rank, 1000 * rank, store))
    joined = merge_stores(parts)
    apart = 1 << 40
    assert joined.start_ns.tolist() == [100, 1100] and joined.sequence_nr.tolist() == [7, 7 + apart]
    assert joined.memory.time_ns.tolist() == [150, 1150] and joined.memory.block.tolist() == [3, 3 + apart]
    assert joined.scratch.time_ns.tolist() == [160, 1160] and joined.scratch.block.tolist() == [4, 4 + apart]
    assert joined.held.time_ns.tolist() == [90, 90, 1090, 1090] and joined.held.block.tolist() == [0, 3, 0, 3 + apart]
    assert joined.references.row.tolist() == [0, 1] and joined.references.tensor.tolist() == [5, 5 + apart]
    assert joined.owned.row.tolist() == [0, 1] and joined.owned.time_ns.tolist() == [95, 1095]
    assert joined.owned.block.tolist() == [0, 0]
