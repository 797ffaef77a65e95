"""The arguments of events in a trace, back as descriptions."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from ..record.descriptions import InputDescription
from ..store.input_texts import InputTexts

_SHAPES, _STRIDES, _TYPES, _VALUES = "Input Dims", "Input Strides", "Input type", "Concrete Inputs"
_DECODER = json.JSONDecoder(strict=False)
_SHAPES_KEY = b'"Input Dims"'
_DESCRIBED = (_SHAPES, _STRIDES, _TYPES, _VALUES)
_PLAIN = frozenset({int, str, float, bool, type(None)})
_MAX_DEPTH = 32  # of lists in lists: tensors in lists in lists make three
_MAX_DIGITS = 400  # of a number in text: beyond lies nothing that a float could hold


class InputTable(InputTexts):
    """The arguments of a trace's events, each text once."""

    def __init__(self) -> None:
        super().__init__()
        self.has_shapes = False
        self._operators = bytearray()  # per text: whether it is an operator's
        self._indices: dict[tuple[str, bool], int] = {}
        self._pairs: dict[Any, Any] = {}

    def index_of(self, args: dict[str, Any], is_operator: bool) -> int:
        """The index of these arguments. ValueError where they make no sense."""
        text = json.dumps(args, separators=(",", ":"), default=float)[1:-1]
        found = self._indices.get((text, is_operator))
        if found is None:
            found = self._indices[text, is_operator] = self.add(text.encode("ascii"), is_operator)
            if text.count("[") + text.count("{") >= _MAX_DEPTH:  # perhaps nested too deeply: not to be found out later
                self[found]  # noqa: B018
        return found

    def add(self, members: bytes, is_operator: bool) -> int:
        """The index of a new text: valid JSON, which is not nested more than _MAX_DEPTH deep."""
        index = len(self._texts)
        self._texts.append(members)
        self._operators.append(is_operator)
        if not self.has_shapes and _SHAPES_KEY in members:
            self.has_shapes = bool(self[index].shapes)
        return index

    def describe(self, index: int, text: bytes) -> InputDescription:
        args = _DECODER.decode("{" + text.decode("utf-8", "surrogateescape") + "}")
        return self._describe(args, bool(self._operators[index]))

    def _describe(self, args: dict[str, Any], is_operator: bool) -> InputDescription:
        if not any(key in args for key in _DESCRIBED):  # as kernels' and runtime calls'
            return InputDescription((), (), (), (), tuple([self._pair(key, value) for key, value in args.items()]))
        types = tuple([str(name) for name in _as_list(args.pop(_TYPES, None))])
        shapes, strides = (
            tuple([_dimensions(item) for item in _as_list(args.pop(key, None))]) for key in (_SHAPES, _STRIDES)
        )
        texts = _as_list(args.pop(_VALUES, None))
        values = tuple([_value(text, i, types) if is_operator else _scope_text(text) for i, text in enumerate(texts)])
        length = max(len(types), len(shapes), len(strides), len(values)) if shapes else 0
        return InputDescription(
            _pad(shapes, length, ()),
            _pad(strides, length, ()),
            _pad(types, length, ""),
            _pad(values, length, None),
            tuple([self._pair(key, value) for key, value in args.items()]),
        )

    def _pair(self, key: str, value: Any) -> tuple[str, Any]:
        """Many kernels share most of their arguments: each pair is kept once."""
        pair = key, value if type(value) in _PLAIN else _frozen(value)
        return self._pairs.setdefault((key, type(pair[1]), pair[1]), pair)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _pad(values: tuple[Any, ...], length: int, missing: Any) -> tuple[Any, ...]:
    return values if len(values) >= length else values + (missing,) * (length - len(values))


def _dimensions(value: Any, depth: int = _MAX_DEPTH) -> tuple[Any, ...]:
    """The dimensions of a tensor, or of each tensor of a list."""
    if not isinstance(value, list):
        return ()
    for item in value:
        if type(item) is not int:
            break
    else:
        return tuple(value)
    _check_depth(depth)
    return tuple(
        [
            _dimensions(item, depth - 1) if isinstance(item, list) else item if type(item) is int else -1
            for item in value
        ]
    )


def _frozen(value: Any, depth: int = _MAX_DEPTH) -> Any:
    if isinstance(value, list):
        _check_depth(depth)
        return tuple([item if type(item) in _PLAIN else _frozen(item, depth - 1) for item in value])
    if isinstance(value, dict):
        return json.dumps(value, default=float)
    return float(value) if isinstance(value, Decimal) else value


def _check_depth(depth: int) -> None:
    if depth <= 0:
        raise ValueError(f"arguments are nested more than {_MAX_DEPTH} deep")


def _value(text: Any, position: int, types: tuple[str, ...]) -> Any:
    """A value from its C++ spelling: "6", "1.", "True", "[2, 3]"; None for what a trace leaves out."""
    if (
        text == ""
        or not isinstance(text, str)
        or (types[position] if position < len(types) else "") not in ("", "Scalar", "ScalarList")
    ):
        return None
    if text.startswith("[") and text.endswith("]"):
        inner = text[1:-1].strip()
        return tuple([_scalar(item.strip()) for item in inner.split(",")]) if inner else ()
    return _scalar(text)


def _scope_text(text: Any) -> str | None:
    """What a user gave to a scope, as it was given."""
    return None if text == "" else str(text)


def _scalar(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    for convert in (int, float) if len(text) <= _MAX_DIGITS else ():
        try:
            return convert(text)
        except ValueError:
            continue
    return text
