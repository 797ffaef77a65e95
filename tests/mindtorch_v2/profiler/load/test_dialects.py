"""Traces of other devices and of other versions of PyTorch: nothing is lost, merged, or counted at the wrong place."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal

import pytest

from mindtorch_v2.profiler import load
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.store.join import concat

from .traces import PID, TID, gpu_events, named, write, x


def slices(path):
    """What a trace says about its slices, as a tool that reads it would see it."""
    trace = json.loads(path.read_text(), parse_float=Decimal)
    return Counter(
        (e["cat"], e["name"], e["ts"], e["dur"], e["pid"], e["tid"])
        for e in trace["traceEvents"]
        if e["ph"] == "X" and e["cat"] != "Trace"
    )


def exported(prof, path):
    prof.export_chrome_trace(path)
    return {(e["cat"], e["name"]): e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"}


# ---- what is written again
# --------------------------------------------------------------------------------------------


def dialect():
    return [
        *(e for e in gpu_events() if e.get("cat") != "overhead"),
        x("cuda_profiler_range", "counters", 101.0, 2.0, 0, 0, smsp__cycles=5),
        x("gpu_user_annotation", "nobody's", 85.0, 1.0, 0, 7, External_id=77),
        x("gpu_user_annotation", "plain", 87.0, 1.0, 0, 7),
        x("kernel", "graph node", 99.0, 0.0, 0, 7, device=0, stream=7, correlation=4711),
        x("cuda_sync", "Device Sync", 96.0, 1.0, 0, -1, device=0, stream=4294967295, cuda_sync_kind="Device Sync"),
        x("cuda_event", "recorded", 97.0, 1.0, 0, 7, device=0, stream=7),
        x("cpu_op", "aten::sum", 82.0, 3.0),
        x("cpu_op", "aten::sum", 82.5, 2.0),
        x("cpu_op", "aten::is_leaf", 86.0, 1.0),
    ]


def test_an_export_has_the_events_of_the_trace(tmp_path):
    """Also those that lists merge or leave out."""
    source = write(tmp_path / "t.json", dialect())
    load(source).export_chrome_trace(tmp_path / "again.json")
    assert slices(tmp_path / "again.json") == slices(source)
    assert (
        json.loads((tmp_path / "again.json").read_text())["baseTimeNanoseconds"]
        == json.loads(source.read_text())["baseTimeNanoseconds"]
    )
    load(tmp_path / "again.json").export_chrome_trace(tmp_path / "third.json")
    assert slices(tmp_path / "third.json") == slices(source)


def test_annotations_of_devices_are_no_kernels(tmp_path):
    """Tools take what has a stream for a kernel: an annotation gains none."""
    found = exported(load(write(tmp_path / "t.json", dialect())), tmp_path / "again.json")
    step = found["user_annotation", "ProfilerStep#4"]
    assert found["gpu_user_annotation", "ProfilerStep#4"]["args"] == {"External id": step["args"]["External id"]}
    assert found["gpu_user_annotation", "nobody's"]["args"] == found["gpu_user_annotation", "plain"]["args"] == {}
    assert found["cuda_profiler_range", "counters"]["args"] == {"smsp__cycles": 5}


def test_what_was_launched_by_nobody_names_no_operator(tmp_path):
    found = exported(load(write(tmp_path / "t.json", dialect())), tmp_path / "again.json")
    assert found["kernel", "graph node"]["args"] == {"device": 0, "stream": 7, "correlation": 4711}
    assert found["cuda_sync", "Device Sync"]["args"] == {
        "device": 0,
        "stream": 4294967295,
        "cuda_sync_kind": "Device Sync",
    }
    assert found["cuda_event", "recorded"]["args"] == {"device": 0, "stream": 7}


def test_an_annotation_of_a_device_is_in_the_step_that_it_mirrors(tmp_path):
    prof = load(write(tmp_path / "t.json", gpu_events()))
    mirror = next(e for e in prof.events() if e.name == "ProfilerStep*" and e.device_type == "CUDA")
    assert mirror["step"] == 4 and mirror.device_time_total == 50 and prof.validate() == []


# ---- events without length
# --------------------------------------------------------------------------------------------


def without_length():
    """Whole microseconds, as PyTorch before 2.3 wrote them."""
    return [
        x("cpu_op", "aten::a", 0, 100),
        *(x("cuda_runtime", "cudaEventQuery", 10, 0) for _ in range(3)),
        x("cuda_runtime", "cudaEventQuery", 12, 2),
        x("cuda_runtime", "cudaEventQuery", 14, 0),
        x("cuda_runtime", "cudaEventQuery", 16, 0),
        x("cuda_runtime", "cudaEventQuery", 16, 2),
        *(x("cpu_op", "aten::view", 20, 0) for _ in range(2)),
        x("cpu_op", "aten::view", 22, 2),
        x("cpu_op", "aten::view", 24, 0),
        x("cpu_op", "aten::view", 30, 3),
        x("cpu_op", "aten::view", 30, 0),
        x("cpu_op", "aten::launches", 40, 5),
        x("cuda_runtime", "cudaLaunchKernel", 45, 0, correlation=9),
        x("kernel", "k", 50, 7, 0, 7, device=0, stream=7, correlation=9),
    ]


def test_events_without_length_stand_beside_each_other(tmp_path):
    source = write(tmp_path / "t.json", without_length())
    prof = load(source)
    counts = {row.key: row.count for row in prof.key_averages()}
    assert (counts["cudaEventQuery"], counts["aten::view"]) == (7, 6) and prof.validate() == []
    assert all(not e.cpu_children for e in prof.events() if e.time_range.elapsed_us() == 0)
    assert {e.cpu_parent.name for e in prof.events() if e.name == "cudaEventQuery" and e.time_range.start < 16} == {
        "aten::a"
    }
    prof.export_chrome_trace(tmp_path / "again.json")
    assert slices(tmp_path / "again.json") == slices(source)
    prof.save(tmp_path / "p.prof")
    assert {row.key: row.count for row in load(tmp_path / "p.prof").key_averages()} == counts


def test_a_launch_without_length_belongs_to_the_operator_that_it_touches(tmp_path):
    prof = load(write(tmp_path / "t.json", without_length()))
    assert {row.key: row.self_device_time_total for row in prof.key_averages() if row.self_device_time_total} == {
        "aten::launches": 7,
        "k": 7,
    }


def test_calls_of_a_runtime_are_never_merged(tmp_path):
    """Even where one lies inside another of the same name and is its only child."""
    prof = load(
        write(
            tmp_path / "t.json",
            [
                x("cuda_runtime", "cudaMalloc", 0.0, 10.0),
                x("cuda_runtime", "cudaMalloc", 2.0, 5.0),
                x("cpu_op", "aten::sum", 20.0, 10.0),
                x("cpu_op", "aten::sum", 22.0, 5.0),
            ],
        )
    )
    assert {row.key: row.count for row in prof.key_averages()} == {"cudaMalloc": 2, "aten::sum": 1}


# ---- other devices
# ----------------------------------------------------------------------------------------------------


def mtia_events(category="mtia_ccp_events", labels=True):
    return [
        x(category, "pe_exe", 5.0, 40.0, 17, 3910, stream=104, sqid=3, correlation=21),
        named("process_name", PID, 0, "python3"),
        *([named("process_labels", PID, 0, "CPU"), named("process_labels", 17, 0, "MTIA 17")] if labels else []),
        x("cpu_op", "aten::add", 0.0, 10.0),
        x("mtia_runtime", "runFunction", 1.0, 2.0, correlation=21),
        x(category, "event_wait", 20.0, 30.0, 17, 3774, stream=108),
        x(category, "dma_request", 50.0, 5.0, 17, 3774),
    ]


@pytest.mark.parametrize("category", ["mtia_ccp_events", "mtia_insight", "a_future_device"])
@pytest.mark.parametrize("labels", [True, False])
def test_events_of_other_devices_are_device_time(tmp_path, category, labels):
    source = write(tmp_path / "t.json", mtia_events(category, labels))
    prof = load(source)
    rows = {row.key: row for row in prof.key_averages()}
    assert {key: row.self_cpu_time_total for key, row in rows.items() if row.self_cpu_time_total} == {
        "aten::add": 8,
        "runFunction": 2,
    }
    assert {key: row.self_device_time_total for key, row in rows.items()} == {
        "aten::add": 40,
        "runFunction": 0,
        "pe_exe": 40,
        "event_wait": 30,
        "dma_request": 5,
    }
    event = next(e for e in prof.events() if e.name == "event_wait")
    assert (event.device_index, event.device_resource_id, event.cpu_parent, prof.use_device) == (17, 3774, None, "mtia")
    assert prof.store.metadata.pid == PID and prof.validate() == []
    found = exported(prof, tmp_path / "again.json")
    assert slices(tmp_path / "again.json") == slices(source)
    assert found[category, "event_wait"]["args"] == {"stream": 108} and found[category, "dma_request"]["args"] == {}


def test_an_unknown_category_in_the_host_process_is_the_hosts(tmp_path):
    events = [
        x("cpu_op", "aten::add", 0.0, 10.0),
        x("my_tool", "phase", 20.0, 5.0),
        x("hip_runtime", "hipFree", 30.0, 1.0),
    ]
    prof = load(write(tmp_path / "t.json", events))
    assert {row.key: row.self_cpu_time_total for row in prof.key_averages()} == {
        "aten::add": 10,
        "phase": 5,
        "hipFree": 1,
    }
    assert {cat for cat, _ in exported(prof, tmp_path / "again.json")} == {"cpu_op", "my_tool", "hip_runtime", "Trace"}


def test_a_trace_of_nothing_but_unknown_categories_is_the_hosts(tmp_path):
    prof = load(write(tmp_path / "t.json", [x("a", "p", 0.0, 1.0, 1, 1), x("b", "q", 2.0, 3.0, 2, 1)]))
    assert [(e.name, e.device_type, e.cpu_time_total) for e in prof.events()] == [("p", "CPU", 1), ("q", "CPU", 3)]


def test_more_categories_than_numbers(tmp_path):
    """Those beyond are others, without their names."""
    prof = load(write(tmp_path / "t.json", [x(f"c{i}", f"e{i}", float(i), 0.5) for i in range(300)]))
    assert len(prof.events()) == 300 and set(prof.store.kind.tolist()) == {Kind.OTHER}
    assert len({cat for cat, _ in exported(prof, tmp_path / "again.json")} - {"Trace"}) == 225


def test_categories_survive_joining(tmp_path):
    stores = [load(write(tmp_path / f"{i}.json", [x(f"c{i}", "e", 1.0 + i, 0.5)])).store for i in range(2)]
    joined = concat(stores)
    assert [joined.strings[i] for i in joined.category.tolist()] == ["c0", "c1"]


# ---- PyTorch 1.9
# ------------------------------------------------------------------------------------------------------


def memory_record(ts, size, device=0):
    return {
        "ph": "i",
        "s": "t",
        "name": "[memory]",
        "pid": PID,
        "tid": TID,
        "ts": ts,
        "args": {"Device Type": device, "Device Id": -1 if device == 0 else 0, "Bytes": size},
    }


def test_memory_records_without_addresses(tmp_path):
    events = [
        x(
            "Operator",
            "aten::empty",
            0,
            10,
            Device=PID,
            External_id=2,
            Trace_name="PyTorch Profiler",
            Trace_iteration=0,
        ),
        memory_record(1, 64),
        memory_record(2, 32),
        memory_record(3, -64),
        memory_record(4, 64),
        memory_record(5, -32),
        memory_record(6, -16),
        memory_record(7, 64, 1),
    ]
    prof = load(write(tmp_path / "t.json", events))
    memory = prof.store.memory
    assert memory.nbytes.tolist() == [64, 32, -64, 64, -32, -16, 64] and prof.events()[0].self_cpu_memory_usage == 48
    blocks = memory.address.tolist()
    assert blocks[0] == blocks[2] and blocks[1] == blocks[4], "what is given back is the newest block of its size"
    assert len(set(blocks)) == 5 and max(blocks) < 0
    prof.export_memory_timeline(tmp_path / "m.json", "cpu")
    assert sum(json.loads((tmp_path / "m.json").read_text())[1][-1]) == 64
    prof.export_chrome_trace(tmp_path / "again.json")
    records = [
        e["args"] for e in json.loads((tmp_path / "again.json").read_text())["traceEvents"] if e["name"] == "[memory]"
    ]
    assert len(records) == 7 and not any("Addr" in args for args in records)
    assert load(tmp_path / "again.json").store.memory == memory
