"""The fixed piece of work that tells how quickly the machine ran: when it is read, and what is kept."""

from __future__ import annotations

import threading

import mindtorch_v2 as torch
from mindtorch_v2.profiler.record import clock
from mindtorch_v2.profiler.record.yardstick import MOST_READINGS, Clocks, SpeedReading, Yardstick, yardstick_name
from mindtorch_v2.profiler.store.join import concat


class Machine:
    """Clocks that move only where something is done: the work takes 10 us, of which another process has `stolen`."""

    def __init__(self) -> None:
        self.time = self.own = self.stolen = 0

    def work(self) -> None:
        self.time += 10_000 + self.stolen
        self.own += 10_000

    def clocks(self) -> Clocks:
        return Clocks(lambda: self.time, lambda: self.own, lambda: self.own)


def test_a_reading_takes_a_hundredth_of_the_time_at_most():
    machine = Machine()
    yardstick = Yardstick(machine.clocks(), machine.work)
    for _ in range(500):  # steps of 100 us
        machine.time += 100_000
        machine.own += 100_000
        yardstick.read()
    # each reading does the work twice, and the next one waits for a hundred times that
    assert yardstick.readings[:2] == [
        SpeedReading(100_000, 10_000, 100_000),
        SpeedReading(2_120_000, 10_000, 2_120_000),
    ]
    assert len(yardstick.readings) == 25 and 0.01 * machine.time >= 25 * 20_000


def test_an_interruption_is_neither_counted_nor_puts_off_the_next_reading():
    machine = Machine()
    yardstick = Yardstick(machine.clocks(), machine.work)
    machine.stolen = 50_000_000
    yardstick.read()
    machine.time += 2_000_000
    yardstick.read()
    assert [reading.work_ns for reading in yardstick.readings] == [10_000, 10_000]


def test_other_threads_take_no_reading_and_very_many_are_thinned_out():
    machine = Machine()
    yardstick = Yardstick(machine.clocks(), machine.work)
    other = threading.Thread(target=yardstick.read)
    other.start()
    other.join()
    assert yardstick.readings == []
    for _ in range(2 * MOST_READINGS):
        machine.time += 2_000_000
        yardstick.read()
    assert len(yardstick.readings) == MOST_READINGS
    machine.time += 2_000_000
    yardstick.read()
    assert len(yardstick.readings) == MOST_READINGS  # from now on half as often
    machine.time += 2_000_000
    yardstick.read()
    assert len(yardstick.readings) == MOST_READINGS + 1


def profiled(steps: int, recorded: bool = True) -> torch.profiler.profile:
    plan = torch.profiler.schedule(wait=0, warmup=1, active=steps, repeat=1) if recorded else None
    with torch.profiler.profile(schedule=plan) as prof:
        for _ in range(steps + 1):
            torch.ones(4) + 1
            prof.step()
    return prof


def test_readings_lie_between_the_steps_of_a_profile_and_are_saved_with_it(tmp_path):
    prof = profiled(3)
    store = prof.profiler.store
    assert store.metadata.yardstick == yardstick_name() and len(store.metadata.speed) >= 1
    steps = [event for event in prof.events() if event.name.startswith("ProfilerStep")]
    for time_ns, work_ns, process_ns in store.metadata.speed:
        assert work_ns > 0 and process_ns > 0
        assert not any(event["start_ns"] < time_ns < event["end_ns"] for event in steps)
    prof.save(tmp_path / "p.mindprof")
    loaded = torch.profiler.load(tmp_path / "p.mindprof").store
    assert loaded.metadata.speed == store.metadata.speed and loaded.metadata.yardstick == store.metadata.yardstick


def test_without_steps_and_under_another_clock_nothing_is_read():
    assert profiled(3, recorded=False).profiler.store.metadata.speed == ()

    class Fake:
        time = 0

        def now(self) -> int:
            self.time += 1000
            return self.time

        def epoch_offset(self) -> int:
            return 0

    with clock.use(Fake()):
        metadata = profiled(3).profiler.store.metadata
    assert metadata.speed == () and metadata.yardstick == ""


def test_joined_windows_keep_the_readings_that_can_be_compared():
    one, two = (profiled(1).profiler.store for _ in range(2))
    parts = [
        one.with_metadata(yardstick="a", speed=((5, 1, 1),)),
        two.with_metadata(yardstick="b", speed=((9, 2, 2),)),
        two.with_metadata(yardstick="a", speed=((1, 3, 3),)),
    ]
    assert concat(parts).metadata.speed == ((1, 3, 3), (5, 1, 1))
