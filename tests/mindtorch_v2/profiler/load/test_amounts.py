"""Times and sizes that no profile has are refused when a file is read: sums of them would be other numbers."""

from __future__ import annotations

import contextlib
import struct

import pytest

from mindtorch_v2.profiler import ProfileFileError, load
from mindtorch_v2.profiler.load import native_reader
from mindtorch_v2.profiler.store import storefile

from .test_hostile_files import _packed as packed
from .test_hostile_files import rich, sections
from .traces import PID, write, x


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("events.start_ns", [(1 << 63) - 1] * 3),
        ("events.end_ns", [-1, -1, -1]),
        ("events.end_ns", [(1 << 62) - 1] * 3),
        ("memory.nbytes", [(1 << 62) - 1] * 2),
        ("memory.time_ns", [-(1 << 63), 0]),
    ],
)
def test_amounts_that_no_profile_has(tmp_path, column, values):
    storefile.save(rich(), tmp_path / "p.prof")
    _, directory, made = sections((tmp_path / "p.prof").read_bytes())
    assert not [s for s in directory if s["name"] == column and s.get("constant")]
    (tmp_path / "bad.prof").write_bytes(made(**{column: struct.pack(f"<{len(values)}q", *values)}))
    with pytest.raises(ProfileFileError, match="make no sense"):
        load(tmp_path / "bad.prof")


def test_amounts_that_no_trace_has(tmp_path):
    long = [x("cpu_op", "aten::a", 0.0, 4e15, tid=i + 1) for i in range(4)]
    large = [
        {"ph": "i", "name": "[memory]", "pid": PID, "tid": 1, "ts": i, "args": {"Addr": i, "Bytes": 1 << 61}}
        for i in range(5)
    ]
    for event in large:
        event["args"]["Device Type"] = 0
    assert load(write(tmp_path / "t.json", long[:1])).events()[0].cpu_time_total == 4e15
    for events in (long, [x("cpu_op", "aten::a", 0.0, 9.0, tid=1), *large]):
        with pytest.raises(ProfileFileError, match="numbers that make no sense"):
            load(write(tmp_path / "t.json", events))


def test_a_table_of_events_outside_of_their_parents(tmp_path):
    """`validate` reports them. Their self times sum to nothing here, of which no row has a share."""
    storefile.save(rich(), tmp_path / "p.prof")
    _, _, made = sections((tmp_path / "p.prof").read_bytes())
    (tmp_path / "bad.prof").write_bytes(made(**{"events.end_ns": struct.pack("<3q", 0, 50_000, 70_000)}))
    profile = load(tmp_path / "bad.prof")
    assert [finding.check for finding in profile.validate()] == ["nesting"]
    (row,) = [line.split() for line in profile.table().splitlines() if line.lstrip().startswith("aten::mm")]
    assert row[1:3] == ["NaN", "-50.000us"]


@pytest.mark.parametrize("reader", ["native", "python"])
def test_a_value_in_a_compressed_file_is_not_much_longer_than_allowed(tmp_path, monkeypatch, reader):
    """Less than twice the longest is too long as well: what a text is read as takes up to 25 times its memory."""
    if reader == "python":
        monkeypatch.setattr(native_reader, "_native", None)
    for size, is_refused in ((30 << 20, False), (36 << 20, True)):
        path = tmp_path / "t.json.gz"
        path.write_bytes(packed((b'{"traceEvents":[],"x":"', 1), (b"a" * (1 << 20), size >> 20), (b'"}', 1)))
        with pytest.raises(ProfileFileError, match="a single value") if is_refused else contextlib.nullcontext():
            assert len(load(path).metadata["x"]) == size
