"""Traces read in C are those read in Python: the same columns, or the same error."""

from __future__ import annotations

import gzip
import json
import random

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfileFileError, load
from mindtorch_v2.profiler.load import native_reader, nesting
from mindtorch_v2.profiler.load.reader import load_trace
from mindtorch_v2.profiler.record.kinds import Kind

from ..profiler.load.damage import damaged
from ..profiler.load.traces import arrow, gpu_events, write, x

pytestmark = pytest.mark.skipif(native_reader._native is None, reason="not built, or switched off")
TABLES = ("strings", "inputs", "threads", "modules", "metadata")


def outcome(path, monkeypatch, native: bool):
    """The store as it compares, or what was said."""
    with monkeypatch.context() as patch:
        if not native:
            patch.setattr(native_reader, "_native", None)
            patch.setattr(nesting, "_native", None)
        try:
            store = load_trace(path)
        except ProfileFileError as error:
            return str(error)
    columns = [{n: c.tolist() for n, c in table.columns.items()} for table in (store, store.memory, store.stacks)]
    return columns, [repr(getattr(store, name)) for name in TABLES]


def assert_alike(path, monkeypatch) -> bool:
    native = outcome(path, monkeypatch, True)
    assert native == outcome(path, monkeypatch, False)
    return not isinstance(native, str)


def memory(ts, address, nbytes, **more):
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": 500,
        "tid": 500,
        "ts": ts,
        "args": {"Total Allocated": 5, "Bytes": nbytes, "Device Id": -1, "Device Type": 0, "Addr": address, **more},
    }


ODD_EVENTS = [
    x("cpu_op", 'q"\\\n é\ud800', 1, 2),
    x("CPU_OP", "aten::a", 1.25, 2),
    x("", "b", 3, 0),
    x("strange", "c", 3, 0.5),
    x("kernel", "k", 5, 1, device=1),
    x("kernel", "k", 5, 1, stream="s", device=None),
    x("cpu_op", "aten::d", 6, 1, External_id="12", correlation="0x1f"),
    x("cpu_op", "aten::d", 6, 1, External_id=True),
    x("cpu_op", "aten::e", 7, 1, Call_stack="a;b;", Module_Hierarchy="fc", finished=False),
    x("cpu_op", "aten::e", 7, 1, Call_stack="", Module_Hierarchy="", finished=None),
    x("cpu_op", "aten::f", 8, -1, deep=[[[{"a": [1.50, None]}]]]),
    x("cpu_op", "aten::f", 8, 1, **{f"k{i}": i for i in range(60)}),
    x("python_function", "m.py(1): f", 0, 90, Python_id=3, anything={}),
    x("cpu_op", "aten::g", 9.123456789, 1e-3),
    x("cpu_op", "aten::g", 1e1, 123456789012345678),
    x("cpu_op", "aten::h", -4, 2, tid="text"),
    {**x("cpu_op", "aten::i", 3, 1), "args": None},
    {**x("cpu_op", "aten::i", 3, 1), "args": []},
    {"ph": "X", "name": "bare", "pid": 1, "tid": 2, "ts": 4},
    memory(4, 1, 8),
    memory(5.5, "7", -8),
    {**memory(6, 1, 8), "args": {"Addr": 1, "Bytes": 2, "Device Type": 1}},
    arrow("s", 1, 2),
    arrow("t", 1, 2),
    {"ph": "C", "name": "CPU memory", "pid": 1, "tid": 0, "ts": 0, "args": {"allocated bytes": 3}},
    {"ph": "?"},
    {"ph": 3},
    {"ph": "X" * 2},
    x("Trace", "PyTorch Profiler (0)", 0, 10),
    x("user_annotation", "ProfilerStep#3", 0, 7),
    x("cpu_op", "autograd::engine::evaluate_function: N", 1, 5),
    x("cpu_op", "N", 2, 1),
]


