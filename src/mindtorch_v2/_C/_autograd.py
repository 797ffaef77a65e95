"""`torch._C._autograd`: the functions that drive the profiler, under the names of PyTorch's compiled module."""
from __future__ import annotations

from ..profiler._config import kineto_available
from ..profiler._config import supported_activities as _supported_activities
from ..profiler._enums import DeviceType
from ..profiler._low_level import (
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
from ..profiler._results import KinetoEvent as _KinetoEvent
from ..profiler._results import ProfilerResult as _ProfilerResult
from ..profiler._session import is_recording as _profiler_enabled

__all__ = [
    "DeviceType", "_KinetoEvent", "_ProfilerResult", "_add_metadata_json", "_disable_profiler", "_disable_profiler_legacy",
    "_enable_profiler", "_enable_profiler_legacy", "_get_sequence_nr", "_is_kineto_stopped", "_kineto_step", "_prepare_profiler",
    "_profiler_enabled", "_profiler_type", "_record_function_with_args_enter", "_record_function_with_args_exit",
    "_supported_activities", "_toggle_collection_dynamic", "kineto_available"]
