"""`torch.jit`: programs run as Python here, so scripting and tracing give back what they were given.

Decorators mark functions as PyTorch does. What would need PyTorch's own representation of programs (files of
scripts, freezing to a graph) raises and says why.
"""

from __future__ import annotations

from typing import Final

from .._jit_internal import _overload, _overload_method, export, ignore, is_scripting, unused
from ..futures import Future
from ._script import (
    Attribute,
    CompilationUnit,
    Error,
    RecursiveScriptClass,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    ScriptWarning,
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    annotate,
    freeze,
    interface,
    optimize_for_inference,
    run_frozen_optimizations,
    script,
    script_if_tracing,
    script_method,
    trace,
    trace_module,
)
from ._script import is_of as isinstance  # noqa: A004 - torch.jit.isinstance
from ._settings import (
    enable_onednn_fusion,
    fork,
    fuser,
    is_tracing,
    last_executed_optimized_graph,
    load,
    onednn_fusion_enabled,
    optimized_execution,
    save,
    set_fusion_strategy,
    set_module,
    strict_fusion,
    wait,
)

_script_if_tracing = script_if_tracing  # torchvision decorates with it
__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptClass",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "_overload",
    "_overload_method",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "last_executed_optimized_graph",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "set_module",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]


def _unwrap_optional(x: object) -> object:
    """The value, which must not be None."""
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


_isinstance = isinstance
