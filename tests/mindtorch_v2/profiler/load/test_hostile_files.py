"""Traces and stores that are made to break their reader: a ProfileFileError, in time and memory that the file
accounts for.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfileFileError, load
from mindtorch_v2.profiler.export import chrome_trace
from mindtorch_v2.profiler.record.descriptions import InputDescription, ModuleInfo
from mindtorch_v2.profiler.store import storefile

from ..hand_made import E, M, make_store, tensors
from .damage import damaged
from .test_dialects import dialect
from .traces import BACK, PID, gpu_events, write, x


def use(profile, folder) -> None:
    """Everything that reads a profile."""
    profile.events()
    profile.table()
    profile.events().table()
    profile.key_averages(group_by_input_shape=True, group_by_stack_n=3)
    profile.validate()
    profile.module_report()
    repr(profile.metadata)
    profile.export_chrome_trace(folder / "used.json")
    profile.export_memory_timeline(folder / "used.html", "cpu")
    profile.save(folder / "used.prof")
    assert load(folder / "used.prof").store == profile.store
    load(folder / "used.json")


# ---- depth and digits
# -------------------------------------------------------------------------------------------------


def nested(depth: int, kind: str = "[]") -> str:
    return ('{"a":' * depth + "1" + "}" * depth) if kind == "{}" else "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", [100, 900, 100_000])
@pytest.mark.parametrize("kind", ["[]", "{}"])
@pytest.mark.parametrize(
    "where",
    [
        '{{"traceEvents":[],"a":{}}}',
        '[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"args":{{"b":{}}}}}]',
        '[{{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"args":{{"Input Dims":{}}}}}]',
        '[{{"ph":"X","name":"a","pid":{},"tid":1,"ts":1}}]',
        '[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"else":{}}}]',
        "{}",
    ],
)
def test_depth(tmp_path, depth, kind, where):
    (tmp_path / "t.json").write_text(where.format(nested(depth, kind)))
    try:
        profile = load(tmp_path / "t.json")
    except ProfileFileError as error:
        assert len(str(error)) < 1000
    else:
        assert "Input Dims" not in where or kind == "{}"
        use(profile, tmp_path)


@pytest.mark.parametrize(
    "where",
    [
        '{{"traceEvents":[],"a":{}}}',
        '[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{}}}]',
        '[{{"ph":"X","name":"a","pid":{},"tid":1,"ts":1}}]',
        '[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"args":{{"b":{}}}}}]',
    ],
)
def test_digits(tmp_path, where):
    for digits in (20, 5_000, 1_000_000):
        (tmp_path / "t.json").write_text(where.format("9" * digits))
        try:
            use(load(tmp_path / "t.json"), tmp_path)
        except ProfileFileError as error:
            assert len(str(error)) < 1000


def test_numbers_in_texts(tmp_path):
    event = x(
        "cpu_op",
        "aten::a",
        0.0,
        1.0,
        Input_Dims=[[1], []],
        Input_type=["float", "Scalar"],
        Concrete_Inputs=["", "9" * 5_000],
    )
    profile = load(write(tmp_path / "t.json", [event]))
    assert profile.store.inputs[0].values == (None, "9" * 5_000)
    use(profile, tmp_path)


def test_metadata_that_nobody_can_read(tmp_path):
    """Refused where it is given; in a store it is written as a text."""
    with torch.profiler.profile() as prof:
        for text in (nested(100_000), "9" * 5_000):
            with pytest.raises(ValueError, match="the metadata 'a' is not JSON"):
                prof.add_metadata_json("a", text)
    store = make_store([E("a", 0, 1)]).with_metadata(user={"deep": nested(100_000), "long": "9" * 5_000})
    chrome_trace.write(store, tmp_path / "t.json")
    assert load(tmp_path / "t.json").metadata == {"deep": nested(100_000), "long": "9" * 5_000}


# ---- size
# -------------------------------------------------------------------------------------------------------------

_LIMITED = """
import resource, sys
from mindtorch_v2.profiler import ProfileFileError, load
load(sys.argv[1])
with open("/proc/self/statm") as f:
    size = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (400 << 20), -1))
for path in sys.argv[2:]:
    try:
        load(path)
    except ProfileFileError as error:
        assert "does not fit" not in str(error), error
        print(str(error)[len(repr(path)) + 2:][:34])
