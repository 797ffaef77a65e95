"""What a profile leaves to its surroundings: the terminal, folders, memory, and other profile functions."""

from __future__ import annotations

import cProfile
import gc
import os
import pathlib
import re
import subprocess
import sys
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import load, profile, record_function, tensorboard_trace_handler
from mindtorch_v2.profiler.analysis.formatting import printable
from mindtorch_v2.profiler.analysis.modules import module_report
from mindtorch_v2.profiler.export import memory_timeline
from mindtorch_v2.profiler.results.event_list import build_events

from .hand_made import E, M, ModuleInfo, make_store

WILD = "a\x1b[31mred\x1b[0m\nb\rc\td\x07\x7f\x9b\u2028\u202e\udcff\0"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


# ---- terminals
# --------------------------------------------------------------------------------------------------------


def test_tables_have_no_control_characters():
    store = make_store(
        [E(WILD, 0, 10_000, stack=[f"{WILD}.py(3): f", f"m.py(9): {WILD}"], module=0), E("aten::x", 20_000, 25_000)],
        with_stack=True,
        modules=[ModuleInfo(0, WILD, "Linear", -1)],
    )
    for rows in (
        build_events(store),
        build_events(store).key_averages(),
        build_events(store).key_averages(group_by_stack_n=2),
    ):
        for text in (rows.table(), str(rows), rows.table(max_name_column_width=None, max_src_column_width=None)):
            assert not CONTROL.search(text) and r"a\x1b[31mred" in text
    lines = build_events(store).key_averages().table(max_name_column_width=None).splitlines()
    assert len({len(line) for line in lines[:5]}) == 1, "columns stay columns"
    assert not CONTROL.search(module_report(store).table())


def test_stacks_have_no_control_characters(tmp_path):
    store = make_store([E("x", 0, 10_000, stack=[f"{WILD}.py(3): f", "m.py(9): main"])], with_stack=True)
    build_events(store).export_stacks(tmp_path / "s.txt", "self_cpu_time_total")
    data = (tmp_path / "s.txt").read_bytes()
    assert (
        data.count(b"\n") == 1
        and re.fullmatch(rb"[^ ]+ 10\n", data)
        and not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
    )


def test_pages_have_no_control_characters(tmp_path):
    store = make_store([E(WILD, 0, 10_000, module=0)], [M(1_000, 1, 1000)], modules=[ModuleInfo(0, WILD, "Linear", -1)])
    memory_timeline.write(store, tmp_path / "m.html", "cpu")
    assert not CONTROL.search((tmp_path / "m.html").read_text())


def test_printable_leaves_other_texts_alone():
    for text in ("aten::add", "größe 大小 🙂", "a\u00a0b\u3000c", ""):
        assert printable(text) is text or printable(text) == text
    assert printable("a\nb\x1b\u2028") == r"a\nb\x1b\u2028"


# ---- folders
# ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../x", "a/b", "/tmp/x", "..", ".", "a\\b", "a\0b"])
def test_a_worker_cannot_leave_its_folder(tmp_path, name):
    with pytest.raises(ValueError, match="worker_name is .* Give the folder as dir_name"):
        tensorboard_trace_handler(str(tmp_path / "logs"), name)
    assert os.listdir(tmp_path) == []


def test_other_names_of_workers(tmp_path):
    for name in ("rank 0", "..x", "a:b", "größe", ""):
        with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path), name)):
            pass
    assert len(os.listdir(tmp_path)) == 5


# ---- memory
# -----------------------------------------------------------------------------------------------------------

_RESIDENT = """
import gc, sys
import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096
x = torch.ones(4)
def run(count):
    with profile() as prof:
        for _ in range(count):
            x + x
    if sys.argv[1] == "used":
        prof.key_averages().table()
    full = resident()
    del prof
    gc.collect()
    return full, resident()
run(1000)
_, small = run(1000)
full, large = run(300_000)
print(full - small, large - small)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("how", ["unused", "used"])
def test_memory_goes_back(how):
    """Of two profiles of one process: what a large one took is mostly gone when it is.

    Up to 8 MB stay for the next one.
    """
    done = subprocess.run(
        [sys.executable, "-c", _RESIDENT, how],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    took, stayed = map(int, done.stdout.split())
    if os.environ.get("MINDTORCH_NATIVE", "1") != "0":
        assert stayed < took / 2 + (1 << 20), (took, stayed)


def test_a_loaded_profile_that_goes_leaves_its_events(tmp_path):
    with profile() as prof, record_function("r"):
        torch.ones(2) + 1
    prof.save(tmp_path / "p.prof")
    loaded = load(tmp_path / "p.prof")
    events = loaded.events()
    del loaded
    gc.collect()
    assert "r" in [e.name for e in events] and "r" in events.table()


# ---- other profile functions
# ------------------------------------------------------------------------------------------


def called(prof, name: str) -> int:
    store = prof.profiler.store
    return sum(store.name_of(row).endswith(f": {name}") for row in range(len(store)))


def work():
    return torch.ones(2) + 1


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="several profile functions live side by side there")
@pytest.mark.parametrize("how", ["cProfile", "setprofile", "setprofile that stays"])
def test_another_profile_function_begun_inside_is_told(how):
    """Before Python 3.12 it replaces ours: what was recorded stays, and the profile says that the rest is
    missing.
    """
    other = cProfile.Profile()
    begin = other.enable if how == "cProfile" else lambda: sys.setprofile(lambda *args: None)
    end = (
        other.disable if how == "cProfile" else (lambda: sys.setprofile(None)) if how == "setprofile" else lambda: None
    )
    try:
        with (
            pytest.warns(UserWarning, match="Python calls are missing from this profile"),
            profile(with_stack=True) as prof,
        ):
            work()
            begin()
            work()
            end()
            work()
    finally:
        sys.setprofile(None)
    assert called(prof, "work") == 1 and "incomplete" in prof.profiler.store.metadata.user["python_calls"]
    assert sum(e.name == "aten::add" for e in prof.events()) == 3 and prof.validate() == []


def test_nothing_is_said_where_nothing_is_missing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for flags in ({"with_stack": True}, {}):
            with profile(**flags) as prof:
                work()
            assert "python_calls" not in prof.profiler.store.metadata.user
