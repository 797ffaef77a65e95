"""Asynchrony: launches return before execution, streams overlap, events order them. Streams are stopped with
simHoldStream, so nothing depends on how fast this machine is."""

from __future__ import annotations

import ctypes as C
import threading

import numpy as np
from simlib import D2D, D2H, H2D, OK, SYNC, Sim


def filled(sim: Sim, value: float, n: int = 64):
    return sim.upload(np.full(n, value, np.float32))


def release_after(sim: Sim, stream: int, tasks: int) -> None:
    """Lets a held stream go once it has so many tasks; runs in a thread of its own."""
    sim.check(sim.lib.aclrtSetDevice(0))
    pending = C.c_uint64()
    while pending.value < tasks:
        sim.check(sim.lib.simStreamPending(C.c_void_p(stream), C.byref(pending)))
    sim.release(stream)


def test_a_launch_returns_before_its_kernel_ran(sim: Sim) -> None:
    x, out, stream = filled(sim, 1), filled(sim, 0), sim.stream()
    sim.hold(stream)
    done = sim.counter("kernels_done")
    sim.launch("Adds", x, 1.0, 1.0, out, stream=stream)
    assert sim.counter("kernels_done") == done
    assert sim.stream_busy(stream)
    assert (out.read() == 0).all()  # a synchronous copy does not wait for other streams
    sim.release(stream)
    sim.sync(stream)
    assert not sim.stream_busy(stream)
    assert (out.read() == 2).all()


def test_a_delayed_kernel_outlives_its_launch(sim: Sim) -> None:
    sim.lib.simSetOpDelay(b"Exp", 30_000_000)
    x, out = filled(sim, 0), filled(sim, 0)
    start, end = sim.event(), sim.event()
    sim.record(start, None)
    sim.launch("Exp", x, out)
    sim.record(end, None)
    assert not sim.event_done(end)
    sim.sync()
    elapsed = C.c_float()
    sim.check(sim.lib.aclrtEventElapsedTime(C.byref(elapsed), C.c_void_p(start), C.c_void_p(end)))
    assert elapsed.value >= 30
    assert (out.read() == 1).all()


def test_streams_do_not_wait_for_each_other(sim: Sim) -> None:
    first, second = sim.stream(), sim.stream()
    x, slow, fast = filled(sim, 3), filled(sim, 0), filled(sim, 0)
    sim.hold(first)
    sim.launch("Muls", x, 2.0, slow, stream=first)
    sim.launch("Muls", x, 3.0, fast, stream=second)
    sim.sync(second)  # would hang if streams were ordered
    assert (fast.read() == 9).all() and (slow.read() == 0).all()
    sim.release(first)
    sim.sync(first)
    assert (slow.read() == 6).all()


def test_two_streams_run_at_the_same_time(sim: Sim) -> None:
    """Each stream runs a host function that needs the other one to be running."""
    meeting = threading.Barrier(2, timeout=20)
    met = []
    call = C.CFUNCTYPE(None, C.c_void_p)(lambda _: met.append(meeting.wait()))
    streams = [sim.stream(), sim.stream()]
    for stream in streams:
        sim.check(sim.lib.aclrtLaunchHostFunc(C.c_void_p(stream), call, None))
    for stream in streams:
        sim.sync(stream)
    assert sorted(met) == [0, 1]


def test_one_stream_is_first_in_first_out(sim: Sim) -> None:
    stream, order = sim.stream(), []
    calls = [C.CFUNCTYPE(None, C.c_void_p)(lambda _, i=i: order.append(i)) for i in range(50)]
    for call in calls:
        sim.check(sim.lib.aclrtLaunchHostFunc(C.c_void_p(stream), call, None))
    sim.sync(stream)
    assert order == list(range(50))


def test_a_wait_orders_two_streams(sim: Sim) -> None:
    first, second, event = sim.stream(), sim.stream(), sim.event(SYNC)
    x, middle, out = filled(sim, 1), filled(sim, 0), filled(sim, 0)
    sim.hold(first)
    sim.launch("Adds", x, 4.0, 1.0, middle, stream=first)
    sim.record(event, first)
    sim.wait(second, event)
    sim.launch("Muls", middle, 10.0, out, stream=second)
    assert sim.stream_busy(second)
    assert sim.lib.aclrtSynchronizeStreamWithTimeout(C.c_void_p(second), 5) == 507046
    sim.release(first)
    sim.sync(second)
    assert (out.read() == 50).all()


def test_a_wait_binds_to_the_record_current_at_the_call(sim: Sim) -> None:
    first, second, event = sim.stream(), sim.stream(), sim.event(SYNC)
    sim.record(event, first)
    sim.sync(first)
    sim.wait(second, event)  # bound to the finished record
    sim.hold(first)
    sim.record(event, first)  # must not delay the second stream
    sim.sync(second)
    assert not sim.event_done(event)
    sim.release(first)
    sim.sync(first)
    assert sim.event_done(event)


def test_waiting_for_a_never_recorded_event_is_no_wait(sim: Sim) -> None:
    stream, event = sim.stream(), sim.event(SYNC)
    assert sim.event_done(event)
    sim.wait(stream, event)
    sim.sync(stream)


