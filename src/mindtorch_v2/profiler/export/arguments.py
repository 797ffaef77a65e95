"""The arguments of calls as a trace writes them."""

from __future__ import annotations

import json
from typing import Any

from ..record.descriptions import InputDescription
from ..store.event_store import EventStore

_RESERVED = frozenset(
    {
        "External id",
        "Record function id",
        "Sequence number",
        "Fwd thread id",
        "Ev Idx",
        "Input Dims",
        "Input Strides",
        "Input type",
        "Concrete Inputs",
        "Call stack",
        "Module Hierarchy",
        "finished",
    }
)


def json_string(text: str) -> str:
    """A JSON string; whatever the text holds, the result is ASCII."""
    return json.dumps(text)


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)


def concrete(value: Any) -> str:
    """A value as text: numbers and lists of them in C++'s spelling, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        text = f"{value:.17g}"
        return text + "." if text.lstrip("-").isdigit() else text
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(concrete(item) for item in value) + "]"
    return str(value)


def _is_written(key: str, value: Any) -> bool:
    """Whether a keyword value of `_RecordFunctionFast` is written to a trace: numbers, strings and lists of strings, as
    in PyTorch, where
    `stream` is a number and `grid` a text. `kwinputs` has all."""
    if isinstance(value, (tuple, list)):
        return key not in _TYPES and all(isinstance(item, str) for item in value)
    return isinstance(value, _TYPES.get(key, (bool, int, float, str)))


_TYPES: dict[str, Any] = {"stream": int, "grid": str}


def described_arguments(
    inputs: InputDescription, is_operator: bool, with_shapes: bool, with_values: bool = True, all_keywords: bool = True
) -> str:
    """The members of "args" that describe a call, each preceded by a comma.

    Operators have numbers and lists of numbers; what a user gave to a scope is written whatever it is.
    """
    values = [concrete(None if is_operator and isinstance(value, str) else value) for value in inputs.values]
    members: dict[str, Any] = {}
    if with_values and (inputs.shapes or values):
        members["Concrete Inputs"] = values
    if inputs.shapes and with_shapes:
        members |= {"Input type": list(inputs.types), "Input Strides": inputs.strides, "Input Dims": inputs.shapes}
    for key, value in inputs.keywords:
        if all_keywords or _is_written(key, value):
            members[f"{key} (input)" if key in _RESERVED else key] = value
    return "," + compact(members)[1:-1] if members else ""


def stack_text(store: EventStore, node: int) -> str:
    """A call stack on one line, innermost first, every frame followed by a semicolon."""
    return "".join(frame + ";" for frame in store.frames(node))


def module_text(store: EventStore, module: int) -> str:
    """Where in the model: the path inside the outermost module called, whose own is its class's name."""
    info = store.modules[module]
    return info.path or info.type_name
