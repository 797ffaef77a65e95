"""Names that programs import from PyTorch's extension module. What they need of it is written in Python here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._dispatch.modes import state as _state
from .._dispatch.overrides import DisableTorchFunctionSubclass, asks, disabled_torch_function_impl
from .._lazy_parts import lazy_parts as _lazy_parts
from .._tensor import Tensor as TensorBase

_disabled_torch_function_impl = disabled_torch_function_impl
_TensorBase = TensorBase
_TensorMeta = type(TensorBase)
_GLIBCXX_USE_CXX11_ABI = True
has_cuda = has_mkl = has_mps = has_mkldnn = has_openmp = False
_has_distributed = False


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """The same, and modes are set aside too."""

    _changes = {"subclasses_are_plain": True, "function_modes": ()}  # noqa: RUF012 - read, never written


def _has_torch_function(args: Any) -> bool:
    """Whether a class among the arguments is asked before functions run."""
    return asks(tuple(args))


def _has_torch_function_unary(arg: Any) -> bool:
    return asks((arg,))


def _has_torch_function_variadic(*args: Any) -> bool:
    return asks(args)


def _is_torch_function_enabled() -> bool:
    """Whether classes are asked."""
    return not _state.subclasses_are_plain


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode is asked."""
    return bool(_state.function_modes)


def _len_torch_function_stack() -> int:
    return len(_state.function_modes)


def _len_torch_dispatch_stack() -> int:
    return len(_state.dispatch_modes)


def _get_tracing_state() -> None:
    """None: nothing is traced."""


def _log_api_usage_once(event: str) -> None:
    """Nothing is told to anybody."""


def _get_accelerator(check: bool = False) -> Any:
    """The accelerator that is here, else the CPU."""
    from .._device import CPU

    return import_module("..accelerator", __name__).current_accelerator() or CPU


def _get_privateuse1_backend_name() -> str:
    """What the device type that is reserved for other packages is called."""
    return str(import_module("..utils.backend_registration", __name__).privateuse1_name())


def _jit_set_profiling_executor(value: bool) -> bool:
    """False: there is no executor of scripts."""
    return False


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_override_can_fuse_on_cpu = (
    _jit_override_can_fuse_on_gpu
) = _jit_set_profiling_executor


def _are_functorch_transforms_active() -> bool:
    """Whether a function runs under `vmap`."""
    return import_module("..func._batched", __name__).levels.stack != ()


def _set_worker_signal_handlers() -> None:
    """Python's own handlers are enough."""


__getattr__, __dir__ = _lazy_parts(
    __name__,
    ("_autograd", "_functorch", "_nn", "_profiler"),
    {
        **dict.fromkeys(("DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard"), "_C._dispatch_keys"),
        **dict.fromkeys(("_VariableFunctions", "_VariableFunctionsClass"), "_C._variable_functions"),
        **dict.fromkeys(("Graph", "Node", "ScriptObject", "TensorType", "Value"), "_C._script_types"),
        "Generator": "_python.random",
        "_LinAlgError": "_errors:LinAlgError",
    },
)