"""


def _packed(*parts: tuple[bytes, int]) -> bytes:
    """Parts, each repeated, as one compressed file."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(part) for part, times in parts for _ in range(times)), packer.flush()])


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_is_bounded_by_what_the_file_holds(tmp_path):
    many = 1 << 20
    write(tmp_path / "fine.json", gpu_events())
    (tmp_path / "string.gz").write_bytes(_packed((b'["', 1), (b"a" * many, 80), (b'"]', 1)))
    (tmp_path / "member.gz").write_bytes(_packed((b'{"traceEvents":[],"x":"', 1), (b"a" * many, 80), (b'"}', 1)))
    (tmp_path / "argument.gz").write_bytes(
        _packed((b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"args":{"b":"', 1), (b"a" * many, 80), (b'"}}]', 1))
    )
    (tmp_path / "space.gz").write_bytes(_packed((b"[", 1), (b" " * many, 260), (b"]", 1)))
    names = ["fine.json", "string.gz", "member.gz", "argument.gz", "space.gz"]
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, *(str(tmp_path / name) for name in names)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == ["a single value in it is longer tha"] * 3 + [
        "its compressed data grows more tha"
    ]


def test_a_plain_file_may_have_a_long_value(tmp_path):
    """It is as large as the file says."""
    text = "a" * (5 << 20)
    assert load(write(tmp_path / "t.json", [], note=text)).metadata["note"] == text
    assert load(write(tmp_path / "t.json.gz", [], note=text)).metadata["note"] == text


def test_many_threads_and_forward_threads(tmp_path):
    """Each with an event, a memory record and a number of its own: the time grows with the file, not with its
    square.
    """
    count = 20_000
    events = [
        x("cpu_op", "aten::a", float(i), 0.5, tid=i + 1, Sequence_number=i, Fwd_thread_id=0) for i in range(count)
    ]
    events += [
        x("cpu_op", "b", count + float(i), 0.5, tid=BACK, Sequence_number=i, Fwd_thread_id=i + 1) for i in range(count)
    ]
    events += [
        {
            "ph": "i",
            "name": "[memory]",
            "pid": PID,
            "tid": i + 1,
            "ts": i + 0.25,
            "args": {"Addr": i, "Bytes": 8, "Device Type": 0},
        }
        for i in range(count)
    ]
    profile = load(write(tmp_path / "t.json", events))
    assert profile.validate() == [] and len(profile.store.threads) == count
    store = profile.store
    assert (store.name_of(int(store.memory.row[0])), int(store.memory.row.min())) == ("aten::a", 0) and len(
        set(store.memory.row.tolist())
    ) == count
    numbers = [thread.id for thread in store.threads]
    assert sorted(numbers) == sorted(set(numbers)) and store.threads[store.thread[0]].id == 1


# ---- stores whose checksums hold
# --------------------------------------------------------------------------------------


def rich():
    return make_store(
        [
            E("aten::mm", 0, 100_000, inputs=tensors((2, 3), (3, 4))),
            E("aten::add", 10_000, 50_000, inputs=tensors((2,), (2,)), module=0, stack=["a.py(1): f", "b.py(2): g"]),
            E(
                "aten::conv2d",
                60_000,
                70_000,
                inputs=InputDescription(
                    ((1, 3, 8, 8), (4, 3, 3, 3), (), (), (), (), ()),
                    ((), (), (), (), (), (), ()),
                    ("float", "float", "", "", "", "", ""),
                    (None, None, None, (1, 1), (0, 0), (1, 1), 1),
                    (("k", 1j),),
                ),
            ),
        ],
        [M(2_000, 1, 100), M(3_000, 1, -100)],
        modules=[ModuleInfo(0, "fc", "Linear", -1)],
        with_stack=True,
        with_flops=True,
        record_shapes=True,
    )


def sections(data: bytes):
    """(name, JSON value) of the sections that are JSON, and a way to make the file anew with others."""
    *_, at, size, _ = storefile._HEADER.unpack(data[: storefile._HEADER.size])
    directory = json.loads(data[at : at + size])["sections"]
    found = {s["name"]: data[s["offset"] : s["offset"] + s["bytes"]] for s in directory}

    def made(**changed: bytes) -> bytes:
        out = bytearray(storefile._HEADER_SIZE)
        again = []
        for section in directory:
            contents = changed.get(section["name"], found[section["name"]])
            out += bytes(-len(out) % 64)
            again.append({**section, "offset": len(out), "bytes": len(contents), "crc32": zlib.crc32(contents)})
            out += contents
        text = changed.get("directory") or json.dumps({"sections": again}).encode()
        out += bytes(-len(out) % 64)
        header = storefile._HEADER.pack(
            storefile.MAGIC, *storefile.VERSION, len(out) + len(text), len(out), len(text), zlib.crc32(text)
        )
        out[: storefile._HEADER_SIZE] = header + struct.pack("<I", zlib.crc32(header))
        return bytes(out + text)

    return found, directory, made


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "p.prof"
    storefile.save(rich(), path)
    return sections(path.read_bytes())


def mutated(value, rng: random.Random):
    """A JSON value with something in it replaced by something else."""
    others = (
        None,
        True,
        -1,
        0,
        2**70,
        1.5,
        "x",
        "",
        [],
        {},
        [[]],
        [1, 2],
        {"complex": [1, 2]},
        {"complex": "xy"},
        {"a": None},
        [[[["x"]]]],
    )
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        return (
            {**value, key: mutated(value[key], rng)}
            if rng.random() < 0.9
            else {k: v for k, v in value.items() if k != key}
        )
    if isinstance(value, list) and value and rng.random() < 0.9:
        i = rng.randrange(len(value))
        return (
            [*value[:i], mutated(value[i], rng), *value[i + 1 :]] if rng.random() < 0.9 else value[:i] + value[i + 1 :]
        )
    return rng.choice(others)


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    rng=st.randoms(use_true_random=False),
    name=st.sampled_from(["metadata", "inputs", "threads", "modules"]),
    times=st.integers(1, 3),
)
def test_wrong_types_are_noticed_on_loading(saved, tmp_path_factory, rng, name, times):
    """What is loaded can be used."""
    folder = tmp_path_factory.getbasetemp()
    found, _, made = saved
    value = json.loads(found[name])
    for _ in range(times):
        value = mutated(value, rng)
    (folder / "bad.prof").write_bytes(made(**{name: json.dumps(value).encode()}))
    try:
        profile = load(folder / "bad.prof")
    except ProfileFileError:
        return
    use(profile, folder)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rng=st.randoms(use_true_random=False))
def test_wrong_directories_are_noticed_on_loading(saved, tmp_path_factory, rng):
    _, directory, made = saved
    path = tmp_path_factory.getbasetemp() / "bad.prof"
    path.write_bytes(made(directory=json.dumps(mutated({"sections": directory}, rng)).encode()))
    with contextlib.suppress(ProfileFileError):
        load(path)


def test_a_constant_column_is_no_longer_than_the_file(saved, tmp_path):
    _, directory, made = saved
    changed = [
        {**s, "length": 1 << 40, "constant": True, "bytes": 8} if s["name"].startswith("events.") else s
        for s in directory
    ]
    (tmp_path / "bad.prof").write_bytes(made(directory=json.dumps({"sections": changed}).encode()))
    with pytest.raises(ProfileFileError):
        load(tmp_path / "bad.prof")


# ---- damaged traces
# ---------------------------------------------------------------------------------------------------


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(rng=st.randoms(use_true_random=False), times=st.integers(1, 4))
def test_damaged_traces_are_refused_or_can_be_used(tmp_path_factory, rng, times):
    folder = tmp_path_factory.getbasetemp()
    events = [
        x(
            "cpu_op",
            "aten::mm",
            1.0,
            2.0,
            Input_Dims=[[2, 3], [3, 4]],
            Input_type=["float", "float"],
            Concrete_Inputs=["", ""],
        ),
        *dialect(),
        {
            "ph": "i",
            "name": "[memory]",
            "pid": PID,
            "tid": 500,
            "ts": 2,
            "args": {"Addr": 1, "Bytes": 8, "Device Type": 0, "Device Id": -1},
        },
    ]
    whole = write(folder / "whole.json", rng.sample(events, 12), with_flops=1).read_bytes()
    (folder / "bad.json").write_bytes(damaged(whole, rng, times))
    try:
        profile = load(folder / "bad.json")
    except ProfileFileError:
        return
    use(profile, folder)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rng=st.randoms(use_true_random=False))
def test_damaged_compression_is_refused(tmp_path_factory, rng):
    path = tmp_path_factory.getbasetemp() / "bad.json.gz"
    path.write_bytes(damaged(gzip.compress(json.dumps({"traceEvents": gpu_events()}).encode()), rng))
    with contextlib.suppress(ProfileFileError):
        load(path)
