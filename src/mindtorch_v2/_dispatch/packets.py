"""Operators by PyTorch's names, as objects: `torch.ops.aten.add(x, y)`, `torch.ops.aten.add.Tensor(x, y)`."""

from __future__ import annotations

from typing import Any

from .._ops import table as _table
from .namespace import aten as _functions


class OpOverload:
    """One overload: callable, with the schema it was declared by."""

    def __init__(self, op: _table.Op) -> None:
        self._op = op
        self._overloadname = op.overload or "default"
        self._schema = op.text
        self.__name__ = f"{op.base}.{self._overloadname}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _functions.overload(self._op.name)(*args, **kwargs)

    namespace = "aten"

    @property
    def _opname(self) -> str:
        return self._op.base

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of the name."""
        return getattr(aten, self._op.base)

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
        raise AttributeError(
            f"The underlying op of 'aten.{self.__dict__['__name__']}' has no overload name '{overload}'"
        )

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


# Operators that libraries name when they are imported, to say what their own classes do with them, and that are not
# here.
_NAMED = frozenset({"_pin_memory", "_sparse_addmm", "_sparse_mm_reduce_impl"})


class _Unavailable:
    """An operator of PyTorch that is not here: it can be named, and raises when called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"the operator {self._name} is not here")

    def __getattr__(self, overload: str) -> _Unavailable:
        if overload.startswith("__"):
            raise AttributeError(overload)
        made = self.__dict__[overload] = _Unavailable(f"{self._name}.{overload}")
        return made

    def __str__(self) -> str:
        return self._name


class _Namespace:
    def __getattr__(self, name: str) -> Any:
        if name in _NAMED:
            return _Unavailable(f"aten.{name}")
        if name not in _table.OVERLOADS:
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        made = OpOverloadPacket(name)
        setattr(self, name, made)
        return made


aten: Any = _Namespace()
