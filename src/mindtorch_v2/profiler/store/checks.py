"""What is checked of a store file's contents before they are used: their types, so that no use of them meets another
one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..record.descriptions import InputDescription, Metadata, ModuleInfo, Options, ThreadInfo

_MAX_DEPTH = 32
_PLAIN = frozenset({int, str, float, bool, type(None)})
_LIMIT = 1 << 63
_MOST = 1 << 62  # nanoseconds (146 years) or bytes: beyond lies nothing that a profile could mean, and sums overflow

if TYPE_CHECKING:
    from .event_store import EventStore


def _is_int(value: Any) -> bool:
    return type(value) is int and -_LIMIT <= value < _LIMIT


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(type(key) is str and type(text) is str for key, text in value.items())


def _is_filters(value: Any) -> bool:
    return isinstance(value, dict) and all(
        type(key) is str and isinstance(names, list) and all(type(name) is str for name in names)
        for key, names in value.items()
    )


def _is_amounts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        type(key) is str and type(amount) in (int, float) and 0 <= amount < 1e18 for key, amount in value.items()
    )


def _is_readings(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, list) and len(item) == 3 and all(_is_int(number) for number in item) for item in value
    )


# By annotation of a field.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "bool": lambda value: type(value) is bool,
    "str": lambda value: type(value) is str,
    "str | None": lambda value: value is None or type(value) is str,
    "int | None": lambda value: value is None or _is_int(value),
    "Mapping[str, str]": _is_texts,
    "Mapping[str, float]": _is_amounts,
    "Mapping[str, tuple[str, ...]]": _is_filters,
    "Options": lambda value: isinstance(value, dict),
    "tuple[tuple[int, int, int], ...]": _is_readings,
}


def checked_facts(kind: type[Metadata] | type[Options], saved: Any) -> dict[str, Any]:
    """The facts that this version knows; TypeError where one has another type than it should."""
    if not isinstance(saved, dict):
        raise TypeError(f"{kind.__name__} is {type(saved).__name__}")
    known = {field.name: saved[field.name] for field in dataclasses.fields(kind) if field.name in saved}
    for field in dataclasses.fields(kind):
        if field.name in known and not _CHECKS[str(field.type)](known[field.name]):
            raise TypeError(f"{field.name} is {str(known[field.name])[:40]!r}, expected {field.type}")
    return known


def checked_metadata(saved: Any) -> Metadata:
    """Facts that this version does not know are left out, those that the file does not know have their defaults."""
    facts = checked_facts(Metadata, saved)
    options = checked_facts(Options, facts.get("options", {}))
    if options.get("keep", "newest") not in ("newest", "oldest"):
        raise ValueError(f"keep is {options['keep'][:40]!r}")
    options["activity_filters"] = {key: tuple(names) for key, names in options.get("activity_filters", {}).items()}
    facts["speed"] = tuple(tuple(reading) for reading in facts.get("speed", ()))
    return Metadata(**{**facts, "options": Options(**options)})


def checked_thread(item: Any) -> ThreadInfo:
    """A thread; files from before tasks (and then processes) were told apart have fewer values."""
    values = [*item, *[0] * (6 - len(item))] if isinstance(item, list) and len(item) >= 4 else item
    return ThreadInfo(*_row(values, (int, int, str, int, int, int)))


def checked_module(item: Any) -> ModuleInfo:
    return ModuleInfo(*_row(item, (int, str, str, int)))


def _row(item: Any, types: tuple[type, ...]) -> list[Any]:
    """The members of a side table's row; more than are known are left out."""
    if not isinstance(item, list) or len(item) < len(types):
        raise TypeError(f"{str(item)[:40]!r} in a table")
    values = item[: len(types)]
    if not all(_is_int(value) if kind is int else type(value) is kind for value, kind in zip(values, types)):
        raise TypeError(f"{str(item)[:40]!r} in a table")
    return values


def checked_inputs(item: Any) -> InputDescription:
    """The arguments of a call."""
    if not isinstance(item, list) or len(item) < 5 or not all(isinstance(part, list) for part in item[:5]):
        raise TypeError(f"arguments are {str(item)[:40]!r}")
    shapes, strides, types, values, keywords = (_as_tuples(part, _MAX_DEPTH) for part in item[:5])
    if not all(_is_dimensions(entry) for part in (shapes, strides) for entry in part):
        raise TypeError("shapes are not whole numbers")
    if not all(type(text) is str for text in types):
        raise TypeError("names of types are not strings")
    if not all(type(pair) is tuple and len(pair) == 2 and type(pair[0]) is str for pair in keywords):
        raise TypeError("keywords are not pairs")
    if shapes and not len(shapes) == len(strides) == len(types) == len(values):
        raise ValueError("arguments have different numbers of shapes, strides, types and values")
    return InputDescription(shapes, strides, types, values, keywords)


def _is_dimensions(value: Any) -> bool:
    """The dimensions of a tensor, or of each tensor of a list."""
    return type(value) is tuple and all(
        _is_dimensions(item) if type(item) is tuple else _is_int(item) for item in value
    )


def _as_tuples(value: Any, depth: int) -> Any:
    if isinstance(value, list):
        if depth == 0:
            raise ValueError(f"lists are nested more than {_MAX_DEPTH} deep")
        return tuple([item if type(item) in _PLAIN else _as_tuples(item, depth - 1) for item in value])
    if isinstance(value, dict):
        real, imag = value["complex"]
        return complex(float(real), float(imag))
    return value


def checked_amounts(store: EventStore) -> EventStore:
    """The store; ValueError where an event ends before it begins, or where times or sizes are so large that adding
    them up gives another number.
    """
    tables = (("an event", store), ("a memory record", store.memory), ("a scratch record", store.scratch))
    for label, table in (*tables, ("a held block", store.held), ("an owned tensor", store.owned)):
        for field in table.FIELDS:
            column = table.columns[field.name]
            if field.unit == "ns" and len(column) and not -_MOST < int(column.min()) <= int(column.max()) < _MOST:
                raise ValueError(f"{label}'s {field.name} is too large")
    if (store.end_ns < store.start_ns).any():
        raise ValueError("an event ends before it begins")
    if float((store.end_ns - store.start_ns).sum(dtype=np.float64)) >= _MOST:
        raise ValueError("the events last longer than any program")
    for table in (store.memory, store.scratch, store.held):
        if float(np.abs(table.nbytes.astype(np.float64)).sum()) >= _MOST:
            raise ValueError("more bytes are allocated than any machine has")
    return store
