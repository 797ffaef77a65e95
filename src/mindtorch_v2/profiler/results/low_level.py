"""The functions that PyTorch's Python profiler is built on: `torch.autograd._enable_profiler` and its kin.

They drive the same recorder as `profile` does. What was begun on a thread is ended on it; beginning again gives up
the window that was open.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..._dispatch import modes
from ..record import clock
from ..record.config import _ExperimentalConfig, devices_of, is_usable
from ..record.enums import ActiveProfilerType, ProfilerActivity, ProfilerState, RecordScope
from ..record.kinds import Kind
from ..record.recorder import recorder
from ..record.session import is_recording
from ..record_function import record_function
from ..store.event_store import EventStore
from .autograd_profile import open_windows, profile
from .event_tree import _SCOPES
from .kineto import ProfilerResult
from .loggers import logger
from .results import Results

_KINETO_STATES = (
    ProfilerState.KINETO,
    ProfilerState.KINETO_GPU_FALLBACK,
    ProfilerState.KINETO_PRIVATEUSE1_FALLBACK,
    ProfilerState.KINETO_PRIVATEUSE1,
)


class ProfilerConfig:
    """What a window of `torch.autograd._enable_profiler` is to record.

    >>> state = torch.autograd.ProfilerState.KINETO
    >>> options = torch.profiler._ExperimentalConfig()
    >>> config = torch.autograd.ProfilerConfig(state, True, False, False, False, False, options)
    >>> config.report_input_shapes
    True
    """

    def __init__(
        self,
        state: ProfilerState,
        report_input_shapes: bool,
        profile_memory: bool,
        with_stack: bool,
        with_flops: bool,
        with_modules: bool,
        experimental_config: _ExperimentalConfig,
        trace_id: str = "",
    ) -> None:
        self.state = state
        self.report_input_shapes = report_input_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.trace_id = trace_id


class _Thread(threading.local):
    window: profile | None = None
    scopes: frozenset[RecordScope] = frozenset()
    is_legacy = False


_thread = _Thread()


def _prepare_profiler(
    config: ProfilerConfig,
    activities: Iterable[ProfilerActivity],
    activity_filter: Mapping[ProfilerActivity, Iterable[str]] | None = None,
) -> None:
    """Makes ready what `_enable_profiler` begins; here there is nothing to wait for, so it only checks what it is
    given.
    """
    _window(config, activities, activity_filter)


def _window(
    config: ProfilerConfig,
    activities: Iterable[ProfilerActivity],
    activity_filter: Mapping[ProfilerActivity, Iterable[str]] | None = None,
) -> profile:
    if not isinstance(config, ProfilerConfig):
        raise TypeError(f"Expected a ProfilerConfig, got {type(config).__name__}")
    chosen = set(activities)
    made = profile(
        use_cpu=ProfilerActivity.CPU in chosen,
        use_kineto=config.state in _KINETO_STATES,
        use_device=next((name for name in devices_of(chosen) if is_usable(name)), None),
        record_shapes=config.report_input_shapes,
        with_flops=config.with_flops,
        profile_memory=config.profile_memory,
        with_stack=config.with_stack,
        with_modules=config.with_modules,
        experimental_config=config.experimental_config,
        activity_filters={a: list(names) for a, names in (activity_filter or {}).items()},
    )
    made.trace_id = config.trace_id
    return made


def _enable_profiler(
    config: ProfilerConfig, activities: Iterable[ProfilerActivity], scopes: Iterable[RecordScope] = ()
) -> None:
    """Begins to record on this thread. With `scopes`, only events of those are kept."""
    window = _window(config, activities)
    _thread.window, _thread.scopes, _thread.is_legacy = window, frozenset(scopes), False
    window._start_trace()


def _disable_profiler() -> ProfilerResult:
    """Ends what `_enable_profiler` began and returns what was recorded."""
    window, _thread.window = _thread.window, None
    if window is None or not window._stop_trace():
        logger("autograd.profiler").warning(
            "disableProfiler called but no active profiling session found. This can happen if profiling was cancelled "
            "during warmup."
        )
        return ProfilerResult(Results(EventStore()))
    assert window.results is not None
    store = window.results.store
    return ProfilerResult(window.results if not _thread.scopes else Results(_of_scopes(store, _thread.scopes)))


def _of_scopes(store: EventStore, scopes: frozenset[RecordScope]) -> EventStore:
    """The events of these scopes."""
    kept = [kind for kind in Kind if _SCOPES.get(kind, RecordScope.FUNCTION) in scopes]
    return store.select(np.isin(store.kind, kept))


def _enable_profiler_legacy(config: ProfilerConfig) -> None:
    """`_enable_profiler` for the CPU."""
    _enable_profiler(config, {ProfilerActivity.CPU})
    _thread.is_legacy = True


def _disable_profiler_legacy(profiler_disable_options: Any = None) -> list[list[Any]]:
    """Ends what `_enable_profiler_legacy` began; the events of each thread that recorded any."""
    mark_legacy(False)
    if _thread.window is None:
        raise RuntimeError("Can't disable profiler when it's not running")
    by_thread: dict[int, list[Any]] = {}
    for event in _disable_profiler().events():
        by_thread.setdefault(event.start_thread_id(), []).append(event)
    return list(by_thread.values())


def _profiler_type() -> ActiveProfilerType:
    """The kind of profiler that records on this thread."""
    if not is_recording():
        return ActiveProfilerType.NONE
    return ActiveProfilerType.LEGACY if _thread.is_legacy else ActiveProfilerType.KINETO


def mark_legacy(is_legacy: bool) -> None:
    """Says whether what records on this thread is the old profiler."""
    _thread.is_legacy = is_legacy


def _is_kineto_stopped() -> bool:
    """Whether a device's tracer gave up during the window: none here does."""
    return False


def _kineto_step() -> None:
    """Tells a tracing daemon that a step has ended; there is none."""


def _toggle_collection_dynamic(enabled: bool, activities: Iterable[ProfilerActivity]) -> None:
    """Leaves out what the activities do from now on, or takes it in again, in all windows that are open."""
    chosen = list(activities)
    for window in open_windows():
        window.toggle_collection_dynamic(enabled, chosen)


def _add_metadata_json(key: str, value: str) -> None:
    """Adds to the metadata of all windows that are open; `value` is a JSON text."""
    for window in open_windows():
        window.add_metadata_json(key, value)


def _record_function_with_args_enter(name: str, *args: Any) -> record_function:
    """Opens a scope that shows the arguments as its inputs.

    The result is what `_record_function_with_args_exit` takes.
    """
    scope = _ScopeWithInputs(name, args)
    scope.__enter__()
    return scope


def _record_function_with_args_exit(handle: record_function) -> None:
    handle.__exit__(None, None, None)


class _ScopeWithInputs(record_function):
    """A scope whose inputs are values instead of a text."""

    def __init__(self, name: str, values: tuple[Any, ...]) -> None:
        super().__init__(name)
        self._values = values

    def _open(self) -> Any:
        return recorder.open(Kind.SCOPE, self.name, self._values)


def _get_sequence_nr() -> int:
    """The sequence number that the next autograd node of this process gets."""
    return modes.sequence[0]


def _get_approximate_time() -> int:
    """Nanoseconds on the profiler's clock."""
    return clock.current().now()
