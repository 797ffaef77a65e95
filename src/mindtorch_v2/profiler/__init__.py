"""Where time, memory and FLOPs go: `torch.profiler`."""

import os as _os
from typing import Any as _Any

from . import itt as itt
from . import load as _load_room  # noqa: F401 - before the function of that name, which it would otherwise replace later
from . import profiler as profiler
from .profiler import _KinetoProfile as _KinetoProfile
from .profiler import profile
from .record import step_tracker
from .record.config import _ExperimentalConfig as _ExperimentalConfig
from .record.config import kineto_available, supported_activities
from .record.enums import DeviceType, ProfilerAction, ProfilerActivity
from .record.enums import RecordScope as RecordScope
from .record.step_tracker import KinetoStepTracker as KinetoStepTracker
from .record_function import _RecordFunctionFast as _RecordFunctionFast
from .record_function import record_function
from .results.execution_trace import ExecutionTraceObserver
from .results.handlers import tensorboard_trace_handler
from .results.loaded import LoadedProfile as LoadedProfile
from .results.loaded import load as load
from .schedule import schedule
from .store.files import ProfileFileError as ProfileFileError

if _os.environ.get("KINETO_USE_DAEMON"):  # a daemon counts steps: those of optimizers too
    step_tracker.count_optimizer_steps()

__all__ = [
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "DeviceType",
    "record_function",
    "ExecutionTraceObserver",
]

_LAZY = {
    "load_ranks": "profiler.results.ranks",
    "flight_recorder": "profiler.capture.api",
    "listen": "profiler.capture.api",
    "in_background": "profiler.results.background",
    "_utils": "",
    "_memory_profiler": "",
    "_pattern_matcher": "",
    "Optimizer": "optim.optimizer",
    "register_optimizer_step_post_hook": "optim.optimizer",
}


def __getattr__(name: str) -> _Any:
    """Parts that few programs name, loaded when one does."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if _LAZY[name]:
        return getattr(import_module(f"{__name__.rpartition('.')[0]}.{_LAZY[name]}"), name)
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
