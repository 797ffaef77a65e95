"""What profiles are given and tell of themselves: activities, devices, metadata, trace ids, statistics."""

from __future__ import annotations

import json
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _observer
from mindtorch_v2.profiler import ProfilerActivity, _ExperimentalConfig, profile
from mindtorch_v2.profiler.record.step_tracker import KinetoStepTracker

CPU = ProfilerActivity.CPU


@pytest.fixture(autouse=True)
def _nothing_keeps_running():
    yield
    assert _observer.active is None


@pytest.fixture
def x():
    return torch.ones(2)


def names(prof) -> list[str]:
    return [e.name for e in prof.events()]


@pytest.mark.parametrize(
    ("activities", "error", "text"),
    [
        ([], AssertionError, "^No valid profiler activities found$"),
        ([CPU, CPU], ValueError, "^Activity ProfilerActivity.CPU specified more than once$"),
        ([CPU, {CPU: []}], ValueError, "^Activity ProfilerActivity.CPU specified more than once$"),
        ([CPU, "cpu"], ValueError, "^Activity ProfilerActivity.CPU specified more than once$"),
        (["tpu"], ValueError, "Unknown activity 'tpu'"),
        ([3], TypeError, "^Expected ProfilerActivity or dict, got <class 'int'>$"),
        (CPU, TypeError, "object is not iterable"),
        ("cpu", TypeError, r"\['cpu'\]"),
    ],
)
def test_wrong_activities(activities, error, text):
    with pytest.raises(error, match=text):
        profile(activities=activities)


def test_activities_by_name_and_from_an_iterator(x):
    assert profile(activities=["cpu"]).activities == {CPU}
    assert profile(activities=iter([CPU])).activities == {CPU}


def test_devices_that_are_not_here(x):
    prof = profile(activities=[CPU, ProfilerActivity.CUDA])
    with pytest.warns(UserWarning, match="^CUDA is not available, disabling CUDA profiling$") as caught, prof:
        x + x
    assert caught[0].filename == __file__
    assert prof.use_device == "cuda" and names(prof) == ["aten::add"]
    with pytest.warns(UserWarning), pytest.raises(AssertionError, match="^No activities specified for the profiler$"):
        profile(activities=[ProfilerActivity.CUDA]).start()
    with pytest.raises(AssertionError, match="Legacy MTIA profiling is not supported"):
        profile(activities=[CPU, ProfilerActivity.MTIA]).start()


def test_unknown_event_types():
    with pytest.raises(RuntimeError, match="^Unknown or non-member activity type name: 'bogus'$"):
        profile(activities=[{CPU: ["bogus"]}]).start()


def test_metadata(x, tmp_path):
    prof = profile()
    prof.preset_metadata_json("preset", "[1]")
    with prof:
        prof.add_metadata("text", 'quote " and \\')
        prof.add_metadata_json("json", '{"a": 1}')
        with pytest.raises(AttributeError, match="'int' object has no attribute 'replace'"):
            prof.add_metadata("k", 1)
        with pytest.raises(TypeError, match="incompatible function arguments"):
            prof.add_metadata_json("k", {})
        with pytest.raises(ValueError, match="'k' is not JSON"):
            prof.add_metadata_json("k", "{")
    with pytest.warns(UserWarning, match="Profiler is not initialized: skipping profiling metadata"):
        prof.add_metadata("late", "x")
    prof.export_chrome_trace(tmp_path / "t.json")
    found = json.loads((tmp_path / "t.json").read_text())
    assert (found["preset"], found["text"], found["json"]) == ([1], 'quote " and \\', {"a": 1})
    assert "late" not in found


def test_trace_ids():
    prof = profile()
    assert prof.get_trace_id() is None
    with prof:
        first = prof.get_trace_id()
    assert len(first) == 32 and first == first.upper()
    prof.set_custom_trace_id_callback(lambda: "MINE")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with prof:
            pass
    assert prof.get_trace_id() == "MINE"


def test_trace_only(x):
    with profile(experimental_config=_ExperimentalConfig(trace_only=True)) as prof:
        x + x
    with pytest.raises(RuntimeError, match=r"^events\(\) is not available when trace_only=True"):
        prof.events()
    prof = profile(with_stack=True, experimental_config=_ExperimentalConfig(trace_only=True))
    with pytest.warns(UserWarning, match="trace_only=True is incompatible with with_stack=True"), prof:
        x + x
    assert "aten::add" in names(prof)


def test_negative_timeouts_are_refused():
    with pytest.raises(ValueError, match="^post_processing_timeout_s must be non-negative$"):
        profile(post_processing_timeout_s=-1.0)


def test_use_cuda_is_deprecated():
    with pytest.warns(FutureWarning, match="`use_cuda` is deprecated, use `activities` argument instead") as caught:
        prof = profile(use_cuda=True)
    assert caught[0].filename == __file__ and prof.activities == {CPU}


def test_the_inner_profile():
    inner = torch.autograd.profiler.profile
    prof = inner()
    assert str(prof) == repr(prof) == "<unfinished torch.autograd.profile>"
    assert list(prof.function_events) == [] and prof.self_cpu_time_total == 0 and prof.table() == ""
    with prof:
        torch.ones(2)
    assert "aten::ones" in str(prof)
    with pytest.raises(RuntimeError, match="^Profiler context manager is not reentrant$"):
        prof.__enter__()
    with inner(enabled=False) as nothing:
        assert nothing is None
    with pytest.raises(AssertionError, match="Device-only events supported only with Kineto"):
        inner(use_cpu=False)


def test_stats(x):
    prof = profile()
    assert prof._stats() is None
    with prof:
        x + x
    assert prof._stats().number_of_events == 0
    prof.events()
    assert prof._stats().number_of_events == 1
    assert prof._stats().profiling_window_duration_sec > 0


def test_the_step_tracker():
    tracker = KinetoStepTracker
    start = tracker.current_step()
    tracker.init_step_count("a")
    assert tracker.increment_step("a") == start + 1
    assert tracker.increment_step("b") == start + 2
    assert tracker.increment_step("b") == start + 3
    assert tracker.erase_step_count("a") and tracker.erase_step_count("b") and not tracker.erase_step_count("zz")
