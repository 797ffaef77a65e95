"""`torch._C._autograd`: the functions that drive the profiler, under the names of PyTorch's compiled module."""

from __future__ import annotations

from ..profiler.record.config import kineto_available
from ..profiler.record.config import supported_activities as _supported_activities
from ..profiler.record.enums import DeviceType
from ..profiler.record.session import is_recording as _profiler_enabled
from ..profiler.results.kineto import KinetoEvent as _KinetoEvent
from ..profiler.results.kineto import ProfilerResult as _ProfilerResult
from ..profiler.results.low_level import (
    _add_metadata_json,
    _disable_profiler,
    _disable_profiler_legacy,
    _enable_profiler,
    _enable_profiler_legacy,
    _get_sequence_nr,
    _is_kineto_stopped,
    _kineto_step,
    _prepare_profiler,
    _profiler_type,
    _record_function_with_args_enter,
    _record_function_with_args_exit,
    _toggle_collection_dynamic,
)

__all__ = [
    "DeviceType",
    "_KinetoEvent",
    "_ProfilerResult",
    "_add_metadata_json",
    "_disable_profiler",
    "_disable_profiler_legacy",
    "_enable_profiler",
    "_enable_profiler_legacy",
    "_get_sequence_nr",
    "_is_kineto_stopped",
    "_kineto_step",
    "_prepare_profiler",
    "_profiler_enabled",
    "_profiler_type",
    "_record_function_with_args_enter",
    "_record_function_with_args_exit",
    "_supported_activities",
    "_toggle_collection_dynamic",
    "kineto_available",
]
