"""`autograd.profiler.profile`: one recorded window and its results.

`profiler.profile` drives one of these per cycle.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..._dispatch.modes import call_locked
from ..._guarded import guarded
from ..record.config import _ExperimentalConfig, check_filters, warn_caller
from ..record.descriptions import Options
from ..record.enums import ProfilerActivity, ProfilerState
from ..record.session import Session
from ..record.steps import StepScope
from ..store.build import build_store
from ..store.event_store import EventStore
from ..store.join import concat
from .kineto import ProfilerResult
from .loggers import logger
from .profile_options import _ProfilerStats, activities_of, make_options, microseconds_since, usable_device
from .results import Results

if TYPE_CHECKING:
    from .event_list import EventList
    from .function_event_avg import FunctionEventAvg

_stopping = threading.RLock()  # held while a window becomes results, so that it does once
_windows: weakref.WeakSet[profile] = weakref.WeakSet()  # those that have been started


def open_windows() -> list[profile]:
    """The windows that are being recorded."""
    return [window for window in list(_windows) if window._session is not None]


class profile:
    """Records what runs inside a `with` block, once. Results are made when first asked for.

    Times, shapes, memory, stacks and modules are recorded as the flags say; see `torch.profiler.profile`, which adds
    schedules and exports.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: _ExperimentalConfig | None = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Mapping[ProfilerActivity, Sequence[str]] | None = None,
    ) -> None:
        self.enabled = enabled
        if not enabled:
            return
        self.use_cuda = use_cuda
        if use_cuda:
            warn_caller(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
            )
            use_device = "cuda"
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        self.use_device = usable_device(use_device, use_kineto)
        self.also_watched: tuple[str, ...] = ()  # further devices whose work the results show
        self.entered = False
        self.record_shapes = record_shapes or with_flops
        self.with_flops, self.profile_memory = with_flops, profile_memory
        self.with_stack, self.with_modules = with_stack, with_modules
        self.use_cpu, self.acc_events = use_cpu, acc_events
        self.experimental_config = experimental_config or _ExperimentalConfig()
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.activity_filters = dict(activity_filters or {})
        check_filters(self.activity_filters)
        self.kineto_activities = activities_of(use_cpu, use_kineto, self.use_device)
        self.profiler_kind = ProfilerState.KINETO
        self.profiling_start_time_ns = self.profiling_end_time_ns = 0
        self.trace_id = ""
        self._results: Results | None = None
        self._options = make_options(self, record_shapes)
        self._session: Session | None = None
        self._warming: Session | None = None
        self._events: EventList | None = None
        self._result: ProfilerResult | None = None
        self._metadata: dict[str, str] = {}
        self._record_function_base: int | None = None
        self._stats = _ProfilerStats()

    # --- the window -------------------------------------------------------------------------------------------------
    def config(self, create_trace_id: bool = False) -> Options:
        """What will be recorded. With `create_trace_id`, the window gets a new id."""
        if create_trace_id:
            self.trace_id = self.create_trace_id()
        return self._options

    def default_trace_id(self) -> str:
        """A new id: 32 hexadecimal digits."""
        import uuid

        return uuid.uuid4().hex.upper()

    def create_trace_id(self) -> str:
        """A new id, from the callback where one was given."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback else self.default_trace_id()

    @guarded("end_sessions")
    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self) -> None:
        started = time.perf_counter_ns()
        self.entered = True
        self.config(create_trace_id=True)
        self._stats.profiler_prepare_call_duration_us = microseconds_since(started)

    def warm_up(self) -> None:
        """Records without keeping anything. The first observed call of an operator also prepares later ones; that time
        would otherwise be charged to the first recorded step. Called at every step, so that no more than one is
        held.
        """
        self._end_warm_up()
        self._warming = Session(self._options, warming=True)
        self._warming.start()

    def _end_warm_up(self) -> None:
        if self._warming is not None:
            self._warming.discard()
            self._warming = None

    def end_sessions(self) -> None:
        """Ends all recording, after an interrupt perhaps; may be called again.

        What an open window holds is kept for `_stop_trace`.
        """
        if self._session is not None:
            self._session.end()
        self._end_warm_up()

    def _start_trace(self, step: int = 0, record_function_base: int | None = None) -> None:
        """Begins to record; events get `step` as their step number until it changes."""
        self._end_warm_up()
        if self._session is not None:
            self._session.discard()  # started again without a stop: the earlier window is given up
        started = time.perf_counter_ns()
        self.entered = True
        self._metadata = {}
        self._record_function_base = record_function_base
        self._session = Session(
            self._options, devices=[] if self.use_device is None else [self.use_device, *self.also_watched]
        )
        self._session.start(step)
        _windows.add(self)
        self.profiling_start_time_ns = self._session.start_ns
        self._stats.profiler_enable_call_duration_us = microseconds_since(started)

    @guarded("end_sessions")
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        if self.enabled:
            self._stop_trace()

    def _stop_trace(self) -> bool:
        """Ends the window; False where none is open. Where it was interrupted, the next call does the rest."""
        self._end_warm_up()
        session = self._session
        if session is None:
            return False
        started = time.perf_counter_ns()
        recording = session.finish(self.trace_id, self._metadata, self.use_device, self._record_function_base)
        call_locked(_stopping, self._take, partial(build_store, recording))
        self.profiling_end_time_ns = session.stop_ns
        stats = self._stats
        stats.profiler_disable_call_duration_us = microseconds_since(started)
        stats.profiling_window_duration_sec = (session.stop_ns - session.start_ns) / 1e9
        return True

    def _take(self, made: Callable[[], EventStore]) -> None:
        """Makes a window's events the results, in one go."""
        before = self._results

        def joined() -> EventStore:
            assert before is not None
            return concat([before.store, made()])

        accumulates = self.acc_events and before is not None
        self._session, self._events, self._results = None, None, Results(joined if accumulates else made)

    def __del__(self) -> None:
        """Whoever drops a running profile has no use for it; the process need not go on paying."""
        for session in (getattr(self, "_session", None), getattr(self, "_warming", None)):
            if session is not None:
                session.discard()

    @property
    def is_recording(self) -> bool:
        """Whether a window is open."""
        return self._session is not None

    def mark_step(self, step: int) -> None:
        """Events from now on belong to this step."""
        if self._session is not None:
            self._session.mark_step(step)

    def read_speed(self) -> None:
        """Between two steps: perhaps reads how quickly the machine runs."""
        if self._session is not None:
            self._session.speed.read()

    def step_scope(self, step: int) -> StepScope | None:
        """The event of a step, to be entered; None where no window is open."""
        return None if self._session is None else StepScope(self._session, step)

    def toggle_collection_dynamic(self, enabled: bool, activities: Sequence[Any]) -> None:
        """Leaves out what the activities do from now on, or takes it in again."""
        if ProfilerActivity.CPU in set(activities) and self._session is not None:
            self._session.toggle(enabled)

    def add_metadata_json(self, key: str, text: str) -> bool:
        """Adds to the open window's metadata; False where none is open."""
        if self._session is not None:
            self._metadata[key] = text
        return self._session is not None

    def has_metadata(self, key: str) -> bool:
        """Whether something was added to the window's metadata under this key."""
        return key in self._metadata

    @property
    def epoch_offset_ns(self) -> int | None:
        """What has to be added to the open window's times to have Unix time; None where none is open."""
        return None if self._session is None else self._session.epoch_offset_ns

    # --- results ----------------------------------------------------------------------------------------------------
    @property
    def results(self) -> Results | None:
        """What has been recorded; None until a window has ended."""
        return self._results

    @property
    def store(self) -> EventStore | None:
        """The recorded events as columns, made when first asked for; None until a window has ended."""
        return None if self._results is None else self._results.store

    @property
    def has_results(self) -> bool:
        """Whether a window has ended."""
        return self._results is not None

    @property
    def kineto_results(self) -> ProfilerResult | None:
        """Low-level access to the events of a finished window."""
        if self._results is None:
            return None
        if self._result is None or self._result.results is not self._results:
            self._result = ProfilerResult(self._results)
        return self._result

    @property
    def function_events(self) -> EventList:
        """The events, in the order of their start. Made when first asked for."""
        if self._options.trace_only:
            raise RuntimeError(
                "events() is not available when trace_only=True in ExperimentalConfig. "
                "Use export_chrome_trace() instead."
            )
        if self._results is None:
            return Results(EventStore()).events()
        if self._events is None:
            self._events = self._parse_events(self._results)
        return self._events

    def _parse_events(self, results: Results) -> EventList:
        if self.post_processing_timeout_s == 0:
            return self._without_time(results.store)
        started = time.perf_counter_ns()
        events = results.events()
        self._stats.parse_kineto_call_duration_us = microseconds_since(started)
        self._stats.number_of_events = len(events)
        started = time.perf_counter_ns()
        if events:
            # makes the links of all events, which otherwise come when one is asked for its parent
            len(events[0]._source.parent)
        self._stats.function_events_build_tree_call_duration_us = microseconds_since(started)
        return events

    def _parse_kineto_results(self, result: ProfilerResult, timeout_s: float | None = None) -> EventList:
        """The events of a result. They are made at once, so of all limits only 0 leaves any out."""
        if timeout_s is not None and timeout_s < 0:
            raise ValueError("timeout_s must be non-negative")
        return self._without_time(result.store) if timeout_s == 0 else Results(result.store).events()

    @staticmethod
    def _without_time(store: EventStore) -> EventList:
        logger("autograd.profiler").warning(
            "Profiler _parse_kineto_results timed out after 0.000 seconds, returning partial results with 0 events"
        )
        return Results(EventStore(metadata=store.metadata)).events()

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._results is None else repr(self.function_events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._results is None else self.function_events.table()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """All events as a table, not summed up."""
        return self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events summed up by name, and by what else is asked for."""
        by = (group_by_input_shape, group_by_stack_n, group_by_overload_name)
        if self._results is None or self._options.trace_only or self.post_processing_timeout_s == 0:
            return self.function_events.key_averages(*by)
        return self._results.key_averages(*by)

    def total_average(self) -> FunctionEventAvg:
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Time spent in events on the CPU, in microseconds."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(
        self, path: str | PathLike[str], metadata: Mapping[str, str] | None = None, use_python_export: bool = False
    ) -> None:
        """Writes a trace for Perfetto, chrome://tracing or TensorBoard. `metadata` adds keys with JSON texts."""
        if self._results is None:
            missing = "trace_activities" if use_python_export else "save"
            raise AttributeError(f"'NoneType' object has no attribute '{missing}'")
        self._results.export_chrome_trace(path, metadata=metadata)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes collapsed stacks for flame graphs."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)
