"""What a profile may be asked: activities and experimental options."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ... import _accelerators
from .enums import ProfilerActivity
from .stacks import PACKAGE

_MEMBERS = {a.name.lower(): a for a in ProfilerActivity}
_FILTERS = {
    ProfilerActivity.CPU: (
        "CPU_OP",
        "USER_ANNOTATION",
        "CPU_INSTANT_EVENT",
        "PYTHON_FUNCTION",
        "EXTERNAL_CORRELATION",
        "CUDA_RUNTIME",
    )
}


class _ExperimentalConfig:
    """Options outside the stable API. verbose, profile_all_threads, capture_overload_names, record_python_gc_info,
    expose_kineto_event_metadata and trace_only are honoured. adjust_profiler_step asks that steps and Python calls
    do not overlap in part, which they never do here. The others concern devices that are not here and are accepted.

    max_events   at most so many events are kept, whatever runs; 0 or None keeps all
    keep         which: "newest" (older ones make room) or "oldest" (recording ends when they are there)
    """

    def __init__(
        self,
        profiler_metrics: Sequence[str] = (),
        profiler_measure_per_kernel: bool = False,
        verbose: bool = False,
        performance_events: Sequence[str] = (),
        enable_cuda_sync_events: bool = False,
        adjust_profiler_step: bool = False,
        disable_external_correlation: bool = False,
        profile_all_threads: bool = False,
        capture_overload_names: bool = False,
        record_python_gc_info: bool = False,
        expose_kineto_event_metadata: bool = False,
        custom_profiler_config: str = "",
        adjust_timestamps: bool = False,
        trace_only: bool = False,
        max_events: int | None = None,
        keep: str = "newest",
    ) -> None:
        if max_events is not None and (
            not isinstance(max_events, int) or isinstance(max_events, bool) or max_events < 0
        ):
            raise ValueError(f"max_events must be a number of events or None, got {max_events!r}")
        if keep not in ("newest", "oldest"):
            raise ValueError(f'keep must be "newest" or "oldest", got {keep!r}')
        self.profiler_metrics = list(profiler_metrics)
        self.profiler_measure_per_kernel = profiler_measure_per_kernel
        self.verbose = verbose
        self.performance_events = list(performance_events)
        self.enable_cuda_sync_events = enable_cuda_sync_events
        self.adjust_profiler_step = adjust_profiler_step
        self.disable_external_correlation = disable_external_correlation
        self.profile_all_threads = profile_all_threads
        self.capture_overload_names = capture_overload_names
        self.record_python_gc_info = record_python_gc_info
        self.expose_kineto_event_metadata = expose_kineto_event_metadata
        self.custom_profiler_config = custom_profiler_config
        self.adjust_timestamps = adjust_timestamps
        self.trace_only = trace_only
        self.max_events = max_events
        self.keep = keep


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the line outside this package that led here."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def is_usable(name: str) -> bool:
    """Whether this process can use the accelerator of this name."""
    backend = _accelerators.find(name) if name in _accelerators.names() else None
    return backend is not None and backend.is_available()


def activity_of(name: str) -> ProfilerActivity:
    """The activity whose profiles show what an accelerator did."""
    backend = _accelerators.find(name)
    return ProfilerActivity.PrivateUse1 if backend is None else ProfilerActivity[backend.activity]


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded here.

    >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
    True
    """
    return {ProfilerActivity.CPU, *(ProfilerActivity[backend.activity] for backend in _accelerators.available())}


def kineto_available() -> bool:
    """True: the profiler is always there.

    >>> torch.profiler.kineto_available()
    True
    """
    return True


def parse_activities(given: Iterable[Any] | None) -> tuple[set[ProfilerActivity], dict[ProfilerActivity, list[str]]]:
    """The activities asked for, and the event types that each is restricted to where a dict said so."""
    if given is None:
        return supported_activities(), {}
    if isinstance(given, ProfilerActivity):
        raise TypeError("'torch._C._profiler.ProfilerActivity' object is not iterable")
    if isinstance(given, str):
        raise TypeError(f"Expected an iterable of activities such as ['{given}'], got the string '{given}'")
    activities: set[ProfilerActivity] = set()
    filters: dict[ProfilerActivity, list[str]] = {}
    for entry in given:
        for activity, names in _activities_of(entry):
            if activity in activities:
                raise ValueError(f"Activity {activity} specified more than once")
            activities.add(activity)
            if names is not None:
                filters[activity] = list(names)
    if not activities:
        raise AssertionError("No valid profiler activities found")
    return activities, filters


def _activities_of(entry: Any) -> list[tuple[ProfilerActivity, Sequence[str] | None]]:
    if isinstance(entry, Mapping):
        return [(_activity(key), names) for key, names in entry.items()]
    return [(_activity(entry), None)]


def _activity(entry: Any) -> ProfilerActivity:
    if isinstance(entry, ProfilerActivity):
        return entry
    if isinstance(entry, str):
        if entry.lower() in _MEMBERS:
            return _MEMBERS[entry.lower()]
        raise ValueError(f"Unknown activity {entry!r}; expected one of {sorted(_MEMBERS)}")
    raise TypeError(f"Expected ProfilerActivity or dict, got {type(entry)}")


def check_filters(filters: Mapping[ProfilerActivity, Sequence[str]]) -> None:
    """RuntimeError for a type of event that the activity does not have."""
    for activity, names in filters.items():
        for name in names:
            if name not in _FILTERS.get(activity, ()):
                raise RuntimeError(f"Unknown or non-member activity type name: '{name}'")


def devices_of(activities: set[ProfilerActivity]) -> list[str]:
    """The devices that the activities name: those that are not here by PyTorch's names, accelerators by theirs."""
    foreign = (ProfilerActivity.CUDA, ProfilerActivity.XPU, ProfilerActivity.MTIA, ProfilerActivity.HPU)
    found = [activity.name.lower() for activity in foreign if activity in activities]
    here = [backend.name for backend in _accelerators.available() if ProfilerActivity[backend.activity] in activities]
    watched = {activity_of(name) for name in here}
    missing = [a for a in ProfilerActivity if a in activities and a not in (*foreign, ProfilerActivity.CPU, *watched)]
    return [*found, *here, *("privateuseone" if a is ProfilerActivity.PrivateUse1 else a.name.lower() for a in missing)]
