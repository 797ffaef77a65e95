"""Operators by PyTorch's names: `torch.ops.aten.add(x, y)`, `torch.ops.aten.add.Tensor(x, y)`."""
from __future__ import annotations

from typing import Any

from ._dispatch import aten as _functions
from ._ops import table as _table


class OpOverload:
    """One overload: callable, with the schema it was declared by."""

    def __init__(self, op: _table.Op) -> None:
        self._op = op
        self._overloadname = op.overload or "default"
        self._schema = op.text
        self.__name__ = f"{op.base}.{self._overloadname}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _functions.overload(self._op.name)(*args, **kwargs)

    def name(self) -> str:
        return f"aten::{self._op.name}"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._op.base}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """All overloads of a name: calling it resolves the overload by the arguments."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def overloads(self) -> list[str]:
        return [op.overload or "default" for op in _table.OVERLOADS[self.__name__]]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(_functions, self.__name__)(*args, **kwargs)

    def __getattr__(self, overload: str) -> OpOverload:
        for op in _table.OVERLOADS[self.__dict__["__name__"]]:
            if (op.overload or "default") == overload:
                made = OpOverload(op)
                setattr(self, overload, made)
                return made
        raise AttributeError(f"The underlying op of 'aten.{self.__dict__['__name__']}' has no overload name '{overload}'")

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


class _Namespace:
    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name not in _table.OVERLOADS:
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        made = OpOverloadPacket(name)
        setattr(self, name, made)
        return made


aten: Any = _Namespace()


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


for _name in ("_record_function_enter_new", "_record_function_enter", "_record_function_exit", "_call_end_callbacks_on_jit_fut"):
    for _overload in ("default", "_RecordFunction"):     # how PyTorch's own code names them
        setattr(getattr(_ProfilerNamespace, _name), _overload, getattr(_ProfilerNamespace, _name))
profiler: Any = _ProfilerNamespace()
