"""`_KinetoProfile`: a profile that is started and stopped by hand, and all that can be asked of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from ..._guarded import guarded
from ..record.clock import ALIGNMENT_KEY
from ..record.config import _ExperimentalConfig, devices_of, is_usable, parse_activities, warn_caller
from ..record.enums import ProfilerActivity
from . import autograd_profile
from .execution_trace import ExecutionTraceObserver
from .results import Results

if TYPE_CHECKING:
    from ..analysis.modules import ModuleReport
    from .event_list import EventList
    from .memory_profiler import MemoryProfile

_CLEARS = (
    "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be reported. "
    "To keep events across cycles, set acc_events=True."
)
_DEPRECATED_TIMELINE = (
    "`export_memory_timeline` is deprecated and will be removed in a future version. Please use "
    "`torch.cuda.memory._record_memory_history` and `torch.cuda.memory._export_memory_snapshot` instead."
)
_METADATA_TYPES = (
    "_add_metadata_json(): incompatible function arguments. The following argument types are supported:\n"
    "    1. (arg0: str, arg1: str) -> None\n\nInvoked with: {!r}, {!r}"
)


class _SilentDeprecation(FutureWarning, PendingDeprecationWarning):
    """PyTorch's warning of something that has no replacement here: kept for those who look for it, not printed by
    default.
    """


class _KinetoProfile:
    """A profile driven by hand: `prepare_trace`, `start_trace`, `stop_trace`, then results.

    activities                 what to record: members of ProfilerActivity, their names, or dicts from a member to
                               the types of events that traces show of it
    record_shapes              shapes, types, strides and values of arguments
    profile_memory             allocations and frees, with the event that caused them
    with_stack                 the Python calls, and the call stack of every event
    with_flops                 estimates of floating-point operations
    with_modules               the nn.Module that every event belongs to
    experimental_config        options outside the stable API
    execution_trace_observer   an ExecutionTraceObserver that runs while the profile records
    acc_events                 keep the events of all cycles, not only of the last
    custom_trace_id_callback   makes the id of each trace
    post_processing_timeout_s  accepted; 0 means that no events are made
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        self.activities, self.activity_filters = parse_activities(activities)
        self.record_shapes, self.with_flops, self.profile_memory = record_shapes, with_flops, profile_memory
        self.with_stack, self.with_modules = with_stack, with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = (
            execution_trace_observer
            if execution_trace_observer is not None
            else ExecutionTraceObserver.build_execution_trace_obs_from_env()
        )
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.profiler: autograd_profile.profile | None = None
        self.has_cudagraphs = False
        self.mem_tl: Any = None
        devices = devices_of(self.activities)
        self.use_device = next(iter(devices), None)
        self._also_watched = tuple(name for name in devices[1:] if is_usable(name))
        self.preset_metadata: dict[str, str] = {}
        self._finished_profile: autograd_profile.profile | None = None
        self._unread = False  # a recorded cycle that nobody has been told of
        self._warned_of_clearing = False
        self._clock_reading: list[int] | None = None

    # --- recording --------------------------------------------------------------------------------------------------
    @guarded("_end_recording")
    def start(self) -> None:
        self.prepare_trace()
        self.start_trace()

    @guarded("_end_recording")
    def stop(self) -> None:
        self.stop_trace()

    def _end_recording(self) -> None:
        """Ends all recording, after an interrupt perhaps; may be called again.

        What was recorded is kept for the next `stop`.
        """
        try:
            if self.profiler is not None:
                self.profiler.end_sessions()
        finally:
            if self.execution_trace_observer is not None:
                self.execution_trace_observer.stop()

    def prepare_trace(self) -> None:
        """Makes ready to record. The last finished cycle is replaced when the new one is recorded, not before."""
        inner = self.profiler
        if inner is not None and self.acc_events:
            inner._prepare_trace()
            return
        if inner is not None:
            if not self._warned_of_clearing and self._loses_events():
                self._warned_of_clearing = True
                warn_caller(_CLEARS)
            inner._stop_trace()
            if inner.has_results:
                self._finished_profile = inner
        self.profiler = autograd_profile.profile(
            use_cpu=ProfilerActivity.CPU in self.activities,
            use_device=self.use_device,
            record_shapes=self.record_shapes,
            with_flops=self.with_flops,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_modules=self.with_modules,
            use_kineto=self.use_device not in ("mtia", None),
            experimental_config=self.experimental_config,
            acc_events=self.acc_events,
            custom_trace_id_callback=self.custom_trace_id_callback,
            post_processing_timeout_s=self.post_processing_timeout_s,
            activity_filters=self.activity_filters,
        )
        self.profiler.also_watched = self._also_watched
        self.profiler._prepare_trace()

    def _loses_events(self) -> bool:
        """Whether the cycle that is about to be replaced was handed to nobody."""
        return True

    @guarded("_end_recording")
    def start_trace(self) -> None:
        """Begins to record."""
        inner = self._inner("starting trace")
        observer = self.execution_trace_observer
        if observer is not None:
            observer.start()
        self._finished_profile = None
        inner._start_trace(getattr(self, "step_num", 0), getattr(observer, "recorded_functions", None))
        info = self._get_distributed_info()
        if info:
            inner.add_metadata_json("distributedInfo", json.dumps(info))
            self._begin_alignment()
        for key, text in self.preset_metadata.items():
            inner.add_metadata_json(key, text)

    @guarded("_end_recording")
    def stop_trace(self) -> None:
        """Ends recording; a second call changes nothing."""
        inner = self._inner("stopping trace")
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.stop()
        self._unread = inner.is_recording or self._unread
        if inner.is_recording:
            self._end_alignment(inner)
        inner._stop_trace()

    def _cancel_trace(self) -> None:
        """Leaves the warm-up without recording: an earlier cycle stays readable, else the result is empty."""
        if self._finished_profile is not None:
            self._inner("ending the warm-up")._end_warm_up()
            self.profiler, self._finished_profile = self._finished_profile, None
        else:
            self.start_trace()
            self.stop_trace()

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Leaves out what the activities do from now on, or takes it in again."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, list(activities))

    def _inner(self, purpose: str) -> autograd_profile.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    # --- metadata ---------------------------------------------------------------------------------------------------
    def add_metadata(self, key: str, value: str) -> None:
        """Adds a string to the trace that is being recorded."""
        if not isinstance(value, str):
            raise AttributeError(f"'{type(value).__name__}' object has no attribute 'replace'")
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds a JSON text to the trace that is being recorded; ValueError if it is not JSON."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(_METADATA_TYPES.format(key, value))
        _check_json(key, value)
        if self.profiler is None or not self.profiler.add_metadata_json(key, value):
            warn_caller("Profiler is not initialized: skipping profiling metadata")

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Adds a JSON text to every trace that is recorded from now on."""
        _check_json(key, value)
        self.preset_metadata[key] = value

    def _get_distributed_info(self) -> dict[str, Any] | None:
        """This process's rank in its job, and the groups it is in; None where it is in none."""
        job = _job()
        return None if job is None else job.distributed_info()

    def _begin_alignment(self) -> None:
        """Compares this process's clock with the job's."""
        job = _job()
        self._clock_reading = None if job is None else job.clock_reading()

    def _end_alignment(self, inner: autograd_profile.profile) -> None:
        """Compares the clocks again, and notes both in the trace."""
        job, offset = _job(), inner.epoch_offset_ns
        if job is not None and offset is not None and inner.has_metadata("distributedInfo"):
            readings = [self._clock_reading, job.clock_reading()]
            inner.add_metadata_json(ALIGNMENT_KEY, json.dumps(job.clock_alignment(offset, readings)))

    # --- results ----------------------------------------------------------------------------------------------------
    def _results(self, purpose: str) -> Results:
        """What was recorded; `purpose` is for the message where nothing was."""
        results = self._inner(purpose).results
        if results is None:
            raise AssertionError(f"Profiler must have recorded something before {purpose}")
        return results

    @property
    def dropped_events(self) -> int:
        """How many events the bound of `_ExperimentalConfig(max_events=...)` kept out of the profile."""
        return self._results("counting dropped events").dropped_events

    def events(self) -> EventList:
        """The recorded events; the same list at every call. Empty while recording."""
        return self._inner("accessing events").function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events summed up by name, and by input shapes, innermost stack frames or overloads where asked."""
        return self._inner("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str | PathLike[str], use_python_export: bool = False) -> None:
        """Writes a trace for Perfetto, chrome://tracing or TensorBoard; compressed if the path ends in ".gz". There is
        one exporter: `use_python_export` changes nothing."""
        self._inner("exporting chrome trace").export_chrome_trace(path, use_python_export=use_python_export)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes collapsed stacks, one `frame;frame value` per line, for flamegraph.pl and speedscope."""
        self._inner("exporting stacks").export_stacks(path, metric)

    def _memory_results(self) -> Results:
        """What was recorded, where that is all that a memory timeline needs."""
        needed = ("record_shapes", "profile_memory", "with_stack")
        missing = ", ".join(f"{name}=True" for name in needed if not getattr(self, name))
        if missing:
            raise ValueError(f"{missing} required for memory profiling.")
        results = None if self.profiler is None else self.profiler.results
        if results is None:
            raise AssertionError("Profiler and kineto_results must be initialized for memory profiling")
        return results

    def _memory_profile(self) -> MemoryProfile:
        """The memory of a profile: its `timeline` and `categories`."""
        return self._memory_results().memory_profile()

    def export_memory_timeline(self, path: str | PathLike[str], device: str | None = None) -> None:
        """Writes the memory in use over time by category: JSON, ".json.gz", "raw.json.gz" or a self-contained
        ".html".
        """
        warn_caller(_DEPRECATED_TIMELINE, _SilentDeprecation)
        self.mem_tl = self._memory_results().export_memory_timeline(path, device)

    def module_report(self) -> ModuleReport:
        """What each nn.Module cost, forward and backward, as a tree; `print(prof.module_report().table())` shows it."""
        if not self.with_modules:
            raise ValueError("with_modules=True required for a report by modules.")
        return self._results("reporting modules").module_report()

    def validate(self) -> list[Any]:
        """Checks that the recorded numbers hold together; returns what does not."""
        return self._results("validating").validate()

    def export_report(self, path: str | PathLike[str]) -> None:
        """Writes one self-contained HTML page with everything that the profile says; `mindprof report` does so for
        files.
        """
        self._results("reporting").export_report(path)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the recorded events to a compact file that `profiler.load` reads at once."""
        self._results("saving").save(path)


def _job() -> Any:
    """What tells about the job that this process is a part of; None where it has formed no group."""
    package = sys.modules.get(__name__.partition(".")[0] + ".distributed")
    if package is None or not package.is_initialized():
        return None
    from ...distributed import _profile

    return _profile


def _check_json(key: str, text: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the metadata {key!r} is not JSON: {error}") from None
