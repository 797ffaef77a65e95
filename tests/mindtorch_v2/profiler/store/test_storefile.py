"""Profiles on disk: the same numbers after loading, and an error for any damage."""

from __future__ import annotations

import copy
import os
import pathlib
import pickle
import random
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfileFileError, load
from mindtorch_v2.profiler.record.descriptions import InputDescription, ModuleInfo
from mindtorch_v2.profiler.record.kinds import Flag, Kind
from mindtorch_v2.profiler.store import storefile
from mindtorch_v2.profiler.store.event_store import EventStore

from ..hand_made import E, M, make_store, tensors
from ..load.damage import damaged

ODD = ("", "\0", "é漢字😀", "\ud800", "a" * 5000)


def rich():
    """A store in which every table has something."""
    inputs = InputDescription(
        ((2, 3), ((1,), ()), ()),
        ((3, 1), ((1,), ()), ()),
        ("float", "TensorList", "Scalar"),
        (None, None, 2 + 1j),
        (("mode", "quick"), ("sizes", (1, 2.5, None, float("inf")))),
    )
    return make_store(
        [
            E("step", 0, 1_000, Kind.SCOPE, flags=Flag.UNFINISHED, inputs=inputs),
            E("aten::add", 10, 20, seq=3, stack=["in.py(1): f", "m.py(2): g"], overload="Tensor", module=1),
            *(E(text, 30 + n, 31 + n, Kind.SCOPE) for n, text in enumerate(ODD)),
            E("b", 500, 600, thread=1, inputs=tensors((4,))),
        ],
        [M(12, 0x7F0000000000, 64), M(700, 0x7F0000000000, -64)],
        modules=[ModuleInfo(0, "", "Net", -1), ModuleInfo(0, "fc", "Linear", 0)],
        threads=2,
        user={"run": '"x"', "ODD": '"\\ud800"'},
        record_shapes=True,
        with_stack=True,
        profile_memory=True,
        with_modules=True,
        activity_filters={"CPU": ("CPU_OP",)},
        epoch_offset_ns=1_700_000_000_000_000_000,
    )


def assert_same(a: EventStore, b: EventStore) -> None:
    assert a == b and a.memory == b.memory and a.stacks == b.stacks
    for name in ("strings", "inputs", "threads", "modules", "metadata"):
        assert getattr(a, name) == getattr(b, name), name


@pytest.mark.parametrize("store", [rich(), make_store([]), make_store([], [M(1, 2, 3)]), make_store([E("only", 5, 5)])])
def test_round_trip(tmp_path, store):
    storefile.save(store, tmp_path / "p.prof")
    loaded = load(tmp_path / "p.prof")
    assert_same(loaded.store, store)
    assert not any(column.flags.writeable for column in loaded.store.columns.values())
    loaded.save(tmp_path / "p.prof")  # over the file that it reads from
    assert_same(loaded.store, store)
    assert_same(load(str(tmp_path / "p.prof")).store, store)
    assert os.listdir(tmp_path) == ["p.prof"]


def test_a_recorded_profile(tmp_path):
    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        x = torch.ones(4, 4, requires_grad=True)
        (x * x).sum().backward()
    prof.save(tmp_path / "p.prof")
    loaded = load(tmp_path / "p.prof")
    assert loaded.key_averages().table() == prof.key_averages().table() == loaded.table()
    assert [(e.name, e.time_range.start, e.input_shapes) for e in loaded.events()] == [
        (e.name, e.time_range.start, e.input_shapes) for e in prof.events()
    ]
    assert (
        loaded.events() is loaded.events() and loaded.validate() == [] and loaded.get_trace_id() == prof.get_trace_id()
    )
    for save in (prof, loaded):
        save.export_chrome_trace(str(tmp_path / "t.json"))
        text = (tmp_path / "t.json").read_text()
        save.export_stacks(str(tmp_path / "s.txt"), "self_cpu_time_total")
        stacks = (tmp_path / "s.txt").read_text()
    assert "aten::mul" in text and stacks


def test_saving_needs_something_recorded(tmp_path):
    with pytest.raises(AssertionError):
        torch.profiler.profile().save(tmp_path / "p.prof")
    assert os.listdir(tmp_path) == []


def test_files_are_compact_and_mapped(tmp_path):
    count = 20_000
    store = EventStore(
        {
            "start_ns": np.arange(count),
            "end_ns": np.arange(count) + 1,
            "name": np.arange(count) % 5,
            "parent": np.full(count, -1),
        },
        strings=list("abcde"),
        threads=make_store([E("a", 0, 1)]).threads,
    )
    storefile.save(store, tmp_path / "p.prof")
    assert os.path.getsize(tmp_path / "p.prof") < count * 24
    loaded = load(tmp_path / "p.prof").store
    base = loaded.start_ns
    while isinstance(base, np.ndarray):
        base = base.base
    assert not isinstance(base, bytes) and loaded.sequence_nr.strides == (0,)
    assert_same(pickle.loads(pickle.dumps(loaded.with_metadata(pid=1))), loaded.with_metadata(pid=1))


