"""Traces that are not as they should be: mended where that can be done, and said."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from mindtorch_v2.profiler.cli.source import read_profile
from mindtorch_v2.profiler.load.repair import find_trace
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.store.files import ProfileFileError


def _x(name: str, ts: object, dur: object, **more: object) -> dict[str, object]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 7, "tid": 8, "ts": ts, "dur": dur, **more}


def _names(store) -> list[str]:
    return [store.name_of(i) for i in range(len(store))]


ASCEND = [
    {"ph": "M", "name": "process_name", "pid": 23838566368, "args": {"name": "Ascend Hardware"}},
    {"ph": "M", "name": "process_labels", "pid": 23838566368, "args": {"labels": "NPU"}},
    {"ph": "M", "name": "process_name", "pid": 99, "args": {"name": "Overlap Analysis"}},
    {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "Python"}},
    _x("aten::mm", "1695262914098123.125", "40.500"),
    _x("Enqueue", "1695262914098130.000", "2.000", cat="enqueue"),
    _x("aten::add", "1695262914098170.000", "5.000"),
    {
        "ph": "s",
        "id": "9007199254740993123",
        "name": "torch_to_npu",
        "cat": "async_npu",
        "pid": 7,
        "tid": 8,
        "ts": "1695262914098131.000",
    },
    {
        "ph": "f",
        "bp": "e",
        "id": "9007199254740993123",
        "name": "torch_to_npu",
        "cat": "async_npu",
        "pid": 23838566368,
        "tid": 2,
        "ts": "1695262914098200.250",
    },
    {
        "ph": "X",
        "name": "MatMulV2",
        "pid": 23838566368,
        "tid": 2,
        "ts": "1695262914098200.250",
        "dur": "100.125",
        "args": {
            "Model Id": 4294967295,
            "Task Type": "AI_CORE",
            "Stream Id": 2,
            "Task Id": 9007199254740995,
            "Device Id": 3,
        },
    },
    {
        "ph": "X",
        "name": "MEMCPY_ASYNC",
        "pid": 23838566368,
        "tid": 5,
        "ts": "1695262914098400.000",
        "dur": "7.000",
        "args": {"Task Type": "MEMCPY_ASYNC"},
    },
    {"ph": "X", "name": "Computing", "pid": 99, "tid": 0, "ts": "1695262914098200.250", "dur": "100.125", "args": {}},
]


def test_a_folder_of_torch_npu(tmp_path):
    folder = tmp_path / "host_1_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    (folder / "trace_view.json").write_text(json.dumps(ASCEND))
    for named in (tmp_path, folder.parent, folder):
        found = read_profile(str(named))
        store = found.store
        assert any("times were text" in text for text in found.repairs) and any(
            "Overlap Analysis" in text for text in found.repairs
        )
        assert sorted(_names(store)) == ["Enqueue", "MEMCPY_ASYNC", "MatMulV2", "aten::add", "aten::mm"]
        kernel = _names(store).index("MatMulV2")
        assert store.kind[kernel] == Kind.KERNEL and store.end_ns[kernel] - store.start_ns[kernel] == 100_125
        assert store.kind[_names(store).index("MEMCPY_ASYNC")] == Kind.MEMCPY
        assert store.name_of(int(store.launcher[kernel])) in ("Enqueue", "aten::mm")
        assert store.threads[store.thread[kernel]].device == 3 and store.metadata.use_device == "npu"
        assert (
            int(store.start_ns[kernel] - store.start_ns[_names(store).index("aten::mm")]) == 77_125
        )  # to the nanosecond


def test_times_as_text_beside_durations_as_numbers(tmp_path):
    """As torch_npu writes them: exact to the nanosecond, and arrows are followed."""
    events = [{**event, "dur": float(event["dur"])} if "dur" in event else event for event in ASCEND]
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps(events))
    store = read_profile(str(path)).store
    kernel = _names(store).index("MatMulV2")
    assert store.name_of(int(store.launcher[kernel])) in ("Enqueue", "aten::mm")
    assert int(store.start_ns[kernel] - store.start_ns[_names(store).index("aten::mm")]) == 77_125
    assert int(store.end_ns[kernel] - store.start_ns[kernel]) == 100_125


def test_which_trace_of_a_folder(tmp_path):
    with pytest.raises(ProfileFileError, match="without a trace"):
        find_trace(tmp_path)
    for name in ("a.pt.trace.json", "b.pt.trace.json.gz"):
        (tmp_path / name).write_text("[]")
    with pytest.raises(ProfileFileError, match="2 traces"):
        find_trace(tmp_path)


@pytest.mark.parametrize(
    ("damage", "left", "said"),
    [
        (lambda t: t[:-40], 2, "ends before its end"),
        (lambda t: t.replace('"name": "b"', r'"name": "b\x"'), 3, "mended"),
        (lambda t: t.replace('"name": "b"', '"name": "say "b" twice"'), 3, "mended"),
        (lambda t: t.replace('"dur": 2', '"dur": '), 3, "mended"),
        (lambda t: t.replace('"dur": 2', '"dur": NaN'), 3, "not numbers"),
        (lambda t: t.replace('"name": "b"', '"nam: "b'), 2, "left out"),
        (lambda t: t.replace('"ts": 5', '"ts": "5.5"'), 3, "times were text"),
    ],
)
def test_damage_is_mended_or_left_out_and_said(tmp_path, damage, left, said):
    events = [_x("a", 1, 10), _x("b", 5, 2), _x("c", 20, 3)]
    text = json.dumps({"schemaVersion": 1, "traceEvents": events}, indent=1)
    path = tmp_path / "t.json"
    path.write_text(damage(text))
    found = read_profile(str(path))
    assert len(found.store) == left
    assert found.store.name_of(0) == "a" and any(said in repair for repair in found.repairs), found.repairs


@pytest.mark.parametrize("key", ["ph", "pid", "tid", "id", "name", "cat"])
def test_objects_in_place_of_names_and_numbers(tmp_path, key):
    path = tmp_path / "t.json"
    path.write_text(json.dumps([*ASCEND, {**_x("odd", 1, 2), key: {"a": [1]}}, _x("text", "5.5", 2)]))
    found = read_profile(str(path))
    assert "odd" not in _names(found.store) and "text" in _names(found.store)
    assert any("are lists or objects" in repair for repair in found.repairs), found.repairs


def test_begin_and_end_events_are_joined(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(
            [
                {**_x("outer", 0, 0), "ph": "B"},
                {**_x("inner", 2, 0), "ph": "B"},
                {**_x("", 5, 0), "ph": "E"},
                {**_x("", 9, 0), "ph": "E"},
            ]
        )
    )
    store = read_profile(str(path)).store
    assert [(n, int(e - s)) for n, s, e in zip(_names(store), store.start_ns, store.end_ns)] == [
        ("outer", 9000),
        ("inner", 3000),
    ]


def test_compressed_data_that_is_cut_off(tmp_path):
    events = [_x(f"op{i}", i, 1, args={"x": i * 7919}) for i in range(5000)]
    data = gzip.compress(json.dumps({"traceEvents": events}).encode())
    path = tmp_path / "t.json.gz"
    path.write_bytes(data[: len(data) * 2 // 3])
    found = read_profile(str(path))
    assert 1000 < len(found.store) < 5000 and any("compressed" in repair for repair in found.repairs)
    assert np.all(np.diff(found.store.start_ns) >= 0)


def test_what_cannot_be_repaired_keeps_its_first_error(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": [{"ph": "X", "cat": 5')
    with pytest.raises(ProfileFileError, match="not valid JSON"):
        read_profile(str(path))
