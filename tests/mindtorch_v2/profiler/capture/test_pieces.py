"""What a flight recorder is made of: pace, step clocks, pieces of a recording, the ring of segments, the folder on disk."""

from __future__ import annotations

import itertools
import os
import threading

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfileFileError
from mindtorch_v2.profiler.analysis.steps import find_steps
from mindtorch_v2.profiler.analysis.validate import validate
from mindtorch_v2.profiler.capture.pacing import GO_ON, PAUSE, SPLIT, Pace, measured_event_ns
from mindtorch_v2.profiler.capture.segments import SegmentRing, store_of
from mindtorch_v2.profiler.capture.spill import SegmentFolder
from mindtorch_v2.profiler.capture.steps import PythonStepClock, StepClock, slow_limit, usual_length
from mindtorch_v2.profiler.record.continuous import ContinuousSession, can_split, merged, recorded_rows
from mindtorch_v2.profiler.record.descriptions import Options
from mindtorch_v2.profiler.record.session import Session, any_running
from mindtorch_v2.profiler.store.build import build_store
from mindtorch_v2.profiler.store.segment_folder import is_segment_folder, load_segments

from ..helpers import assert_sound, names, tree

MS, S = 1_000_000, 1_000_000_000
splits = pytest.mark.skipif(not can_split(), reason="the recorder in Python ends a session instead")


# --- pace ---------------------------------------------------------------------------------------------------------------
def test_a_program_with_few_events_is_recorded_without_a_pause():
    pace = Pace(share=0.01, event_ns=200)
    assert pace.decide(10 * MS, 5) == (GO_ON, 50 * MS)
    assert pace.decide(50 * MS, 1000) == (GO_ON, 100 * MS)
    assert pace.decide(980 * MS, 20_000) == (GO_ON, S)
    assert pace.decide(S, 20_000) == (SPLIT, 0)


def test_a_program_with_many_events_is_recorded_for_as_long_as_the_share_pays_for():
    pace = Pace(share=0.01, event_ns=200)
    what, owed = pace.decide(50 * MS, 100_000)  # 20 ms of recording, and half a one for the segment
    assert what == PAUSE
    assert owed == (100_000 * 200 + 500_000) * 100
    assert (100_000 * 200 + 500_000) / owed <= 0.01


def test_the_cost_of_an_event_is_measured_and_nothing_stays_on():
    assert measured_event_ns() > 0
    assert torch.autograd._profiler_enabled() is False


# --- steps --------------------------------------------------------------------------------------------------------------
@pytest.fixture(params=[PythonStepClock, StepClock], ids=["python", "native"])
def make_clock(request):
    return request.param


def test_steps_have_numbers_and_ends(make_clock):
    clock, optimizer = make_clock(iter(range(100, 1000, 100)).__next__, None), object()
    for _ in range(3):
        clock.end_step(optimizer)
    assert clock.count == 3
    assert clock.ends(2) == [(200, 1), (300, 2)]
    assert clock.ends(0) == []
    assert clock.ends(100) == [(100, 0), (200, 1), (300, 2)]


def test_a_step_that_takes_longer_than_the_limit_is_noted(make_clock):
    times = [0, 100, 200, 900, 1000]
    clock, optimizer = make_clock((1 + t for t in times).__next__, None), object()
    clock.limit_ns = 500
    for _ in times:
        clock.end_step(optimizer)
    assert (clock.slow_count, clock.slow_step, clock.slow_ns) == (1, 3, 700)


def test_the_turn_is_called_once_its_time_has_come(make_clock):
    told: list[int] = []
    clock, optimizer = make_clock(itertools.count(10, 10).__next__, told.append), object()
    clock.turn_ns = 35
    for _ in range(5):
        clock.end_step(optimizer)
    assert told == [40, 50]


def test_an_error_of_the_turn_reaches_the_program(make_clock):
    def turn(now: int) -> None:
        raise KeyError(now)

    clock = make_clock(itertools.count(10, 10).__next__, turn)
    with pytest.raises(KeyError):
        clock.end_step(object())


def test_of_two_optimizers_one_counts_until_it_steps_no_more(make_clock):
    clock, first, second = make_clock(itertools.count(10, 10).__next__, None), object(), object()
    for _ in range(4):
        clock.end_step(first)
        clock.end_step(second)
    assert clock.count == 4
    for _ in range(10):
        clock.end_step(second)
    assert clock.count == 7  # eight in a row went by, the first of which had come before


