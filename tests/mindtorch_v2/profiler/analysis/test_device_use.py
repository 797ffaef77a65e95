"""Who waited for whom, from times made by hand; and device rows whose launch nobody recorded."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from mindtorch_v2._backends.device_work import KERNEL, MEMCPY, Work
from mindtorch_v2.profiler.analysis.device import device_use
from mindtorch_v2.profiler.analysis.facts import Facts
from mindtorch_v2.profiler.analysis.phases import LABELS
from mindtorch_v2.profiler.analysis.verdict import verdict
from mindtorch_v2.profiler.record.descriptions import Metadata, Options, ThreadInfo
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.results.event_list import build_events, key_averages
from mindtorch_v2.profiler.store.device_rows import add_device_rows
from mindtorch_v2.profiler.store.event_store import EventStore

from ..hand_made import E, make_store

MS = 1_000_000


def store_of(launches, work, kinds=None, streams=None):
    """A store of launches (start, end) and work (start, end, number of its launch or -1), times in milliseconds."""
    strings: dict[str, int] = {}
    count = len(launches)
    columns = {name: np.zeros(count, np.int64) for name in ("step", "thread", "name", "forward_thread", "flags")}
    columns |= {name: np.full(count, -1) for name in ("parent", "inputs", "stack", "module", "overload")}
    columns |= {
        "start_ns": np.array([round(a * MS) for a, _ in launches], np.int64),
        "sequence_nr": np.arange(1, count + 1),
        "end_ns": np.array([round(b * MS) for _, b in launches], np.int64),
        "kind": np.full(count, int(Kind.RUNTIME)),
    }
    number = [n + 1 if n >= 0 else 900 for _, _, n in work]
    done = Work(
        ["k"],
        np.array(kinds or [KERNEL] * len(work)),
        np.zeros(len(work), np.int64),
        np.array([round(a * MS) for a, _, _ in work]),
        np.array([round(b * MS) for _, b, _ in work]),
        np.zeros(len(work), np.int64),
        np.array(streams or [1] * len(work)),
        np.array(number),
        np.zeros(len(work), np.int64),
    )
    columns["name"][:] = strings.setdefault("launch", len(strings))
    whole, threads = add_device_rows(
        columns,
        lambda text: strings.setdefault(text, len(strings)),
        [ThreadInfo(1, 7000, "MainThread")],
        [("npu", SimpleNamespace(work=done))],
        lambda start: np.full(len(start), 3),
    )
    order = np.lexsort((-whole["end_ns"], whole["start_ns"]))
    back = np.append(np.argsort(order), -1)
    whole = {name: column[order] for name, column in whole.items()}
    whole["launcher"] = back[whole["launcher"]]
    last = int(max(whole["end_ns"].max(), 0))
    metadata = Metadata(
        start_ns=0, stop_ns=last, pid=1, host_name="host", trace_id="ID", user={}, options=Options(), use_device="npu"
    )
    return EventStore(whole, strings=list(strings), threads=threads, metadata=metadata)


def test_many_short_pieces_do_not_outweigh_a_long_wait():
    """Nine of ten pieces were waiting in the stream, but for 804 of 1147 ms there was nothing to do."""
    launches = [(i * 0.1, i * 0.1 + 0.05) for i in range(10)] + [(1146.0, 1146.5)]
    work = [(1 + i * 34.2, 1 + (i + 1) * 34.2, i) for i in range(10)] + [(1147.0, 1148.0, 10)]
    (use,) = device_use(store_of(launches, work))
    assert (use.busy_ns, use.idle_ns, use.starved_ns) == (343 * MS, 804 * MS, round((1146.5 - 343.0) * MS))
    assert use.bound == "host" and use.supplied_share == pytest.approx(1 - 803.5 / 1147)


def test_one_long_piece_outweighs_many_that_came_late():
    """Busy for 241.5 of 243.8 ms, though most pieces began as soon as they were launched."""
    launches = [(0.0, 0.1), *((240 + i * 0.4, 240.1 + i * 0.4) for i in range(10))]
    work = [(0.0, 239.5, 0), *((240.1 + i * 0.4, 240.3 + i * 0.4, i + 1) for i in range(9)), (243.7, 243.8, 10)]
    (use,) = device_use(store_of(launches, work))
    assert use.busy_ns + use.idle_ns == round(243.8 * MS) and use.busy_ns == pytest.approx(241.4 * MS)
    assert use.bound == "device"


def test_idle_time_with_launched_work_is_the_devices_own():
    """Between its pieces the device stands still, though all had been launched at the beginning."""
    launches = [(0.0, 0.1), (0.1, 0.2), (0.2, 0.3)]
    (use,) = device_use(store_of(launches, [(1, 2, 0), (11, 12, 1), (21, 22, 2)]))
    assert (use.busy_ns, use.idle_ns, use.starved_ns, use.bound) == (3 * MS, 18 * MS, 0, "unknown")
    judged = verdict(SimpleNamespace(total=lambda: dict.fromkeys(LABELS, MS)), [use])
    assert judged.bound == "unknown" and "Work has been launched for 100% of it" in judged.sentence


def test_copies_and_kernels_of_two_streams():
    launches = [(0.0, 0.1), (0.1, 0.2)]
    (use,) = device_use(store_of(launches, [(1, 5, 0), (3, 9, 1)], [KERNEL, MEMCPY], [1, 2]))
    assert (use.busy_ns, use.kernel_ns, use.copy_ns, use.overlap_ns, use.parallel_ns) == (
        8 * MS,
        4 * MS,
        6 * MS,
        2 * MS,
        2 * MS,
    )


def test_work_that_nobody_is_known_to_have_launched():
    store = store_of([(0.0, 0.1)], [(1, 2, 0), (5, 6, -1)])
    # the step in which it began
    assert store.launcher.tolist().count(-1) == 2 and sorted(store.step.tolist()) == [0, 0, 3]
    (use,) = device_use(store)
    assert use.work == 2 and use.starved_ns == 3 * MS
    assert [e.name for e in build_events(store)].count("k") == 2
    (row,) = (r for r in key_averages(store)._build_rows() if r["name"] == "k")
    assert row == {
        "name": "k",
        "device_type": "NPU",
        "count": 2,
        "total_time_ns": 2 * MS,
        "self_time_ns": 2 * MS,
        "avg_time_ns": float(MS),
    }


def test_only_work_of_others():
    (use,) = device_use(store_of([], [(1, 2, -1), (3, 4, -1)]))
    assert (use.work, use.busy_ns, use.idle_ns, use.starved_ns, use.delay_ns) == (2, 2 * MS, MS, MS, 0)


def test_no_verdict_where_launched_work_was_not_recorded():
    events = [E("aten::mm", 0, 900), E("cudaLaunchKernel", 100, 800, Kind.RUNTIME)]
    facts = Facts(make_store(events))
    assert facts.has_unseen_work
    found = verdict(facts.phases, [], facts.has_unseen_work)
    assert (found.bound, found.sentence.split(":")[0]) == ("unknown", "No verdict")
    for seen in (events[:1], [E("cudaMalloc", 100, 800, Kind.RUNTIME)]):
        assert not Facts(make_store(seen)).has_unseen_work
    assert not Facts(store_of([(0, 1)], [(2, 3, 0)])).has_unseen_work


def test_what_calls_cost_beside_a_device_that_works():
    """Calls from 0 to 4 and from 6 to 8; the device works from 1 to 7, for 2 of it on the first call."""
    store = store_of([(0, 4), (6, 8), (0.5, 0.6)], [(1, 3, 0), (3, 7, 2)])
    facts = Facts(store)
    calls = np.flatnonzero(np.isin(facts.tree.start_ns, [0, 6 * MS]) & (facts.tree.device_type == 0))
    assert len(calls) == 2
    assert facts.gain_ns(calls) == (1 + 1 + 2) * MS  # alone: before 1, after 7; and what the device did for the first
    alone = Facts(make_store([E("aten::a", 0, 4), E("aten::b", 6, 8)]))
    assert alone.gain_ns(np.arange(2)) == 6
