"""Operators by PyTorch's names: `torch.ops.aten.add(x, y)`, `torch.ops.aten.add.Tensor(x, y)`,
`torch.ops.mylib.mine(x)`.
"""

from __future__ import annotations

from typing import Any

from ._dispatch.packets import OpOverload, OpOverloadPacket, aten
from ._library.registry import accept_early_fakes as _accept_early_fakes
from ._library.registry import namespace as _namespace

__all__ = ["OpOverload", "OpOverloadPacket", "aten", "load_library", "loaded_libraries", "profiler"]
loaded_libraries: set[str] = set()


def load_library(path: Any) -> None:
    """Defines the operators of a library that this package has written itself, such as torchaudio's; all others are
    refused, since they are compiled against PyTorch. After a refusal, shape functions for operators that are not there
    may be registered, as a package does whose library may be missing: they wait for the operator.
    """
    from ._library.known import define_library

    if define_library(path):
        loaded_libraries.add(str(path))
        return
    _accept_early_fakes()
    raise OSError(
        f"Could not load this library: {path}. Libraries of operators are compiled against PyTorch's own; write "
        "operators in Python with torch.library.custom_op"
    )


def __getattr__(name: str) -> Any:
    """The operators that a program has defined under a name; there may be none."""
    if name.startswith("__"):
        raise AttributeError(name)
    return _namespace(name)


class _ProfilerNamespace:
    """The operators that open and close a scope: `torch.ops.profiler`."""

    @staticmethod
    def _record_function_enter_new(name: str, args: str | None = None) -> Any:
        """Opens a scope; it ends with `_record_function_exit`, or when nobody keeps the result."""
        from .profiler.record_function import record_function

        return record_function(name, args).__enter__()

    _record_function_enter = _record_function_enter_new

    @staticmethod
    def _record_function_exit(record: Any) -> None:
        record.__exit__(None, None, None)

    @staticmethod
    def _call_end_callbacks_on_jit_fut(record: Any, future: Any) -> Any:
        """Ends the scope when the future is done; returns a future with the same value."""
        return record._call_end_callbacks_on_future(future)


for _name in (
    "_record_function_enter_new",
    "_record_function_enter",
    "_record_function_exit",
    "_call_end_callbacks_on_jit_fut",
):
    for _overload in ("default", "_RecordFunction"):  # how PyTorch's own code names them
        setattr(getattr(_ProfilerNamespace, _name), _overload, getattr(_ProfilerNamespace, _name))
profiler: Any = _ProfilerNamespace()