# ---- damage
# -----------------------------------------------------------------------------------------------------------


def refused(path: pathlib.Path, data: bytes) -> ProfileFileError:
    path.write_bytes(data)
    with pytest.raises(ProfileFileError) as caught:
        load(path)
    assert str(path) in str(caught.value) and copy.copy(caught.value).args == caught.value.args
    return caught.value


def saved(tmp_path: pathlib.Path) -> bytes:
    storefile.save(rich(), tmp_path / "whole.prof")
    return (tmp_path / "whole.prof").read_bytes()


def test_every_changed_byte_is_noticed(tmp_path):
    whole, rng = saved(tmp_path), random.Random(1)
    for offset in [*range(64), *rng.sample(range(len(whole)), 600)]:
        changed = bytearray(whole)
        changed[offset] ^= rng.randrange(1, 256)
        refused(tmp_path / "p.prof", bytes(changed))


def test_every_truncation_is_noticed(tmp_path):
    whole, rng = saved(tmp_path), random.Random(2)
    for length in [0, 1, 8, 12, 40, 47, 48, 49, *rng.sample(range(len(whole)), 200), len(whole) - 1]:
        refused(tmp_path / "p.prof", whole[:length])
    refused(tmp_path / "p.prof", whole + b"\0")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_damage(tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("damage")
    whole = saved(directory)
    start = data.draw(st.integers(0, len(whole) - 1))
    piece = data.draw(st.binary(max_size=40))
    end = data.draw(st.integers(start, min(len(whole), start + 60)))
    changed = whole[:start] + piece + whole[end:]
    if changed != whole:
        refused(directory / "p.prof", changed)


def test_many_damaged_files(tmp_path):
    """Whatever is done to a file, it is refused, and no more memory is taken than a file of its size can need."""
    whole, rng = saved(tmp_path), random.Random(3)
    tracemalloc.start()
    try:
        for _ in range(600):
            data = damaged(whole, rng, rng.choice((1, 1, 2, 5)))
            if data != whole:
                refused(tmp_path / "p.prof", data)
        assert tracemalloc.get_traced_memory()[1] < 16_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 500,
        b"hello",
        b"PK\3\4" + b"\0" * 100,
        b"\x89PNG\r\n\x1a\n" + b"\0" * 100,
        b"\x1f\x8b",
        b"{",
        b"[",
        b"{}",
        b"\xef\xbb\xbf",
        b"3",
        b'"traceEvents"',
        b"\x89MTPROF",
    ],
)
def test_foreign_files(tmp_path, data):
    refused(tmp_path / "p", data)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def rewritten(whole: bytes, change) -> bytes:
    """The file with another header, whose checksum is right."""
    size = storefile._HEADER.size
    header = storefile._HEADER.pack(*change(list(storefile._HEADER.unpack(whole[:size]))))
    return header + struct.pack("<I", zlib.crc32(header)) + whole[size + 4 :]


def test_another_version(tmp_path):
    whole = saved(tmp_path)
    error = refused(tmp_path / "p.prof", rewritten(whole, lambda h: [h[0], 2, 0, *h[3:]]))
    assert "has version 2.0 of the format; this reads 1.x" in str(error)
    (tmp_path / "newer").write_bytes(rewritten(whole, lambda h: [h[0], 1, 7, *h[3:]]))
    assert_same(load(tmp_path / "newer").store, rich())


def test_contents_that_refer_to_nothing(tmp_path):
    """Right checksums do not make sense of wrong contents."""
    good = rich()
    for name, value in (
        ("name", 99),
        ("parent", 5),
        ("thread", 9),
        ("inputs", 9),
        ("stack", 9),
        ("module", 9),
        ("launcher", 99),
        ("kind", 200),
        ("device_type", 99),
        ("overload", -2),
    ):
        column = np.array(good.columns[name])
        column[0] = value
        bad = EventStore(
            {**good.columns, name: column},
            strings=good.strings,
            inputs=good.inputs,
            threads=good.threads,
            modules=good.modules,
            stacks=good.stacks,
            memory=good.memory,
            metadata=good.metadata,
        )
        storefile.save(bad, tmp_path / "p.prof")
        with pytest.raises(ProfileFileError, match="make no sense"):
            load(tmp_path / "p.prof")


def test_an_error_leaves_the_old_file(tmp_path, monkeypatch):
    whole = saved(tmp_path)
    monkeypatch.setattr(storefile, "_string_sections", lambda strings: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        storefile.save(rich(), tmp_path / "whole.prof")
    assert (tmp_path / "whole.prof").read_bytes() == whole and os.listdir(tmp_path) == ["whole.prof"]
