"""Where time, memory and FLOPs go: `torch.profiler`."""

import os as _os

from .._lazy_parts import lazy_parts as _lazy_parts
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

# parts that few programs name, loaded when one does
__getattr__, __dir__ = _lazy_parts(
    __name__,
    ("_utils", "_memory_profiler", "_pattern_matcher"),
    {
        "load_ranks": "profiler.results.ranks",
        "flight_recorder": "profiler.capture.api",
        "listen": "profiler.capture.api",
        "in_background": "profiler.results.background",
        "Optimizer": "optim.optimizer",
        "register_optimizer_step_post_hook": "optim.optimizer",
    },
)
