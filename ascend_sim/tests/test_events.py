"""Event times, flags, status polarity and the device clock."""

from __future__ import annotations

import ctypes as C

import pytest
from simlib import OK, PROGRESS, SYNC, TIME_LINE, Sim


def elapsed(sim: Sim, start: int, end: int) -> tuple[int, float]:
    ms = C.c_float(-1)
    code = sim.lib.aclrtEventElapsedTime(C.byref(ms), C.c_void_p(start), C.c_void_p(end))
    return code, ms.value


def timestamp(sim: Sim, event: int) -> tuple[int, int]:
    us = C.c_uint64()
    return sim.lib.aclrtEventGetTimestamp(C.c_void_p(event), C.byref(us)), us.value


@pytest.mark.parametrize("flag", [SYNC, PROGRESS])
def test_times_need_the_time_line_flag(sim: Sim, flag: int) -> None:
    first, second = sim.event(flag), sim.event(flag)
    sim.record(first, None)
    sim.record(second, None)
    sim.sync()
    assert elapsed(sim, first, second)[0] == 107006
    assert timestamp(sim, first)[0] == 107006
    assert "TIME_LINE" in (sim.message() or "")


@pytest.mark.parametrize("flag", [TIME_LINE, SYNC | TIME_LINE])
def test_elapsed_time_is_in_ticks_and_agrees_with_timestamps(sim: Sim, flag: int) -> None:
    first, second = sim.event(flag), sim.event(flag)
    x = sim.buffer((4,))
    sim.lib.simSetKernelDelay(5_000_000)
    sim.record(first, None)
    sim.launch("InplaceZero", x)
    sim.record(second, None)
    sim.sync()
    code, ms = elapsed(sim, first, second)
    assert code == OK and ms >= 5
    assert abs(ms * 1e6 / 20 - round(ms * 1e6 / 20)) < 0.5
    (_, t0), (_, t1) = timestamp(sim, first), timestamp(sim, second)
    assert abs((t1 - t0) - ms * 1000) <= 1.5
    assert elapsed(sim, second, first)[0] == 107007


def test_times_of_events_that_did_not_complete(sim: Sim) -> None:
    event = sim.event(TIME_LINE)
    assert timestamp(sim, event)[0] == 107006
    sim.hold(None)
    sim.record(event, None)
    assert timestamp(sim, event)[0] == 107006
    sim.release(None)
    sim.sync()
    assert timestamp(sim, event)[0] == OK


def test_waiting_needs_the_sync_flag(sim: Sim) -> None:
    stream, event = sim.stream(), sim.event(TIME_LINE)
    sim.record(event, None)
    assert sim.lib.aclrtStreamWaitEvent(C.c_void_p(stream), C.c_void_p(event)) == 107000


def test_old_and_new_query_have_opposite_polarity(sim: Sim) -> None:
    old = C.c_void_p()
    sim.check(sim.lib.aclrtCreateEventWithFlag(C.byref(old), SYNC))
    sim.hold(None)
    sim.record(old.value, None)
    status = C.c_int32()
    sim.check(sim.lib.aclrtQueryEvent(old, C.byref(status)))
    assert status.value == 1 and not sim.event_done(old.value)
    sim.release(None)
    sim.sync()
    sim.check(sim.lib.aclrtQueryEvent(old, C.byref(status)))
    assert status.value == 0 and sim.event_done(old.value)
    assert sim.lib.aclrtQueryEvent(C.c_void_p(sim.event()), C.byref(status)) == 107000


def test_unknown_and_stale_handles(sim: Sim) -> None:
    event = sim.event()
    sim.check(sim.lib.aclrtDestroyEvent(C.c_void_p(event)))
    for handle in (event, 0x1234, event + 1):
        assert sim.lib.aclrtRecordEvent(C.c_void_p(handle), None) == 107017
        assert sim.lib.aclrtDestroyEvent(C.c_void_p(handle)) == 107017
    assert sim.lib.aclrtSynchronizeStream(C.c_void_p(0x1234)) == 107017


def test_event_synchronize_and_timeout(sim: Sim) -> None:
    event = sim.event(SYNC)
    sim.hold(None)
    sim.record(event, None)
    assert sim.lib.aclrtSynchronizeEventWithTimeout(C.c_void_p(event), 5) == 507047
    sim.release(None)
    sim.check(sim.lib.aclrtSynchronizeEvent(C.c_void_p(event)))
    assert sim.event_done(event)


def test_clock_epoch_and_drift(in_process) -> None:
    """With a drift of 50 % the device clock runs 1.5 times as fast as the host's, between the moments that enclose each stamp."""
    in_process(
        """
        import time
        event = sim.event(TIME_LINE)
        def stamp():
            before = time.monotonic_ns() / 1000
            sim.record(event, None)
            sim.sync()
            us = C.c_uint64()
            sim.check(sim.lib.aclrtEventGetTimestamp(C.c_void_p(event), C.byref(us)))
            return us.value, before, time.monotonic_ns() / 1000
        device0, before0, after0 = stamp()
        assert 5_000_000 <= device0
        while time.monotonic_ns() / 1000 < after0 + 100_000:
            pass
        device1, before1, after1 = stamp()
        assert 1.5 * (before1 - after0) - 2 <= device1 - device0 <= 1.5 * (after1 - before0) + 2      # stamps are whole microseconds
        """,
        ASCEND_SIM_CLOCK_EPOCH_NS=5_000_000_000,
        ASCEND_SIM_CLOCK_PPM=500_000,
    )
