"""Files that are not traces, or were cut or changed, and files read in pieces."""

from __future__ import annotations

import json
import math
import random

import pytest

from mindtorch_v2.profiler import ProfileFileError, load
from mindtorch_v2.profiler.load import json_stream

from .traces import gpu_events, write

# ---- damage
# -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, problem",
    [
        ('{"a": 1}', "it has no list"),
        ('{"traceEvents": [{"ph":"X"', "ends in the middle"),
        ('{"traceEvents": []} x', "something follows"),
        ('{"traceEvents": [{"ph":"X",}]}', "not valid JSON at character"),
        ('{"traceEvents": [3]}', "event 0 of the trace"),
        ("[[]]", "event 0"),
        ('[{"ph":"X","name":"a","pid":1,"tid":1}]', "lacks 'ts'"),
        ('[{"ph":"X","name":3,"pid":1,"tid":1,"ts":1}]', "event 0"),
        ('[{"ph":"X","name":"a","pid":1,"tid":1,"ts":"x"}]', "a time is not a number"),
        ('[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1e300}]', "too large"),
        ('[{"ph":"X","name":"a","pid":1,"tid":1,"ts":99999999999999999999999}]', "too large"),
        ('[{"ph":"X","name":"a","pid":1,"tid":1,"ts":NaN}]', "too large"),
        (
            '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"args":{"correlation":99999999999999999999999}}]',
            "make no sense",
        ),
        ('[{"ph":"B","name":"a","pid":1,"tid":1,"ts":1}]', "is not supported"),
        ('[{"ph":"X","name":"a","pid":[],"tid":1,"ts":1}]', "event 0"),
        (
            '[{"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":1,"args":{"Addr":1,"Bytes":1,"Device Type":77}}]',
            "unknown device",
        ),
        ("[" * 100_000, ""),
        ('{"a":' * 100_000, ""),
        ('{"traceEvents": [' + '"' + "x" * 1000, "ends in the middle"),
        ("{3: 4}", "key was expected"),
    ],
)
def test_what_is_no_trace(tmp_path, text, problem):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(ProfileFileError) as caught:
        load(tmp_path / "t.json")
    assert str(tmp_path / "t.json") in str(caught.value) and problem in str(caught.value)


def test_damaged_compression(tmp_path):
    data, rng = write(tmp_path / "t.json.gz", gpu_events()).read_bytes(), random.Random(3)
    for offset in rng.sample(range(10, len(data)), 150):
        damaged = bytearray(data)
        damaged[offset] ^= rng.randrange(1, 256)
        (tmp_path / "d").write_bytes(damaged)
        with pytest.raises(ProfileFileError):
            load(tmp_path / "d")
    for length in (2, 9, 15, len(data) // 2, len(data) - 1):
        (tmp_path / "d").write_bytes(data[:length])
        with pytest.raises(ProfileFileError):
            load(tmp_path / "d")


def test_damaged_text_is_read_or_refused(tmp_path):
    """Damage to plain text cannot always be noticed, but nothing breaks."""
    data, rng = write(tmp_path / "t.json", gpu_events()).read_bytes(), random.Random(4)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(data))] = rng.randrange(256)
        (tmp_path / "d").write_bytes(damaged)
        try:
            prof = load(tmp_path / "d")
        except ProfileFileError:
            continue
        prof.table()
        prof.export_chrome_trace(tmp_path / "again.json")
        json.loads((tmp_path / "again.json").read_text())


@pytest.mark.parametrize("piece", [1, 7, 64, 1000])
def test_pieces_of_any_size(tmp_path, monkeypatch, piece):
    path = write(tmp_path / "t.json", gpu_events())
    whole = load(path)
    monkeypatch.setattr(json_stream, "_PIECE", piece)
    in_pieces = load(path)
    assert in_pieces.store == whole.store and in_pieces.store.metadata == whole.store.metadata


def test_a_broken_file_is_read_in_pieces_that_grow(tmp_path, monkeypatch):
    """A value that does not end is looked at again with every piece; pieces double, so that the work stays linear in
    the file's size.
    """
    size, piece, reads = 5_000_000, 1000, []
    read_on = json_stream._Stream._read_on
    monkeypatch.setattr(json_stream, "_PIECE", piece)
    monkeypatch.setattr(json_stream._Stream, "_read_on", lambda self: reads.append(1) or read_on(self))
    (tmp_path / "t.json").write_text('{"traceEvents": ["' + "x" * size)
    with pytest.raises(ProfileFileError):
        list(json_stream.read_trace(tmp_path / "t.json"))
    assert len(reads) <= math.log2(size / piece) + 4