def test_the_usual_length_is_a_median_and_what_is_slow_exceeds_it_noticeably():
    ends = [(i * 10 * MS, i) for i in range(30)]
    assert usual_length(ends) == 10 * MS
    assert usual_length(ends[:10]) == 0
    assert slow_limit(10 * MS, 5) == 50 * MS
    assert slow_limit(MS // 10, 5) == MS // 10 + 20 * MS  # a pause of the system is not a slow step
    assert slow_limit(10 * MS, 0) == slow_limit(0, 5) == 0


# --- pieces -------------------------------------------------------------------------------------------------------------
def _work(x):
    with torch.profiler.record_function("work"):
        return (x @ x).relu()


@splits
@pytest.mark.parametrize(
    "options",
    [Options(), Options(record_shapes=True, with_modules=True), Options(with_stack=True)],
    ids=["plain", "shapes", "stacks"],
)
def test_pieces_together_are_what_one_recording_is(clock, options):
    x = torch.ones(3, 3)
    _work(x)
    whole, parts = Session(options), ContinuousSession(options)
    whole.start()
    parts.start()
    pieces = []
    for _ in range(3):
        _work(x)
        pieces.append(parts.split())
    _work(x)
    pieces.append(parts.finish())
    expected, got = build_store(whole.finish()), build_store(merged(pieces))
    if options.with_stack:  # the frames of this test differ at its two ends
        assert names(got).count("aten::relu") == names(expected).count("aten::relu") == 4
        assert [got.stack_of(r) for r, n in enumerate(names(got)) if n == "aten::mm"] == [
            expected.stack_of(r) for r, n in enumerate(names(expected)) if n == "aten::mm"
        ]
    else:
        assert tree(got) == tree(expected)
    assert_sound(got)
    if not options.with_stack:
        assert sum(map(recorded_rows, pieces)) == len(got)


@splits
def test_a_scope_across_pieces_keeps_its_end_and_what_is_inside(clock):
    x, session = torch.ones(3, 3), ContinuousSession(Options())
    session.start()
    with torch.profiler.record_function("long"):
        x + x
        first = session.split()
        x * x
        second = session.split()
    third = session.finish()
    store = build_store(merged([first, second, third]))
    assert tree(store) == [["long", [["aten::add", []], ["aten::mul", []]]]]
    assert not store.flags.any()


@splits
def test_threads_that_come_and_go_between_pieces_are_there(clock):
    x, session = torch.ones(3, 3), ContinuousSession(Options(profile_all_threads=True))
    session.start()
    pieces = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: x + x)
        thread.start()
        thread.join()
        pieces.append(session.split())
    pieces.append(session.finish())
    store = build_store(merged(pieces))
    assert names(store) == ["aten::add"] * 2
    assert len(store.threads) == len(set(store.thread.tolist())) == 2


def test_a_session_in_the_background_is_no_profile_of_the_program():
    session = ContinuousSession(Options())
    session.start()
    try:
        assert not any_running()
        assert torch.autograd._profiler_enabled() is False
        with torch.profiler.profile() as prof:
            assert torch.autograd._profiler_enabled() is True
            torch.ones(2) + 1
    finally:
        recording = session.finish()
    assert "aten::add" in {event.name for event in prof.events()}
    assert "aten::add" in names(build_store(recording))


# --- segments -----------------------------------------------------------------------------------------------------------
def _recordings(count: int) -> list:
    x, made = torch.ones(3, 3), []
    for _ in range(count):
        session = ContinuousSession(Options())
        session.start()
        x + x
        x * x
        made.append(session.finish())
    return made


def test_old_segments_make_room_for_new_ones(clock):
    recordings = _recordings(4)
    by_count = SegmentRing(10**12, max_events=4)
    for run, recording in enumerate(recordings):
        by_count.add(recording, run)
    assert [segment.run for segment in by_count.segments()] == [2, 3]
    assert by_count.events == 4
    last = recordings[-1].metadata
    by_time = SegmentRing(last.stop_ns - recordings[2].metadata.stop_ns, max_events=100)
    for run, recording in enumerate(recordings):
        by_time.add(recording, run)
    assert [segment.run for segment in by_time.segments()] == [2, 3]
    alone = SegmentRing(1, max_events=1)
    alone.add(recordings[0], 0)
    assert len(alone.segments()) == 1  # the newest stays, whatever its size


def test_segments_of_several_runs_become_one_store(clock):
    ring = SegmentRing(10**12, 100)
    for run, recording in enumerate(_recordings(3)):
        ring.add(recording, run)
    store = store_of(ring.segments(), 0, [])
    assert names(store) == ["aten::add", "aten::mul"] * 3
    assert_sound(store)
    second = ring.segments()[1]
    late = store_of(ring.segments(), second.start_ns, [])
    assert names(late) == ["aten::add", "aten::mul"] * 2
    assert late.metadata.start_ns == second.start_ns
    assert len(store_of([], 0, [])) == 0


