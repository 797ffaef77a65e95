"""A schema from the annotations of a Python function."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _dtype as dt
from .._device import device
from .._tensor import Tensor

_WORDS: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dt.dtype: "ScalarType",
    device: "Device",
}
_SCALARS = {int, float, bool}


def _word(annotation: Any) -> str | None:
    """The schema's word for a type; None where it has none."""
    if annotation in _WORDS:
        return _WORDS[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union or origin is types.UnionType:
        rest = [a for a in inner if a is not type(None)]
        if set(rest) == _SCALARS:
            return "Scalar" if len(rest) == len(inner) else "Scalar?"
        found = _word(rest[0]) if len(rest) == 1 else None
        return None if found is None else found if len(rest) == len(inner) else f"{found}?"
    if origin in (list, Sequence) and len(inner) == 1:
        found = _word(inner[0])
        return None if found is None else f"{found}[]"
    return None


def _default(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        return f"{value:g}" if not value.is_integer() else f"{int(value)}."
    if isinstance(value, dt.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, device):
        return f'"{value}"'
    return str(value)


def _returns(annotation: Any, signature: str) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        words = [_word(a) for a in typing.get_args(annotation)]
        if None not in words:
            return f"({', '.join(w for w in words if w)})"
    found = _word(annotation)
    if found is None or found.endswith("?"):
        raise ValueError(
            f"infer_schema(func): Return has unsupported type {annotation}. Got func with signature {signature})"
        )
    return found


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """`(Tensor x, float k=2.) -> Tensor` for `def f(x: Tensor, k: float = 2.0) -> Tensor`.

    `mutates_args` names the arguments that the function writes to, or is "unknown".
    """
    signature = inspect.signature(prototype_function)
    hints = _hints(prototype_function)
    parts: list[str] = []
    for i, p in enumerate(signature.parameters.values()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            raise ValueError(
                "infer_schema(func): We do not support positional-only args, varargs, or varkwargs. Got func with "
                f"signature {signature})"
            )
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        if p.name not in hints:
            raise ValueError(
                f"infer_schema(func): Parameter {p.name} must have a type annotation. Got func with signature "
                f"{signature})"
            )
        word = _word(hints[p.name])
        if word is None:
            raise ValueError(
                f"infer_schema(func): Parameter {p.name} has unsupported type {hints[p.name]}. The valid types are "
                "tensors, "
                f"numbers, strings, types, devices, lists and optionals of them. Got func with signature {signature})"
            )
        if word.startswith("Tensor") and (mutates_args == "unknown" or p.name in mutates_args):
            word = word.replace("Tensor", f"Tensor(a{i}!)", 1)
        parts.append(f"{word} {p.name}" + ("" if p.default is p.empty else f"={_default(p.default)}"))
    if "return" not in hints:
        raise ValueError(
            "infer_schema(func): No return type annotation was provided. Please add one. Got func with signature "
            f"{signature})"
        )
    return f"{op_name or ''}({', '.join(parts)}) -> {_returns(hints['return'], str(signature))}"


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations, also those written as text."""
    return typing.get_type_hints(function)
