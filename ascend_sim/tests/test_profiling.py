"""The collecting profiler (aclprof) and named ranges (mstx): states, handles and arguments."""

from __future__ import annotations

import ctypes as C
from collections.abc import Iterator
from pathlib import Path

import pytest
from simlib import OK, Sim

INVALID, REPEATED, NO_FILE, BAD_CONFIG, RUNNING, NOT_RUNNING = 100000, 100002, 100003, 100010, 100042, 100043
TASK_TIME, ACL_API, NO_METRICS = 0x2, 0x1, 0xFF


class Profiler:
    def __init__(self, sim: Sim) -> None:
        self.lib = sim.lib
        for name in ("aclprofCreateConfig", "aclprofCreateStepInfo", "mstxDomainCreateA"):
            getattr(self.lib, name).restype = C.c_void_p
        for name in ("mstxRangeStartA", "mstxDomainRangeStartA"):
            getattr(self.lib, name).restype = C.c_uint64

    def init(self, folder: Path) -> int:
        path = str(folder).encode()
        return int(self.lib.aclprofInit(path, C.c_size_t(len(path))))

    def config(self, devices: list[int], data: int = TASK_TIME, metrics: int = NO_METRICS) -> C.c_void_p:
        ids = (C.c_uint32 * max(len(devices), 1))(*devices)
        return C.c_void_p(
            self.lib.aclprofCreateConfig(ids, C.c_uint32(len(devices)), C.c_int32(metrics), None, C.c_uint64(data))
        )


@pytest.fixture
def profiler(sim: Sim) -> Iterator[Profiler]:
    yield Profiler(sim)
    sim.lib.aclprofFinalize()
    sim.message()


def test_a_run_from_start_to_end_leaves_the_folder_as_it_was(profiler: Profiler, tmp_path: Path) -> None:
    lib = profiler.lib
    assert profiler.init(tmp_path) == OK
    config = profiler.config([0, 1])
    assert lib.aclprofWarmup(config) == OK
    assert lib.aclprofStart(config) == OK and lib.aclprofStop(config) == OK
    assert lib.aclprofStart(config) == OK and lib.aclprofStop(config) == OK
    assert lib.aclprofDestroyConfig(config) == OK and lib.aclprofFinalize() == OK
    assert list(tmp_path.iterdir()) == []


def test_calls_out_of_order_are_refused(profiler: Profiler, tmp_path: Path) -> None:
    lib, config = profiler.lib, profiler.config([0])
    assert lib.aclprofStart(config) == NOT_RUNNING and lib.aclprofFinalize() == NOT_RUNNING
    assert lib.aclprofSetConfig(1, b"200MB", C.c_size_t(5)) == NOT_RUNNING
    assert profiler.init(tmp_path) == OK and profiler.init(tmp_path) == REPEATED
    assert lib.aclprofSetConfig(1, b"200MB", C.c_size_t(5)) == OK
    assert lib.aclprofStop(config) == NOT_RUNNING
    assert lib.aclprofStart(config) == OK and lib.aclprofStart(profiler.config([1, 0])) == RUNNING
    assert lib.aclprofStop(profiler.config([0], TASK_TIME | ACL_API)) == BAD_CONFIG
    assert lib.aclprofStop(config) == OK


def test_what_runs_at_the_end_is_stopped_by_it(profiler: Profiler, tmp_path: Path) -> None:
    config = profiler.config([0])
    assert (
        profiler.init(tmp_path) == OK
        and profiler.lib.aclprofStart(config) == OK
        and profiler.lib.aclprofFinalize() == OK
    )
    assert profiler.init(tmp_path) == OK and profiler.lib.aclprofStart(config) == OK


def test_folders_that_are_not_there_are_refused(profiler: Profiler, sim: Sim, tmp_path: Path) -> None:
    assert profiler.init(tmp_path / "none") == NO_FILE and "none is not a folder" in (sim.message() or "")
    assert profiler.lib.aclprofInit(None, C.c_size_t(0)) == INVALID
    assert profiler.lib.aclprofInit(str(tmp_path).encode(), C.c_size_t(1)) == INVALID


@pytest.mark.parametrize(("devices", "metrics"), [([99], NO_METRICS), ([0, 0], NO_METRICS), ([0], 9), ([0], -1)])
def test_configurations_are_checked(profiler: Profiler, sim: Sim, devices: list[int], metrics: int) -> None:
    assert profiler.config(devices, metrics=metrics).value is None and sim.message()


def test_destroyed_configurations_are_recognised(profiler: Profiler, tmp_path: Path) -> None:
    lib, config = profiler.lib, profiler.config([0])
    assert profiler.init(tmp_path) == OK
    assert lib.aclprofDestroyConfig(config) == OK and lib.aclprofDestroyConfig(config) == INVALID
    for function in (lib.aclprofStart, lib.aclprofStop, lib.aclprofWarmup):
        assert function(config) == INVALID and function(None) == INVALID


def test_steps_and_marks(profiler: Profiler, sim: Sim) -> None:
    lib, step = profiler.lib, C.c_void_p(profiler.lib.aclprofCreateStepInfo())
    assert lib.aclprofGetStepTimestamp(step, 0, None) == OK and lib.aclprofGetStepTimestamp(step, 1, None) == OK
    assert lib.aclprofGetStepTimestamp(step, 2, None) == INVALID
    lib.aclprofDestroyStepInfo(step)
    assert lib.aclprofGetStepTimestamp(step, 0, None) == INVALID
    assert (
        lib.aclprofMarkEx(b"here", C.c_size_t(4), None) == OK and lib.aclprofMarkEx(b"", C.c_size_t(0), None) == INVALID
    )


def test_ranges_have_numbers_of_their_own(profiler: Profiler) -> None:
    lib = profiler.lib
    first, second = lib.mstxRangeStartA(b"a", None), lib.mstxRangeStartA(b"b", None)
    assert 0 < first < second and lib.mstxRangeStartA(None, None) == 0
    domain = C.c_void_p(lib.mstxDomainCreateA(b"mine"))
    assert lib.mstxDomainRangeStartA(domain, b"c", None) > second
    lib.mstxDomainDestroy(domain)
    assert lib.mstxDomainRangeStartA(domain, b"c", None) == 0
