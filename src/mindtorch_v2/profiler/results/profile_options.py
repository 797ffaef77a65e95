"""What a window was asked to record: its device, activities and options. What recording it cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ... import _accelerators
from ..record.config import activity_of, is_usable, warn_caller
from ..record.descriptions import Options
from ..record.enums import ProfilerActivity
from . import settings

if TYPE_CHECKING:
    from .autograd_profile import profile

_UNAVAILABLE = {
    "cuda": "CUDA is not available, disabling CUDA profiling",
    "xpu": "XPU is not available, disabling XPU profiling",
    "hpu": "HPU is not available, disabling HPU profiling",
}


@dataclass
class _ProfilerStats:
    """What profiling itself cost."""

    profiling_window_duration_sec: float = 0
    number_of_events: int = 0
    profiler_prepare_call_duration_us: int = 0
    profiler_enable_call_duration_us: int = 0
    profiler_disable_call_duration_us: int = 0
    parse_kineto_call_duration_us: int = 0
    function_events_build_tree_call_duration_us: int = 0


def microseconds_since(start: int) -> int:
    """Rounded up: what took any time is not 0."""
    return (time.perf_counter_ns() - start + 999) // 1000


def usable_device(name: str | None, use_kineto: bool) -> str | None:
    """The device to watch; None, with a warning, where it cannot be."""
    if name is None or is_usable(name):
        return name
    if name == "mtia" and not use_kineto:
        raise AssertionError("Legacy MTIA profiling is not supported. Requires use_kineto=True on MTIA devices.")
    known = (
        f"{name.upper()} is not available, disabling {name.upper()} profiling"
        if name in _accelerators.names()
        else f"The {name} is not a valid device option."
    )
    warn_caller(_UNAVAILABLE.get(name, known))
    return None


def activities_of(use_cpu: bool, use_kineto: bool, use_device: str | None) -> set[ProfilerActivity]:
    """The activities that these flags mean. AssertionError where they mean none."""
    if not use_cpu and not use_kineto:
        raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
    found = {ProfilerActivity.CPU} if use_cpu else set()
    if use_device is not None:
        found.add(activity_of(use_device))
    if not found:
        raise AssertionError("No activities specified for the profiler")
    return found


def make_options(window: profile, record_shapes: bool) -> Options:
    """What a window is to record, by its flags and its experimental configuration."""
    config = window.experimental_config
    trace_only = config.trace_only
    if trace_only and window.with_stack:
        warn_caller(
            "trace_only=True is incompatible with with_stack=True (stack traces require event post-processing). "
            "Disabling trace_only."
        )
        trace_only = False
    return Options(
        record_shapes=record_shapes,
        profile_memory=window.profile_memory,
        with_stack=window.with_stack,
        with_flops=window.with_flops,
        with_modules=window.with_modules,
        verbose=config.verbose,
        profile_all_threads=config.profile_all_threads,
        capture_overload_names=config.capture_overload_names,
        record_python_gc_info=config.record_python_gc_info,
        trace_only=trace_only,
        max_events=config.max_events or 0,
        keep=config.keep,
        event_metadata=config.expose_kineto_event_metadata,
        concrete_inputs=settings.concrete_inputs,
        forward_backward=settings.forward_backward,
        activity_filters={a.name: tuple(n) for a, n in window.activity_filters.items()},
    )
