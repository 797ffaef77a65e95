"""Where time, memory and FLOPs go: `torch.profiler`."""
from . import itt, profiler
from ._config import _ExperimentalConfig, kineto_available, supported_activities
from ._enums import DeviceType, ProfilerAction, ProfilerActivity, RecordScope
from ._execution_trace import ExecutionTraceObserver
from ._handlers import tensorboard_trace_handler
from ._step_tracker import KinetoStepTracker
from .profiler import _KinetoProfile, profile
from .record_function import _RecordFunctionFast, record_function
from .schedule import schedule

__all__ = ["profile", "schedule", "supported_activities", "tensorboard_trace_handler", "ProfilerAction",
           "ProfilerActivity", "kineto_available", "DeviceType", "record_function", "ExecutionTraceObserver"]
