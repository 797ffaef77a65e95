"""Which declaration an event of the tree is a call of, and which of its arguments it writes to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from ..._ops import table as _table
from .event_fields import _ExtraFields_TorchOp, _TensorMetadata

_PREFIX = "aten::"


@dataclass(frozen=True)
class _Argument:
    is_tensor: bool
    is_list: bool
    optional: bool
    is_written: bool


@dataclass(frozen=True)
class FunctionSchema:
    """An overload: its name, and what it takes."""

    name: str
    overload_name: str
    arguments: tuple[_Argument, ...]


class SchemaMatcher:
    """Finds the declarations of operators by the arguments of their calls."""

    @classmethod
    def inputs_are_mutable(cls, event: _ExtraFields_TorchOp) -> tuple[bool | None, ...]:
        """Per argument whether the operator writes to it; None where no declaration fits."""
        schemas = cls.match_schemas(event)
        if not schemas:
            return (None,) * len(event.inputs)
        return tuple(any(schema.arguments[i].is_written for schema in schemas) for i in range(len(event.inputs)))

    @classmethod
    def match_schemas(cls, event: _ExtraFields_TorchOp) -> tuple[FunctionSchema, ...]:
        """The overloads that the event may be a call of: by name, count and types of arguments."""
        found = [schema for schema in cls.lookup_schemas(event.name) or () if _fits(schema, event.inputs)]
        named = [schema for schema in found if schema.overload_name == event.overload_name]
        return tuple(named or found)

    @staticmethod
    def lookup_schemas(name: str) -> tuple[FunctionSchema, ...] | None:
        """All overloads of "aten::add"; () for a name that nobody declared, None for one without a namespace."""
        if "::" not in name:
            return None
        return _overloads(name[len(_PREFIX) :]) if name.startswith(_PREFIX) else ()


@cache
def _overloads(base: str) -> tuple[FunctionSchema, ...]:
    made = []
    for op in _table.OVERLOADS.get(base, ()):
        arguments = tuple(
            _Argument(p.is_tensor, p.is_list, p.optional, p.alias.endswith("!")) for p in op.schema.params
        )
        made.append(FunctionSchema(f"{_PREFIX}{base}", op.overload, arguments))
        if "generator" in op.overload:  # which an event does not show where none is given
            positions = [i for i, p in enumerate(op.schema.params) if p.type == "Generator"]
            made.append(_without(made[-1], positions, op.unseeded.overload))
        if op.out:
            written = tuple(_Argument(True, r.endswith("[]"), False, True) for r in op.schema.returns)
            made.append(FunctionSchema(f"{_PREFIX}{base}", _out_name(op.overload), arguments + written))
    return tuple(made)


def _without(schema: FunctionSchema, positions: list[int], overload: str) -> FunctionSchema:
    kept = tuple(argument for i, argument in enumerate(schema.arguments) if i not in positions)
    return FunctionSchema(schema.name, overload, kept)


def _out_name(overload: str) -> str:
    """The overload that a call with `out=` has."""
    return "out" if overload in ("", "Tensor") else f"{overload}_out"


def _fits(schema: FunctionSchema, inputs: list[Any]) -> bool:
    return len(inputs) == len(schema.arguments) and all(map(_takes, schema.arguments, inputs))


def _takes(argument: _Argument, value: Any) -> bool:
    if value is None:  # also what the tree does not show: lists of numbers, devices
        return not argument.is_tensor or argument.optional or argument.is_list
    is_list = isinstance(value, list)
    holds = [isinstance(item, _TensorMetadata) for item in (value if is_list else [value])]
    if argument.is_tensor:
        return is_list == argument.is_list and all(holds)
    return not any(holds)
