"""Formats of other tools: written from hand-made stores and read back by their published structure."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
from collections.abc import Iterator
from typing import Any

import jsonschema
import numpy as np
import pytest

from mindtorch_v2.profiler.export import memory_snapshot, perfetto, speedscope
from mindtorch_v2.profiler.export.columns import HEADS, write_csv, write_parquet
from mindtorch_v2.profiler.export.folded import write_collapsed, write_pprof
from mindtorch_v2.profiler.export.slices import boundaries, tracks
from mindtorch_v2.profiler.record.kinds import Flag, Kind

from ..hand_made import E, M, make_store, tensors


def _store():
    return make_store(
        [
            E("train.py(3): main", 0, 100, Kind.PYTHON),
            E("aten::linear", 10, 60, seq=1, inputs=tensors((2, 3)), stack=("train.py(3): main",)),
            E("aten::mm", 10, 60),
            E("empty", 60, 60),
            E("inner", 60, 60),
            E("=evil", 70, 80, stack=("train.py(3): main",)),
            E("node", 85, 95, Kind.NODE, seq=1, forward_thread=1),
            E("MmBackward0", 85, 95, Kind.BACKWARD, seq=1, forward_thread=1),
            E("late", 20, 90, flags=int(Flag.ASYNC)),
            E("later", 30, 95, flags=int(Flag.ASYNC)),
            E("worker", 5, 50, thread=1),
        ],
        [M(15, 4096, 512), M(75, 8192, 256), M(78, 4096, -512)],
        threads=2,
        profile_memory=True,
    )


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of the fields of a message in the wire format of protocol buffers."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, data[at : at + 8]
            at += 8
        else:
            assert key & 7 == 2
            length = varint()
            yield key >> 3, data[at : at + length]
            at += length


def test_every_end_closes_the_newest_open_beginning_on_its_track():
    store = _store()
    seen = []
    for track in tracks(store):
        open_rows, last = [], -1
        for time, begins, row in boundaries(store, track):
            assert time >= last
            last = time
            if begins:
                open_rows.append(row)
                seen.append(row)
            else:
                assert open_rows.pop() == row
        assert not open_rows
    assert sorted(seen) == list(range(len(store)))


def test_perfetto(tmp_path):
    path = tmp_path / "x.pftrace"
    perfetto.write(_store(), path)
    packets = [dict(fields(packet)) for number, packet in fields(path.read_bytes()) if number == 1]
    names, stacks, slices, counters = {}, {}, [], []
    for packet in packets:
        for number, message in fields(packet.get(12, b"")):
            if number == 2:
                entry = dict(fields(message))
                names[entry[1]] = entry[2].decode()
        if 11 in packet:
            event = dict(fields(packet[11]))
            if event[9] == 1:
                stacks.setdefault(event[11], []).append((names[event[10]], packet[8]))
            elif event[9] == 2:
                name, start = stacks[event[11]].pop()
                slices.append((name, start, packet[8]))
            else:
                counters.append((packet[8], event[30]))
    store = _store()
    assert sorted(slices) == sorted(
        (store.name_of(i), int(store.start_ns[i]), int(store.end_ns[i])) for i in range(len(store))
    )
    assert counters == [(15, 512), (75, 768), (78, 256)]
    flows = [number for packet in packets if 11 in packet for number, _ in fields(packet[11]) if number in (47, 48)]
    assert sorted(flows) == [47, 48]
    assert any(dict(fields(dict(fields(p[60])).get(4, b""))).get(5) == b"worker 1" for p in packets if 60 in p)


SPEEDSCOPE = {  # the structure that speedscope publishes, as far as evented profiles go
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "shared": {
            "type": "object",
            "required": ["frames"],
            "properties": {"frames": {"type": "array", "items": {"type": "object", "required": ["name"]}}},
        },
        "profiles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "name", "unit", "startValue", "endValue", "events"],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "evented"},
                    "name": {"type": "string"},
                    "unit": {"const": "nanoseconds"},
                    "startValue": {"type": "number"},
                    "endValue": {"type": "number"},
                    "events": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["type", "frame", "at"],
                            "properties": {"type": {"enum": ["O", "C"]}},
                        },
                    },
                },
            },
        },
    },
}


def test_speedscope(tmp_path):
    path = tmp_path / "x.speedscope.json"
    speedscope.write(_store(), path)
    data = json.loads(path.read_text())
    jsonschema.validate(data, SPEEDSCOPE)
    assert [p["name"] for p in data["profiles"]] == [
        "MainThread (7000)",
        "worker 1 (7001)",
        "asynchronous",
        "asynchronous (2)",
    ]
    for profile in data["profiles"]:
        times = [e["at"] for e in profile["events"]]
        assert times == sorted(times) and profile["startValue"] == times[0] and profile["endValue"] == times[-1]


def test_pprof(tmp_path):
    path = tmp_path / "x.pprof"
    write_pprof(_store(), path)
    body = list(fields(gzip.decompress(path.read_bytes())))
    strings = [value.decode() for number, value in body if number == 6]
    assert strings[0] == ""
    functions = {f[1]: f for f in (dict(fields(v)) for n, v in body if n == 5)}
    locations = {f[1]: dict(fields(f[4])) for f in (dict(fields(v)) for n, v in body if n == 4)}
    types = [tuple(strings[dict(fields(v))[i]] for i in (1, 2)) for n, v in body if n == 1]
    assert types == [("calls", "count"), ("time", "nanoseconds")]
    found = {}
    for number, message in body:
        if number == 2:
            sample = dict(fields(message))
            stack = [strings[functions[locations[location][1]][2]] for location in sample[1]]
            found[tuple(reversed(stack))] = _numbers(sample[2])
    main = "main (train.py:3)"
    assert found[main, "aten::linear", "aten::mm"] == [1, 50]
    assert found[main, "aten::linear", "node", "MmBackward0"] == [1, 10]
    assert strings[functions[[k for k, f in functions.items() if strings[f[2]] == main][0]][4]] == "train.py"


def _numbers(data: bytes) -> list[int]:
    made, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            made.append(value)
            value = shift = 0
    return made


def test_collapsed_stacks(tmp_path):
    path = tmp_path / "x.collapsed.txt"
    write_collapsed(make_store([E("a b;c", 0, 9000), E("inner", 1000, 4000)]), path)
    assert path.read_text() == "a_b_c 6\na_b_c;inner 3\n"


def test_memory_snapshot(tmp_path):
    path = tmp_path / "x.pickle"
    memory_snapshot.write(_store(), path)
    data = pickle.loads(path.read_bytes())
    (trace,) = data["device_traces"]
    assert [(e["action"], e["addr"], e["size"]) for e in trace] == [
        ("alloc", 4096, 512),
        ("alloc", 8192, 256),
        ("free_requested", 4096, 512),
        ("free_completed", 4096, 512),
    ]
    assert trace[0]["frames"][:2] == [{"filename": "??", "line": 0, "name": "aten::mm"}] + trace[0]["frames"][1:2]
    (segment,) = data["segments"]
    assert (
        sum(block["size"] for block in segment["blocks"]) == segment["total_size"] and segment["allocated_size"] == 256
    )
    with pytest.raises(ValueError, match="profile_memory"):
        memory_snapshot.write(make_store([E("a", 0, 1)]), path)


def test_segments_are_covered_wholly():
    made = memory_snapshot._segments([(100, 50, []), (200, 10, []), (10_000_000, 5, [])], 0)
    assert [s["total_size"] for s in made] == [110, 5]
    assert [(b["address"], b["size"], b["state"]) for b in made[0]["blocks"]] == [
        (100, 50, "active_allocated"),
        (150, 50, "inactive"),
        (200, 10, "active_allocated"),
    ]


def test_csv(tmp_path):
    path = tmp_path / "x.csv"
    store = _store()
    write_csv(store, path)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(store) and tuple(rows[0]) == HEADS
    linear = next(row for row in rows if row["name"] == "aten::linear")
    assert (linear["start_ns"], linear["duration_ns"], linear["kind"], linear["shapes"], linear["line"]) == (
        "10",
        "50",
        "op",
        "[[2, 3]]",
        "train.py(3): main",
    )
    assert [row["name"] for row in rows if "evil" in row["name"]] == ["'=evil"]


def test_parquet_says_what_to_install(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pyarrow"):
        write_parquet(_store(), tmp_path / "x.parquet")


def test_empty_stores_can_be_written(tmp_path):
    store = make_store([])
    for write, name in (
        (perfetto.write, "a.pftrace"),
        (speedscope.write, "a.speedscope.json"),
        (write_pprof, "a.pprof"),
        (write_csv, "a.csv"),
    ):
        write(store, tmp_path / name)
    assert isinstance(store.start_ns, np.ndarray)