def test_an_event_may_be_destroyed_while_a_stream_waits(sim: Sim) -> None:
    first, second, event = sim.stream(), sim.stream(), sim.event(SYNC)
    sim.hold(first)
    sim.record(event, first)
    sim.wait(second, event)
    sim.check(sim.lib.aclrtDestroyEvent(C.c_void_p(event)))
    sim.release(first)
    sim.sync(second)


def test_pinned_copies_are_asynchronous_and_pageable_ones_are_not(sim: Sim) -> None:
    stream, size = sim.stream(), 4096
    device, pinned, pageable = sim.malloc(size), sim.malloc_host(size), np.full(size, 7, np.uint8)
    C.memset(pinned, 5, size)
    sim.hold(stream)
    sim.memcpy_async(device, pinned, size, H2D, stream)
    assert sim.stream_busy(stream)
    release_when_queued = threading.Thread(target=release_after, args=(sim, stream, 2))
    release_when_queued.start()
    sim.memcpy_async(device, pageable.ctypes.data, size, H2D, stream)  # returns when the stream reached it
    assert not sim.stream_busy(stream)
    release_when_queued.join()
    back = sim.malloc_host(size)
    sim.hold(stream)
    sim.memcpy_async(back, device, size, D2H, stream)
    assert sim.stream_busy(stream)
    sim.release(stream)
    sim.sync(stream)
    assert C.string_at(back, size) == b"\7" * size
    other = sim.malloc(size)
    sim.memcpy_async(other, device, size, D2D, stream)
    sim.sync(stream)


def test_device_synchronize_waits_for_every_stream(sim: Sim) -> None:
    streams, x = [sim.stream() for _ in range(3)], filled(sim, 1)
    outs = [filled(sim, 0) for _ in streams]
    sim.lib.simSetKernelDelay(3_000_000)
    for stream, out in zip(streams, outs):
        sim.launch("Adds", x, 1.0, 1.0, out, stream=stream)
    sim.check(sim.lib.aclrtSynchronizeDevice())
    assert all((out.read() == 2).all() for out in outs)


def test_destroying_a_stream_finishes_its_work_and_force_drops_it(sim: Sim) -> None:
    x, out, dropped = filled(sim, 1), filled(sim, 0), filled(sim, 0)
    sim.lib.simSetKernelDelay(3_000_000)
    stream = sim.stream()
    sim.launch("Adds", x, 1.0, 1.0, out, stream=stream)
    sim.destroy_stream(stream)
    assert (out.read() == 2).all()
    stream, event = sim.stream(), sim.event(SYNC)
    sim.hold(stream)
    sim.launch("Adds", x, 1.0, 1.0, dropped, stream=stream)
    sim.record(event, stream)
    sim.check(sim.lib.aclrtDestroyStreamForce(C.c_void_p(stream)))
    assert (dropped.read() == 0).all()
    assert sim.event_done(event)
    assert sim.lib.aclrtSynchronizeStream(C.c_void_p(stream)) == 107017


def test_a_full_queue_blocks_the_launch(in_process) -> None:
    in_process(
        """
        import threading
        x, y = sim.buffer((4,)), sim.buffer((4,))
        sim.hold(None)
        reached = []
        def work():
            sim.lib.aclrtSetDevice(0)
            for i in range(20):
                sim.launch("InplaceZero", x)
                reached.append(i)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive() and len(reached) == 8, reached
        sim.release(None)
        thread.join(20)
        assert len(reached) == 20
        sim.sync()
        """,
        ASCEND_SIM_QUEUE_DEPTH=8,
    )


def test_limits_on_streams_and_events(in_process) -> None:
    in_process(
        """
        handle = C.c_void_p()
        for _ in range(3):
            sim.stream()
        assert sim.lib.aclrtCreateStream(C.byref(handle)) == 207008
        events = [sim.event(SYNC) for _ in range(5)]
        assert sim.lib.aclrtCreateEventExWithFlag(C.byref(handle), SYNC) == 207007
        sim.event(TIME_LINE)  # not counted
        sim.check(sim.lib.aclrtDestroyEvent(C.c_void_p(events[0])))
        sim.event(SYNC)
        """,
        ASCEND_SIM_MAX_STREAMS=4,
        ASCEND_SIM_MAX_EVENTS=5,
    )


def test_environment_delay(in_process) -> None:
    in_process(
        """
        import time
        x = sim.buffer((4,))
        t0 = time.monotonic()
        sim.launch("InplaceZero", x)
        sim.sync()
        assert time.monotonic() - t0 >= 0.2
        """,
        ASCEND_SIM_KERNEL_DELAY_US=200_000,
    )


def test_stream_properties(sim: Sim) -> None:
    least, greatest, priority, ident = C.c_int32(), C.c_int32(), C.c_uint32(), C.c_int32(-1)
    assert sim.lib.aclrtDeviceGetStreamPriorityRange(C.byref(least), C.byref(greatest)) == OK
    handle = C.c_void_p()
    sim.check(sim.lib.aclrtCreateStreamWithConfig(C.byref(handle), greatest, 3))
    sim.check(sim.lib.aclrtStreamGetPriority(handle, C.byref(priority)))
    sim.check(sim.lib.aclrtStreamGetId(handle, C.byref(ident)))
    assert priority.value == greatest.value and ident.value >= 0