def _trained(steps: int) -> tuple[list, list[tuple[int, int]]]:
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    session, ends = ContinuousSession(Options()), []
    from mindtorch_v2.profiler.record.recorder import recorder

    optimizer.register_step_post_hook(lambda *_: ends.append((recorder.now(), len(ends))))
    session.start()
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    return [session.finish()], ends


def test_steps_are_shown_from_one_end_of_the_optimizer_to_the_next(clock):
    recordings, ends = _trained(4)
    ring = SegmentRing(10**12, 1000)
    ring.add(recordings[0], 1)
    store = store_of(ring.segments(), 0, ends)
    steps = find_steps(store)
    assert steps.source == "profiler"
    assert steps.number.tolist() == [1, 2, 3]
    assert (steps.end_ns[:-1] == steps.start_ns[1:]).all()
    assert_sound(store)
    assert not validate(store)
    optimizer_rows = [i for i, name in enumerate(names(store)) if name.startswith("Optimizer.step")]
    assert store.end_ns[optimizer_rows[1:]].tolist() == steps.end_ns.tolist()
    assert store.step[optimizer_rows[1:]].tolist() == [1, 2, 3]
    inside = [row[0] for row in tree(store) if row[0].startswith("ProfilerStep")]
    assert inside == ["ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"]


def test_no_step_spans_a_pause(clock):
    (first,), ends = _trained(2)
    (second,), more = _trained(2)
    ring = SegmentRing(10**12, 1000)
    ring.add(first, 1)
    ring.add(second, 2)
    numbered = ends + [(time, number + 5) for time, number in more]  # three steps were not recorded
    assert find_steps(store_of(ring.segments(), 0, numbered)).number.tolist() == [1, 6]


# --- on disk ------------------------------------------------------------------------------------------------------------
def test_segments_on_disk_are_one_profile(clock, tmp_path):
    ring = SegmentRing(10**12, 100)
    folder = SegmentFolder(str(tmp_path / "flight-1.segments"), 10**12, share=float("inf"))
    folder.create()
    for run, recording in enumerate(_recordings(3)):
        folder.write(ring.add(recording, run), [])
    assert is_segment_folder(folder.path)
    loaded = torch.profiler.load(folder.path)
    assert names(loaded.store) == ["aten::add", "aten::mul"] * 3
    files = sorted(os.listdir(folder.path))
    with open(os.path.join(folder.path, files[-1]), "r+b") as last:
        last.truncate(100)
    store, problems = load_segments(folder.path)
    assert len(store) == 4
    assert len(problems) == 1 and files[-1] in problems[0]
    folder.remove()
    assert not os.path.exists(folder.path)


def test_a_folder_without_a_segment_says_so(tmp_path):
    path = tmp_path / "flight-1.segments"
    path.mkdir()
    with pytest.raises(ProfileFileError, match="has no segments"):
        torch.profiler.load(path)


def test_old_files_are_removed_and_time_is_limited(clock, tmp_path):
    recordings = _recordings(3)
    ring = SegmentRing(10**12, 100)
    folder = SegmentFolder(str(tmp_path / "a.segments"), 1, share=float("inf"))
    folder.create()
    for run, recording in enumerate(recordings):
        folder.write(ring.add(recording, run), [])
    assert os.listdir(folder.path) == ["000002.mindprof"]
    slow = SegmentFolder(str(tmp_path / "b.segments"), 10**12, share=1e-12)  # the first uses up what there is
    slow.create()
    for run, recording in enumerate(recordings):
        slow.write(ring.add(recording, run), [])
    assert os.listdir(slow.path) == ["000000.mindprof"]


def test_a_folder_that_cannot_be_written_is_no_error_of_the_program(clock, tmp_path):
    (tmp_path / "file").write_text("")
    folder = SegmentFolder(str(tmp_path / "file" / "a.segments"), 1)
    folder.create()
    assert isinstance(folder.error, OSError)
    folder.write(SegmentRing(1, 10).add(_recordings(1)[0], 0), [])
    assert folder.written == 0


def test_steps_do_not_change_the_events(clock):
    recordings, ends = _trained(3)
    ring = SegmentRing(10**12, 1000)
    ring.add(recordings[0], 1)
    plain, stepped = store_of(ring.segments(), 0, []), store_of(ring.segments(), 0, ends)
    own = np.array([not name.startswith("ProfilerStep") for name in names(stepped)])
    assert stepped.start_ns[own].tolist() == plain.start_ns.tolist()
    assert [n for n in names(stepped) if not n.startswith("ProfilerStep")] == names(plain)
