"""Files that appear whole or not at all; stacks, the small trace, and memory timelines."""

from __future__ import annotations

import errno
import gzip
import json
import os
import pathlib
import re

import pytest

from mindtorch_v2.profiler.analysis.memory import Action, Category
from mindtorch_v2.profiler.export import chrome_trace, memory_timeline
from mindtorch_v2.profiler.export.atomic import atomic_writer
from mindtorch_v2.profiler.record.descriptions import ModuleInfo
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.results.event_list import build_events, key_averages

from ..hand_made import E, M, make_store


def test_an_error_leaves_the_old_file(tmp_path):
    target = tmp_path / "f.txt"
    target.write_text("old")
    with pytest.raises(KeyError), atomic_writer(target) as out:
        out.write("half")
        raise KeyError("stop")
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["f.txt"]


def test_permissions_are_those_of_a_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    with atomic_writer(tmp_path / "f.txt") as out:
        out.write("x")
    assert (tmp_path / "f.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_writer(tmp_path / "link") as out:
        out.write("x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "x"


@pytest.mark.parametrize("path", ["missing/f.json", "missing/f.json.gz"])
def test_a_missing_directory_is_an_error_that_names_the_file(tmp_path, path):
    with pytest.raises(FileNotFoundError) as caught:
        chrome_trace.write(make_store([E("a", 0, 1)]), tmp_path / path)
    assert caught.value.filename == str(tmp_path / path) and os.listdir(tmp_path) == []


def test_a_directory_is_no_file(tmp_path):
    (tmp_path / "d").mkdir()
    with pytest.raises(OSError):
        chrome_trace.write(make_store([]), tmp_path / "d")
    assert os.listdir(tmp_path) == ["d"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(OSError) as caught:
        chrome_trace.write(make_store([E("a", 0, 1)]), "/dev/full")
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == "/dev/full"
    assert pathlib.Path("/dev/full").is_char_device()


# ---- stacks
# -----------------------------------------------------------------------------------------------------------


def stacks():
    inner, main = "a b.py(3): f;g", "m.py(9): main"
    return make_store(
        [
            E("x", 0, 10_000, stack=[inner, main]),
            E("y", 20_000, 25_000, stack=[inner, main]),
            E("z", 30_000, 30_100, stack=[main]),
        ],
        with_stack=True,
    )


def test_stacks_are_summed_outermost_first(tmp_path):
    build_events(stacks()).export_stacks(tmp_path / "s.txt", "self_cpu_time_total")
    assert (tmp_path / "s.txt").read_text() == "m.py(9):_main;a_b.py(3):_f_g 15\nm.py(9):_main 1\n"


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_stacks_of_averages_are_never_empty(tmp_path, depth):
    for rows in (
        key_averages(stacks(), group_by_stack_n=depth),
        build_events(stacks()).key_averages(group_by_stack_n=depth),
    ):
        rows.export_stacks(str(tmp_path / "s.txt"), "self_cpu_time_total")
        lines = (tmp_path / "s.txt").read_text().splitlines()
        assert lines and all(re.fullmatch(r"[^ ]+ [0-9]+", line) for line in lines)


def test_stacks_by_other_metrics(tmp_path):
    with pytest.raises(ValueError, match="metric should be one of"):
        build_events(stacks()).export_stacks(tmp_path / "s.txt", "cpu_time_total")
    assert os.listdir(tmp_path) == []
    build_events(stacks()).export_stacks(tmp_path / "s.txt", "self_cuda_time_total")
    assert (tmp_path / "s.txt").read_text() == ""


def test_small_trace(tmp_path):
    build_events(make_store([E("a", 1_000, 3_500)], [M(5_000, 1, 8)])).export_chrome_trace(tmp_path / "e.json")
    assert json.loads((tmp_path / "e.json").read_text()) == [
        {"name": "a", "ph": "X", "ts": 1.0, "dur": 2.5, "tid": 1, "pid": "CPU functions", "args": {}}
    ]
    build_events(make_store([])).export_chrome_trace(str(tmp_path / "e.json"))
    assert json.loads((tmp_path / "e.json").read_text()) == []


# ---- memory timelines
# -------------------------------------------------------------------------------------------------

EPOCH = 1_700_000_000_000_000_000


def step():
    """A training step in which every category of block occurs."""
    return make_store(
        [
            E("enumerate(DataLoader)#It.__next__", 0, 10_000, Kind.SCOPE),
            E("aten::stack", 1_000, 9_000),
            E("aten::mm", 20_000, 30_000, module=0),
            E("aten::relu", 31_000, 32_000, module=0),
            E("autograd::engine::evaluate_function: A", 40_000, 50_000, Kind.NODE),
            E("A", 41_000, 49_000, Kind.BACKWARD),
            E("aten::mm", 42_000, 48_000),
            E("autograd::engine::evaluate_function: B", 51_000, 60_000, Kind.NODE),
            E("Optimizer.step#Adam.step", 70_000, 90_000, Kind.SCOPE),
            E("aten::sqrt", 71_000, 80_000),
            E("aten::add", 95_000, 96_000),
        ],
        [
            M(2_000, 1, 100),  # the batch
            M(21_000, 2, 40),
            M(22_000, 3, 7),
            M(29_000, 3, -7),  # an activation, and scratch memory
            # a gradient, scratch, handed on
            M(43_000, 4, 16),
            M(44_000, 5, 5),
            M(45_000, 5, -5),
            M(46_000, 6, 3),
            M(55_000, 6, -3),
            M(61_000, 2, -40),
            M(62_000, 1, -100),
            M(72_000, 7, 32),
            M(73_000, 8, 9),
            M(79_000, 8, -9),  # the optimizer's state, and scratch memory
            M(95_500, 9, 64),
        ],
        modules=[ModuleInfo(0, "", "Net", -1)],
        epoch_offset_ns=EPOCH,
    )


def test_categories(tmp_path):
    timeline = memory_timeline.write(step(), tmp_path / "m.raw.json.gz")
    raw = json.loads(gzip.decompress((tmp_path / "m.raw.json.gz").read_bytes()))
    born = {change[2]: Category(change[3]).name for change in raw if change[1] == Action.CREATE}
    assert born == {
        100: "INPUT",
        40: "ACTIVATION",
        7: "TEMPORARY",
        16: "GRADIENT",
        5: "TEMPORARY",
        3: "AUTOGRAD_DETAIL",
        32: "OPTIMIZER_STATE",
        9: "TEMPORARY",
        64: "UNKNOWN",
    }
    assert raw[0] == [EPOCH + 2_000, 2, 100, 2] and sorted(c[2] for c in raw if c[1] == 4)[:2] == [-100, -40]
    assert len(timeline.timeline) == len(raw)


@pytest.mark.parametrize("name", ["m.json", "m.json.gz", "m.txt"])
def test_plain_timeline(tmp_path, name):
    memory_timeline.write(step(), str(tmp_path / name), "cpu")
    data = (tmp_path / name).read_bytes()
    times, sizes = json.loads(gzip.decompress(data) if name.endswith("gz") else data)
    assert len(times) == len(sizes) == 15 and times[0] == EPOCH // 1000 + 2 and times == sorted(times)
    assert sizes[0] == [0, 0, 0, 100, 0, 0, 0, 0, 0] and sizes[-1] == [0, 0, 32, 0, 0, 0, 16, 0, 64]


def test_page_needs_nothing_else(tmp_path):
    memory_timeline.write(step(), tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text()
    data = json.loads(re.search(r'type="application/json">(.*)</script>', page).group(1))
    assert (
        data["times"][0] == 0
        and sum(data["sizes"][-1]) == 112
        and len(data["names"]) == len(data["colours"]) == len(Category)
    )
    assert not re.search(r"(src|href)\s*=|https?://(?!www\.w3\.org/2000/svg)", page)


def test_devices(tmp_path):
    for device in ("cpu:0", "cuda:0", "npu:0"):
        memory_timeline.write(step(), tmp_path / "m.json", device)
        assert json.loads((tmp_path / "m.json").read_text()) == [[], []]
    with pytest.raises(RuntimeError, match="Expected one of cpu, .* device type at start of device string: bogus"):
        memory_timeline.write(step(), tmp_path / "m.json", "bogus")


def test_nothing_allocated(tmp_path):
    for name in ("m.json", "m.raw.json.gz", "m.html"):
        memory_timeline.write(make_store([E("a", 0, 1)]), tmp_path / name)
    assert json.loads((tmp_path / "m.json").read_text()) == [[], []]
