"""Work runs after the call that asked for it has returned; streams and events order it."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch

npu = torch.npu


def test_a_launch_returns_before_its_kernel_ran(simulator):
    x = torch.ones(4, device="npu")
    npu.synchronize()
    started = simulator.count("kernels_started")
    with simulator.held(npu.current_stream()):
        y = x + x
        assert simulator.count("kernels_started") == started
        assert not npu.current_stream().query()
    assert y.tolist() == [2.0] * 4  # reading waits
    assert simulator.count("kernels_done") > 0 and npu.current_stream().query()


def test_reading_waits_for_slow_kernels(slow, simulator):
    x = torch.ones(4, device="npu")
    npu.synchronize()
    slow("Add", 100)
    done = simulator.count("kernels_done")
    assert (x + x).tolist() == [2.0] * 4
    assert simulator.count("kernels_done") == done + 1


def test_a_stream_runs_while_another_one_stands(simulator):
    x, y = torch.ones(4, device="npu"), torch.ones(4, device="npu")
    first, second = npu.Stream(), npu.Stream()
    npu.synchronize()
    with simulator.held(first):
        with npu.stream(first):
            a = x * x
        with npu.stream(second):
            b = y * y
        second.synchronize()  # would never end if streams ran one after the other
        assert second.query() and not first.query()
    npu.synchronize()
    assert a.tolist() == b.tolist() == [1.0] * 4


def test_two_streams_overlap(slow, simulator):
    """Both kernels ran at one moment: each began on the device before the other one ended."""
    x, streams = torch.ones(4, device="npu"), [npu.Stream(), npu.Stream()]
    npu.synchronize()
    slow("Mul", 300)
    marks = []
    with simulator.held(streams[0]), simulator.held(streams[1]):
        for stream in streams:
            with npu.stream(stream):
                marks.append([npu.Event(enable_timing=True) for _ in range(2)])
                marks[-1][0].record()
                x * x
                marks[-1][1].record()
    npu.synchronize()
    (first_start, first_end), (second_start, second_end) = marks
    assert first_start.elapsed_time(second_end) > 0 and second_start.elapsed_time(first_end) > 0


def test_one_stream_keeps_its_order(slow):
    slow("Exp", 50)
    x = torch.zeros(4, device="npu")
    y = x.exp()
    x += 5  # not before the exponential has read it
    y = y.exp()
    npu.synchronize()
    assert torch.allclose(y.cpu(), torch.full((4,), 2.718281828))


def test_a_wait_orders_streams(slow):
    x = torch.ones(4, device="npu")
    side = npu.Stream()
    npu.synchronize()
    slow("Adds", 150)
    x += 1  # slow, in the current stream
    side.wait_stream(npu.current_stream())
    with npu.stream(side):
        y = x * 10
    x.record_stream(side)
    side.synchronize()
    assert y.tolist() == [20.0] * 4


def test_without_a_wait_a_stream_overtakes(slow):
    x = torch.ones(4, device="npu")
    side = npu.Stream()
    npu.synchronize()
    slow("Adds", 200)
    x += 1
    with npu.stream(side):
        y = x * 10
    side.synchronize()
    assert y.cpu().tolist() == [10.0] * 4  # it saw the values before the addition
    npu.synchronize()
    assert x.tolist() == [2.0] * 4


def test_a_wait_binds_to_the_recording_at_call_time(simulator):
    x = torch.ones(4, device="npu")
    side, event = npu.Stream(), npu.Event()
    event.record()
    npu.synchronize()
    side.wait_event(event)
    with simulator.held(npu.current_stream()):
        x += 1
        event.record()  # later than the wait: the side stream does not wait for it
        side.synchronize()
        assert side.query() and not event.query()


def test_events(slow):
    start, end = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    x = torch.ones(4, device="npu")
    npu.synchronize()
    slow("Add", 100)
    assert start.query() and end.query()  # never recorded
    start.record()
    x = x + x
    end.record()
    assert not end.query()
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 95


def test_events_without_timing_cannot_be_timed():
    a, b = npu.Event(), npu.Event()
    a.record()
    b.record()
    npu.synchronize()
    with pytest.raises(RuntimeError, match="107006"):
        a.elapsed_time(b)
    with pytest.raises(ValueError, match="must be recorded"):
        npu.Event(enable_timing=True).elapsed_time(a)


def test_stream_contexts_nest_and_restore():
    default = npu.current_stream()
    assert default == npu.default_stream()
    a, b = npu.Stream(), npu.Stream()
    with npu.stream(a):
        assert npu.current_stream() == a
        with npu.stream(b):
            assert npu.current_stream() == b
        with npu.stream(None):
            assert npu.current_stream() == a
    assert npu.current_stream() == default
    assert "simulated" in repr(a)


def test_devices():
    assert npu.device_count() == 2 and npu.current_device() == 0
    with npu.device(1):
        assert npu.current_device() == 1
        x = torch.ones(3, device="npu")
        assert x.device == torch.device("npu:1") and x.get_device() == 1
    assert npu.current_device() == 0
    assert (x + x).tolist() == [2.0] * 3  # runs where its operands are
    assert x.to("npu:0").device.index == 0 and x.to("npu:0").tolist() == [1.0] * 3
    with npu.device_of(x):
        assert npu.current_device() == 1
    npu.set_device(1)
    try:
        assert torch.zeros(1, device="npu").device.index == 1
    finally:
        npu.set_device(0)
    with pytest.raises(RuntimeError, match="Invalid NPU device index"):
        torch.ones(1, device="npu:7")


def test_every_thread_has_its_own_device():
    import threading

    seen = []

    def work():
        seen.append(npu.current_device())
        npu.set_device(1)
        seen.append(torch.ones(2, device="npu").sum().item())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0, 2.0] and npu.current_device() == 0


def test_copies_from_pinned_memory_do_not_wait(simulator):
    pinned = torch.ones(1000).pin_memory()
    assert pinned.is_pinned() and not torch.ones(3).is_pinned() and pinned.pin_memory() is pinned
    npu.synchronize()
    simulator.library.simSetCopyDelay(200_000_000)
    try:
        copies = simulator.count("copies")
        with simulator.held(npu.current_stream()):
            x = pinned.to("npu", non_blocking=True)
            assert simulator.count("copies") == copies  # the call returned, the copy has not run
        npu.synchronize()
        copies = simulator.count("copies")
        torch.ones(1000).to("npu", non_blocking=True)  # pageable: the call waits
        assert simulator.count("copies") == copies + 1
    finally:
        simulator.library.simSetCopyDelay(0)
    back = torch.empty(1000).pin_memory()
    back.copy_(x * 3, non_blocking=True)
    npu.synchronize()
    assert back.tolist() == [3.0] * 1000


def test_pinned_memory_is_not_reused_while_a_copy_reads_it(simulator):
    simulator.library.simSetCopyDelay(50_000_000)
    try:
        made = []
        for i in range(4):
            made.append(torch.full((500,), float(i)).pin_memory().to("npu", non_blocking=True))
    finally:
        npu.synchronize()
        simulator.library.simSetCopyDelay(0)
    assert [t.cpu()[0].item() for t in made] == [0.0, 1.0, 2.0, 3.0]
