"""Lines made from columns: the native writer and Python give the same bytes.

How they get into files, and what that takes.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import subprocess
import sys
import threading
import tracemalloc
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindtorch_v2.profiler.export import chrome_trace, progress, rows, threaded_writer
from mindtorch_v2.profiler.export.rows import Micro, Number, Pick, Texts, When
from mindtorch_v2.profiler.record.descriptions import ThreadInfo
from mindtorch_v2.profiler.store.event_store import EventStore

from ..hand_made import E, M, make_store

native = pytest.mark.skipif(not rows.is_native(), reason="the native writer is not built, or switched off")
int64 = st.integers(-(2**63), 2**63 - 1)


def expected_rows(segments, count):
    return b",\n".join(line.encode() for line in rows._lines(segments, count))


@native
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(int64, st.integers(-(2**62), 2**62), st.integers(0, 3), st.booleans(), st.booleans()), max_size=40
    ),
    st.lists(st.text(st.characters(max_codepoint=127), max_size=30), min_size=4, max_size=4),
)
def test_native_and_python_rows_agree(values, texts):
    numbers, times, picks, outer, inner = (
        [np.array(column) for column in zip(*values)] if values else [np.zeros(0, int)] * 5
    )
    segments = (
        b'{"%d":',
        Number(numbers),
        When(outer, (b"!", Pick(Texts(texts), picks), When(inner, (b"?", Micro(times))), b"%")),
        Micro(times),
        b"}",
    )
    assert rows.format_rows(segments, len(values)) == expected_rows(segments, len(values))


@pytest.mark.parametrize(
    "value, text",
    [
        (0, b"0"),
        (-1, b"-1"),
        (2**63 - 1, b"9223372036854775807"),
        (-(2**63), b"-9223372036854775808"),
        (99, b"99"),
        (100, b"100"),
        (101, b"101"),
    ],
)
def test_numbers(value, text):
    assert rows.format_rows([Number(np.array([value]))], 1) == text


@pytest.mark.parametrize(
    "ns, text",
    [(0, b"0.000"), (1, b"0.001"), (1_999, b"1.999"), (4203669604595407, b"4203669604595.407"), (-1, b"-1.999")],
)
def test_microseconds(ns, text):
    assert rows.format_rows([Micro(np.array([ns]))], 1) == text == rows.microseconds(ns).encode()


def test_no_columns_and_no_rows():
    assert (
        rows.format_rows([b"a%"], 3) == b"a%,\na%,\na%" and rows.format_rows([b"a", Number(np.zeros(0, int))], 0) == b""
    )


@native
@pytest.mark.parametrize(
    "segments, count",
    [
        (((1, np.array([1], np.int32), b"ab", np.array([0, 2])),), 1),
        (((1, np.array([-1], np.int32), b"ab", np.array([0, 2])),), 1),
        (((1, np.array([0], np.int32), b"ab", np.array([0, 3])),), 1),
        (((1, np.array([0], np.int32), b"ab", np.array([2, 1])),), 1),
        (((1, np.array([0], np.int32), b"", b""),), 1),
        (((2, np.array([1, 2])),), 1),
        (((2, np.array([1])),), 2),
        (((4, b"\1", 1),), 1),
        (((4, b"\1", -1), (0, b"")), 1),
        (((9, b""),), 1),
        ((5,), 1),
        (((0,),), 1),
        (((0, 3),), 1),
        ((("x", b""),), 1),
        (((0, b"x"),) * 99, 1),
        ((), -1),
    ],
)
def test_the_native_writer_refuses_what_makes_no_sense(segments, count):
    with pytest.raises((ValueError, IndexError, TypeError, BufferError)):
        rows._native.format_rows(segments, count, b",")


@native
def test_whole_traces_agree(tmp_path, monkeypatch):
    store = make_store(
        [*(E(f'op "{n % 7}"\\', n * 10, n * 10 + 5, seq=n % 3 - 1) for n in range(50))],
        [M(n * 10 + 1, n, 8) for n in range(9)],
    )
    chrome_trace.write(store, tmp_path / "t.json")
    with_native = (tmp_path / "t.json").read_bytes()
    monkeypatch.setattr(rows, "_native", None)
    chrome_trace.write(store, tmp_path / "t.json")
    assert (tmp_path / "t.json").read_bytes() == with_native


@pytest.mark.parametrize("setting", ["0", "1"])
def test_the_switch(setting):
    code = "from mindtorch_v2.profiler.export import rows; print(rows.is_native())"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "MINDTORCH_NATIVE": setting},
        capture_output=True,
        text=True,
        check=True,
    )
    assert setting == "1" or done.stdout.strip() == "False"


class Terminal:
    def __init__(self, is_terminal):
        self.is_terminal, self.text = is_terminal, ""

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_progress_is_shown_on_terminals_only(tmp_path, monkeypatch, is_terminal, name):
    """On a clock that goes on by 0.15 s whenever it is read."""
    terminal, readings = Terminal(is_terminal), []
    clock = types.SimpleNamespace(monotonic=lambda: readings.append(0) or len(readings) * 0.15)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(chrome_trace, "_CHUNK", 3)
    chrome_trace.write(make_store([E("a", n, n) for n in range(9)]), tmp_path / name)
    assert terminal.text == ""  # it took less than a second
    chrome_trace.write(make_store([E("a", n, n) for n in range(60)]), tmp_path / name)
    shown = re.findall(rf"\rwriting {name}: (\d+)%", terminal.text)
    if is_terminal:
        assert (
            len(shown) > 3 and int(shown[0]) < 50 and shown == sorted(shown, key=int) and terminal.text.endswith(" \r")
        )
    else:
        assert terminal.text == ""


# ---- size
# -------------------------------------------------------------------------------------------------------------


def flat_store(count):
    return EventStore(
        {
            "start_ns": np.arange(count) * 10,
            "end_ns": np.arange(count) * 10 + 5,
            "name": np.arange(count, dtype=np.int32) % 3,
        },
        strings=list("abc"),
        threads=[ThreadInfo(1, 7, "MainThread"), ThreadInfo(2, 8, "worker")],
    )


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_memory_does_not_grow_with_the_trace(tmp_path, name):
    """A few marks per event, the largest of which is one byte, and blocks of the text, whose number is bounded."""

    def peak(count):
        store = flat_store(count)
        tracemalloc.start()
        try:
            chrome_trace.write(store, tmp_path / name)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1_000)
    assert peak(150_000) < 8_000_000 + 5 * 150_000  # the text has 30 MB


def test_blocks_are_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr(threaded_writer, "_BLOCK", 1000)
    store = flat_store(3_000)
    chrome_trace.write(store, tmp_path / "t.json")
    chrome_trace.write(store, tmp_path / "t.json.gz")
    packed, plain = (tmp_path / "t.json.gz").read_bytes(), (tmp_path / "t.json").read_bytes()
    assert (
        gzip.decompress(packed).replace(b"t.json.gz", b"t.json") == plain
        and len(json.loads(plain)["traceEvents"]) > 3_000
    )
    assert packed[3] == 8 and packed[10:17] == b"t.json\0"
    chrome_trace.write(store, tmp_path / "t.json.gz")
    assert (tmp_path / "t.json.gz").read_bytes() == packed and sorted(os.listdir(tmp_path)) == ["t.json", "t.json.gz"]


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_an_error_of_a_thread_is_that_of_the_export(tmp_path, monkeypatch, name):
    monkeypatch.setattr(threaded_writer, "_BLOCK", 1000)
    for stage in ("_work", "_finish"):
        with monkeypatch.context() as patch:
            patch.setattr(
                threaded_writer.GzipBlocks if name.endswith("gz") else threaded_writer.Blocks,
                stage,
                _fails if stage == "_finish" else lambda *args: _fails,
            )
            before = threading.active_count()
            with pytest.raises(OSError) as caught:
                chrome_trace.write(flat_store(9_000), tmp_path / name)
        assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(tmp_path / name)
        assert os.listdir(tmp_path) == [] and threading.active_count() == before


def _fails(*args):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_blocks_are_written_where_no_thread_can_be_started_any_more(tmp_path, monkeypatch):
    """As in a function of atexit: executors refuse work while the interpreter ends."""
    chrome_trace.write(flat_store(9_000), tmp_path / "before.json.gz")

    def refused(*_):
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor.submit", refused)
    chrome_trace.write(flat_store(9_000), tmp_path / "after.json.gz")
    before, after = (gzip.decompress((tmp_path / f"{name}.json.gz").read_bytes()) for name in ("before", "after"))
    assert len(before) > 1 << 20 and json.loads(before)["traceEvents"] == json.loads(after)["traceEvents"]