@pytest.mark.parametrize("indent, name", [(None, "t.json"), (2, "t.json"), (None, "t.json.gz")])
def test_events_of_every_form(tmp_path, monkeypatch, indent, name):
    path = tmp_path / name
    for events in [gpu_events(), ODD_EVENTS, *([event] for event in ODD_EVENTS)]:
        text = json.dumps(
            {"traceEvents": events, "k": [1, {"a": None}], "baseTimeNanoseconds": 7}, indent=indent
        ).encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        assert_alike(path, monkeypatch)


@pytest.mark.parametrize(
    "text",
    [
        '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"ts":2,"dur":1}]',
        '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"args":{"External id":1,"External id":2}}]',
        '[{"\\u0070h":"X","name":"a","pid":1,"tid":1,"ts":1}]',
        '[{"ph":"X","name":"a","pid":1,"tid":23,"ts":1},{"ph":"X","name":"a","pid":12,"tid":3,"ts":1}]',
        '[,,{"ph":"s"},, ]',
        "[]",
        "[{}]",
        '\ufeff{"traceEvents":[]}',
        '{"traceEvents":[],"traceEvents":[{"ph":"M","name":"x"}]}',
        '{"traceEvents": 3}',
        '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1658866389731213.0005,"dur":0.0015},{"ph":"X","name":"a","pid":1,"tid":1,"ts":1658866389731213.0015}]',
        '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1658866389731213.5,"dur":3},{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":1658866389731214,"args":'
        '{"Addr":1,"Bytes":1,"Device Type":0}}]',
        '[{"ph":"X","name":"a\r\nb","pid":1,"tid":1,"ts":01}]',
        '[{"ph":"X","name":"a\r\nb","pid":1,"tid":1,"ts":1}]',
    ],
)
def test_texts(tmp_path, monkeypatch, text):
    (tmp_path / "t.json").write_bytes(text.encode("utf-8"))
    assert_alike(tmp_path / "t.json", monkeypatch)


@pytest.mark.parametrize("piece", [1, 7, 64, 1000])
def test_pieces_of_any_size(tmp_path, monkeypatch, piece):
    path = write(tmp_path / "t.json", [*gpu_events(), *ODD_EVENTS[:3]])
    whole = outcome(path, monkeypatch, True)
    monkeypatch.setattr(native_reader, "_PIECE", piece)
    assert native_reader.read(path) is not None and outcome(path, monkeypatch, True) == whole


def test_two_thousand_damaged_traces(tmp_path, monkeypatch):
    rng = random.Random(11)
    sources = [write(tmp_path / "t.json", events).read_bytes() for events in (gpu_events(), ODD_EVENTS[:12])]
    read = 0
    for number in range(2000):
        (tmp_path / "d.json").write_bytes(damaged(sources[number % 2], rng, rng.choice((1, 1, 2, 5))))
        read += assert_alike(tmp_path / "d.json", monkeypatch)
    assert 100 < read < 1900


def test_most_events_never_reach_python(tmp_path, monkeypatch):
    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        for _ in range(20):
            torch.ones(3, requires_grad=True).sum().backward()
    prof.export_chrome_trace(tmp_path / "t.json")
    by_python = []
    take = native_reader.NativeCollector.take
    monkeypatch.setattr(
        native_reader.NativeCollector,
        "take",
        lambda self, event: (by_python.append(event["ph"] + event.get("cat", "")), take(self, event)),
    )
    assert (
        len(load(tmp_path / "t.json").store) > 100
        and set(by_python) <= {"M", "i", "XTrace"}
        and assert_alike(tmp_path / "t.json", monkeypatch)
    )


