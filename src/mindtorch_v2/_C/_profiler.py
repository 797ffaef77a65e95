"""`torch._C._profiler`: the profiler's types and switches under the names of PyTorch's compiled module."""

from __future__ import annotations

from ..profiler.record.config import _ExperimentalConfig
from ..profiler.record.enums import ActiveProfilerType, ProfilerActivity, ProfilerState, RecordScope, _EventType
from ..profiler.record_function import _RecordFunctionFast
from ..profiler.results.event_fields import (
    _ExtraFields_Allocation,
    _ExtraFields_Backend,
    _ExtraFields_Kineto,
    _ExtraFields_OutOfMemory,
    _ExtraFields_PyCall,
    _ExtraFields_PyCCall,
    _ExtraFields_TorchOp,
    _ExtraFields_Vulkan,
    _NNModuleInfo,
    _OptimizerInfo,
    _PyFrameState,
    _TensorMetadata,
)
from ..profiler.results.event_tree import _ProfilerEvent
from ..profiler.results.low_level import ProfilerConfig, _get_approximate_time
from ..profiler.results.settings import (
    _add_execution_trace_observer,
    _disable_execution_trace_observer,
    _enable_execution_trace_observer,
    _remove_execution_trace_observer,
    _set_cuda_sync_enabled_val,
    _set_fwd_bwd_enabled_val,
    _set_record_concrete_inputs_enabled_val,
)
from ..profiler.results.tracebacks import CapturedTraceback, gather_traceback, symbolize_tracebacks

__all__ = [
    "ActiveProfilerType",
    "CapturedTraceback",
    "ProfilerActivity",
    "ProfilerConfig",
    "ProfilerState",
    "RecordScope",
    "_EventType",
    "_ExperimentalConfig",
    "_ExtraFields_Allocation",
    "_ExtraFields_Backend",
    "_ExtraFields_Kineto",
    "_ExtraFields_OutOfMemory",
    "_ExtraFields_PyCCall",
    "_ExtraFields_PyCall",
    "_ExtraFields_TorchOp",
    "_ExtraFields_Vulkan",
    "_NNModuleInfo",
    "_OptimizerInfo",
    "_ProfilerEvent",
    "_PyFrameState",
    "_RecordFunctionFast",
    "_TensorMetadata",
    "_add_execution_trace_observer",
    "_disable_execution_trace_observer",
    "_enable_execution_trace_observer",
    "_get_approximate_time",
    "_remove_execution_trace_observer",
    "_set_cuda_sync_enabled_val",
    "_set_fwd_bwd_enabled_val",
    "_set_record_concrete_inputs_enabled_val",
    "gather_traceback",
    "symbolize_tracebacks",
]
