"""Settings of the whole process that PyTorch keeps in `torch._C._profiler`, and its one execution trace observer."""

from __future__ import annotations

from .execution_trace import ExecutionTraceObserver

concrete_inputs = True  # whether windows that begin from now on show the values of arguments
forward_backward = True  # whether they link backward functions with the operators that recorded them
_observer: ExecutionTraceObserver | None = None


def _set_record_concrete_inputs_enabled_val(enabled: bool) -> None:
    global concrete_inputs
    concrete_inputs = bool(enabled)


def _set_fwd_bwd_enabled_val(enabled: bool) -> None:
    global forward_backward
    forward_backward = bool(enabled)


def _set_cuda_sync_enabled_val(enabled: bool) -> None:
    """Accepted without effect: there is no CUDA whose synchronisations could be recorded."""


def _add_execution_trace_observer(output_file_name: str) -> bool:
    """Chooses the file of the process's observer; False if that is taken or cannot be written."""
    global _observer
    if _observer is not None:
        return False
    made = ExecutionTraceObserver().register_callback(output_file_name)
    _observer = made if made.is_registered else None
    return made.is_registered


def _remove_execution_trace_observer() -> None:
    """Ends the process's observer, which writes its file."""
    global _observer
    ended, _observer = _observer, None
    if ended is not None:
        ended.unregister_callback()


def _enable_execution_trace_observer() -> None:
    if _observer is not None:
        _observer.start()


def _disable_execution_trace_observer() -> None:
    if _observer is not None:
        _observer.stop()