NAMES = {  # the kind that a name gives an event of a category
    ("cpu_op", "aten::a"): Kind.OP,
    ("cpu_op", "::"): Kind.OP,
    ("cpu_op", ":a:"): Kind.FUNCTION,
    ("cpu_op", ""): Kind.FUNCTION,
    ("cpu_op", "autograd::engine::evaluate_function: M"): Kind.NODE,
    ("cpu_op", "autograd::engine::evaluate_function:"): Kind.OP,
    ("user_annotation", "ProfilerStep#1"): Kind.STEP,
    ("user_annotation", "ProfilerStep"): Kind.SCOPE,
    ("user_annotation", "aten::a"): Kind.SCOPE,
    ("python_function", "nn.Module: A_0"): Kind.MODULE,
    ("python_function", "<built-in function all>"): Kind.BUILTIN,
    ("python_function", "Python GC"): Kind.GC,
    ("python_function", "Python GC2"): Kind.PYTHON,
    ("python_function", "größer.py(1): f"): Kind.PYTHON,
    ("kernel", "aten::a"): Kind.KERNEL,
}


@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "plain"])
def test_names_tell_kinds_apart(tmp_path, monkeypatch, ascii_only):
    events = [x(category, name, 10 * i, 5) for i, (category, name) in enumerate(NAMES)] * 2
    path = tmp_path / "t.json"
    path.write_text(json.dumps(events, ensure_ascii=ascii_only), encoding="utf-8")
    store = load_trace(path)
    found = {(store.strings[store.name[i]], int(store.kind[i])) for i in range(len(store))}
    assert found == {(name, int(kind)) for (_, name), kind in NAMES.items()}
    assert assert_alike(path, monkeypatch)


def test_a_name_for_each_event(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    path.write_text(json.dumps([x("cpu_op", f"aten::op{i}", i, 1) for i in range(3000)]))
    assert assert_alike(path, monkeypatch)
    store = load_trace(path)
    assert [store.strings[name] for name in store.name.tolist()] == [f"aten::op{i}" for i in range(3000)]


def test_nesting(monkeypatch):
    rng = np.random.default_rng(5)
    for slack in (0, 3, 1000):
        for _ in range(60):
            start = np.sort(rng.integers(0, 60, 40))
            end = start + rng.integers(0, 30, 40)
            order = np.lexsort((-end, start))
            columns = {
                "start_ns": start[order],
                "end_ns": end[order],
                "track": rng.integers(0, 3, 40),
                "kind": np.where(rng.random(40) < 0.2, int(Kind.STEP), 0),
            }
            nests = rng.random(40) < 0.8
            for native, python in zip(nesting.nest(columns, nests, slack), nesting._nest(columns, nests, slack)):
                assert native.tolist() == python.tolist()


def test_what_makes_no_sense_is_an_error():
    native = native_reader._native
    with pytest.raises(ValueError, match="different lengths"):
        native.nest(bytes(8), bytearray(16), bytes(4), bytes(1), bytes(1), bytearray(4), bytearray(1), 1, 0)
    with pytest.raises(ValueError, match="a track that is not there"):
        native.nest(bytes(8), bytearray(8), np.int32([5]), bytes(1), bytes(1), bytearray(4), bytearray(1), 1, 0)
    describe, how = (lambda *given: 1 / 0,) * 6, bytes(256)
    for wrong in (
        (describe[:5], {}, (), how, False),
        (describe, {}, (), how[:9], False),
        (describe, {}, ((0, 0, "a", 1),) * 9, how, False),
        (describe, {}, ((0, 3, "a", 1),), how, False),
        (describe, {}, ((0, 0, "a" * 49, 1),), how, False),
    ):
        with pytest.raises(ValueError, match="expected|rule"):
            native.Reader(*wrong)
    reader = native.Reader(describe, {}, (), how, False)
    with pytest.raises(ZeroDivisionError):
        reader.scan(json.dumps([x("cpu_op", "a", 1, 2)]).encode(), 1)
    with pytest.raises(TypeError):
        reader.add(1, 2, (3,))
    assert (
        reader.scan(b"[]", 99) == (99, "odd")
        and native.value_end(b"[1, 2", 0) == -1
        and native.value_end(b"[1 2]", 0) == -2
    )
