"""The flight recorder inside a process: what it keeps, when it writes by itself, and that it gives everything back."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _observer
from mindtorch_v2.optim import optimizer as optimizers
from mindtorch_v2.profiler.analysis.steps import find_steps
from mindtorch_v2.profiler.capture import flight as flights
from mindtorch_v2.profiler.capture import startup
from mindtorch_v2.profiler.capture.flight import FlightRecorder
from mindtorch_v2.profiler.capture.pacing import Pace
from mindtorch_v2.profiler.capture.settings import FlightSettings

from ..helpers import names

MS, S = 1_000_000, 1_000_000_000
ALWAYS = Pace(share=1.0, event_ns=1)


class HandClock:
    """Stands still, but for a nanosecond per reading, until it is moved."""

    def __init__(self) -> None:
        self.time = 10 * S

    def now(self) -> int:
        self.time += 1
        return self.time

    def epoch_offset(self) -> int:
        return 0


@pytest.fixture
def hand():
    from mindtorch_v2.profiler.record import clock as clocks

    with clocks.use(HandClock()) as made:
        yield made


@pytest.fixture
def fly(hand, tmp_path):
    """Makes recorders without a thread, on a clock that is moved by hand."""
    made = []

    def make(pace: Pace = ALWAYS, **settings):
        settings = FlightSettings(**{"directory": str(tmp_path), "signals": (), **settings})
        flight = FlightRecorder(settings, pace, cpu_clock=lambda: hand.time)
        flight.start(with_thread=False)
        made.append(flight)
        return flight

    yield make
    for flight in made:
        flight.stop()


def _train(steps: int, hand: HandClock, length_ns: int = 100 * MS) -> None:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        hand.time += length_ns
        optimizer.step()


def test_a_dump_has_the_last_seconds_and_their_steps(fly, hand):
    flight = fly(seconds=2)
    _train(50, hand)
    profile = torch.profiler.load(flight.dump())
    steps = find_steps(profile.store)
    assert steps.number.max() == 49
    assert 18 <= len(steps.number) <= 20  # of a tenth of a second each
    assert profile.store.metadata.stop_ns - profile.store.metadata.start_ns <= 2 * S
    facts = profile.metadata["flight"]
    assert facts["steps"] == 50 and facts["reason"] == "request" and facts["recorded_share"] == 1
    assert any("test_flight.py" in line for thread in facts["threads"] for line in thread["stack"])
    assert not profile.validate()


def test_recording_goes_on_after_a_dump(fly, hand, tmp_path):
    flight = fly()
    torch.ones(2) + 1
    first = flight.dump(tmp_path / "first.mindprof")
    torch.ones(2) * 2
    second = flight.dump(tmp_path / "second.mindprof")
    assert "aten::mul" not in names(torch.profiler.load(first).store)
    assert {"aten::add", "aten::mul"} <= set(names(torch.profiler.load(second).store))
    assert flight.dumps == [first, second]


def test_memory_is_bounded(fly, hand):
    flight = fly(max_events=2000)
    x = torch.ones(2)
    for _ in range(50):
        for _ in range(100):
            x + x
        hand.time += S
        flight.step()
    assert flight.status()["kept_events"] <= 1000
    assert flight.status()["events"] >= 4000
    assert len(torch.profiler.load(flight.dump()).store) <= 2000


def test_a_program_with_too_many_events_is_recorded_in_bursts(fly, hand):
    flight = fly(Pace(share=0.01, event_ns=10_000_000), seconds=3000)  # each step has an event that costs a tenth of it
    x, observed = torch.ones(2), 0
    for _ in range(1000):
        x + x
        hand.time += 100 * MS
        flight.step()
        observed += _observer.active is not None
    assert 0 < observed < 200
    profile = torch.profiler.load(flight.dump())
    assert profile.metadata["flight"]["recorded_share"] < 0.2
    steps = find_steps(profile.store)
    assert steps.source == "profiler"
    assert 50 < len(steps.number) < 200
    assert (abs(steps.duration_ns - 100 * MS) < MS).all()  # none spans a pause
    assert profile.metadata["flight"]["steps"] == 1000


def test_the_thread_turns_where_no_step_does(fly, hand):
    flight = fly(Pace(share=0.01, event_ns=1_000_000))
    for _ in range(20):
        torch.ones(2) + 1
    assert flight.status()["recording"]
    hand.time += S
    flight.look(hand.now())
    assert not flight.status()["recording"]
    hand.time += 100 * S
    flight.look(hand.now())
    assert flight.status()["recording"]


def test_a_slow_step_is_dumped_once(fly, hand, capsys):
    flight = fly(slow_step=3, seconds=1)
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for length in [10] * 40 + [80, 10, 80]:
        hand.time += length * MS
        optimizer.step()
        flight.look(hand.now())
    assert len(flight.dumps) == 1  # the second is within the same second
    assert flight.dumps[0].endswith("slow-step.mindprof")
    text = torch.profiler.load(flight.dumps[0]).metadata["flight"]["text"]
    assert "took 80.0 ms" in text and "median is 10.0" in text
    assert flight.dumps[0] in capsys.readouterr().err


def test_automatic_dumps_are_counted(fly, hand, capsys):
    flight = fly(watchdog=5, seconds=1, max_dumps=2)
    for _ in range(4):
        torch.ones(2) + 1
        flight.look(hand.now())
        hand.time += 10 * S
        flight.look(hand.now())
    assert len(flight.dumps) == 2
    flight.dump()  # who asks gets one
    assert len(flight.dumps) == 3


def test_a_standstill_right_after_a_slow_step_is_told(fly, hand):
    """Both would be written within the time in which the same would not be told twice."""
    flight = fly(watchdog=5, slow_step=3, max_dumps=1, seconds=30)
    for length in [10] * 25 + [80]:
        torch.ones(2) + 1
        hand.time += length * MS
        flight.step()
        flight.look(hand.now())
    hand.time += 6 * S
    flight.look(hand.now())
    reasons = [os.path.basename(path).split("-", 3)[3] for path in flight.dumps]
    assert reasons == ["slow-step.mindprof", "stuck.mindprof"]


def test_the_watchdog_speaks_once_per_standstill(fly, hand, capsys):
    flight = fly(watchdog=5)
    for _ in range(3):
        hand.time += 100 * S
        flight.look(hand.now())
    assert flight.dumps == []  # nothing ever moved: there is nothing to show
    torch.ones(2) + 1
    flight.look(hand.now())
    for _ in range(3):
        hand.time += 6 * S
        flight.look(hand.now())
    assert [os.path.basename(path).split("-", 3)[3] for path in flight.dumps] == ["stuck.mindprof"]
    assert "nothing has moved for 6 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error, reason",
    [
        (ValueError("boom"), "exception"),
        (MemoryError(), "out-of-memory"),
        (torch.OutOfMemoryError("NPU"), "out-of-memory"),
        (KeyboardInterrupt(), "interrupt"),
    ],
)
def test_an_exception_that_nobody_catches_is_dumped_before_it_is_printed(fly, hand, capsys, error, reason):
    flight = fly()
    torch.ones(2) + 1
    sys.excepthook(type(error), error, None)
    (path,) = flight.dumps
    assert path.endswith(f"-{reason}.mindprof")
    printed = capsys.readouterr().err
    assert printed.index(path) < printed.rindex(type(error).__name__)
    assert type(error).__name__ in torch.profiler.load(path).metadata["flight"]["text"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_exception_of_a_thread_is_dumped(fly, hand, capsys):
    flight = fly()

    def fail() -> None:
        raise KeyError("inside")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert len(flight.dumps) == 1


def test_nothing_is_left_behind(hand, tmp_path):
    before = sys.excepthook, threading.excepthook, signal.getsignal(signal.SIGTERM)
    flight = FlightRecorder(FlightSettings(directory=str(tmp_path)), ALWAYS)
    flight.start()
    assert _observer.active is not None
    assert signal.getsignal(signal.SIGTERM) is before[2]  # the program sees no difference
    flight.stop()
    flight.stop()
    assert (sys.excepthook, threading.excepthook, signal.getsignal(signal.SIGTERM)) == before
    assert _observer.active is None and not optimizers.on_step
    assert os.listdir(tmp_path) == []
    assert not [thread for thread in threading.enumerate() if thread.name == flights.THREAD_NAME]


def test_a_handler_that_the_program_sets_meanwhile_stays(tmp_path):
    def own(number, frame):
        pass

    before = signal.getsignal(signal.SIGUSR2)
    flight = FlightRecorder(FlightSettings(directory=str(tmp_path)), ALWAYS)
    flight.start()
    try:
        signal.signal(signal.SIGUSR2, own)
        flight.stop()
        assert signal.getsignal(signal.SIGUSR2) is own
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_a_profile_of_the_program_and_the_recorder_each_have_all(fly, hand):
    flight = fly()
    torch.ones(2) + 1
    with torch.profiler.profile(record_shapes=True) as prof:
        torch.ones(3) * 2
    torch.ones(2) - 1
    assert {"aten::ones", "aten::mul"} <= {e.name for e in prof.events()}
    assert not {"aten::add", "aten::sub"} & {e.name for e in prof.events()}
    store = torch.profiler.load(flight.dump()).store
    assert {"aten::add", "aten::mul", "aten::sub"} <= set(names(store))
    assert not store.inputs  # which the recorder did not ask for


def test_there_is_one_recorder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINDPROF_DIR", str(tmp_path))
    with torch.profiler.flight_recorder(seconds=7) as flight:
        assert flight.settings.directory == str(tmp_path)
        assert torch.profiler.flight_recorder(seconds=7) is flight
        with pytest.warns(UserWarning, match="stays as it is"):
            assert torch.profiler.flight_recorder(seconds=8) is flight
    assert flights.current() is None
    with torch.profiler.flight_recorder(seconds=8) as other:
        assert other is not flight


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"seconds": 0}, "seconds is 0.0, expected a positive"),
        ({"max_events": 1}, "max_events is 1, expected at least"),
        ({"overhead": 2}, "overhead is 2.0, expected a share"),
        ({"slow_step": 0.5}, "slow_step is 0.5, expected more than 1"),
        ({"watchdog": -1}, "watchdog is -1.0"),
        ({"directory": "/nowhere/at/all"}, "a folder that exists"),
    ],
)
def test_wrong_settings_are_told(settings, message):
    with pytest.raises(ValueError, match=message):
        torch.profiler.flight_recorder(**settings)
    assert flights.current() is None


def test_the_environment_has_settings(tmp_path, capsys):
    startup.begin(f"flight:seconds=12.5:with_modules=true:directory={tmp_path}")
    flight = flights.current()
    assert flight is not None
    flight.stop()
    assert (flight.settings.seconds, flight.settings.with_modules) == (12.5, True)


@pytest.mark.parametrize(
    "text, message",
    [
        ("fly", "'fly' is not known; expected flight or listen"),
        ("flight:seconds", "'seconds' is not a setting"),
        ("flight:second=3", "second"),
        ("flight:seconds=-3", "expected a positive number"),
    ],
)
def test_a_wrong_environment_is_told_and_the_program_goes_on(capsys, text, message):
    startup.begin(text)
    printed = capsys.readouterr().err
    assert printed.startswith(f"mindprof: MINDPROF={text}: ") and message in printed
    assert flights.current() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own_signals_and_no_recorder(tmp_path):
    with torch.profiler.flight_recorder(directory=tmp_path, slow_step=0):
        child = os.fork()
        if child == 0:
            code = 3 if flights.current() is not None or optimizers.on_step else 4
            if code == 4:
                os.kill(os.getpid(), signal.SIGTERM)
            os._exit(code)
        _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM
