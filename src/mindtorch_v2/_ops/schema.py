"""Torch's schema notation, parsed: `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

NO_DEFAULT: Any = type("NoDefault", (), {"__repr__": lambda self: "<required>"})()
_PARAM = re.compile(
    r"^(?P<type>[A-Za-z]+(?:\([a-z]!?\)|!)?(?:\[\d*\])?\??(?:\[\d*\])?\??)\s+(?P<name>\w+)(?:=(?P<default>.+))?$"
)
_CONSTANTS = {"Mean": 1, "Sum": 2, "contiguous_format": None, "long": "long", "strided": None}


@dataclass(frozen=True, slots=True)
class Param:
    """One argument: its type word without annotations, its default, and how it may be passed."""

    name: str
    type: str  # Tensor, Scalar, int, float, bool, str, ScalarType, Device, Layout, MemoryFormat, Generator
    default: Any
    keyword_only: bool
    optional: bool  # None is a value
    is_list: bool
    length: int  # int[2]: a single number stands for this many; 0 when unknown
    alias: str  # "a" for a view source, "a!" for one that is written, "" otherwise
    holes: bool  # Tensor?[]: elements of the list may be None

    @property
    def is_tensor(self) -> bool:
        return self.type == "Tensor"


@dataclass(frozen=True, slots=True)
class Schema:
    """A parsed declaration. `text` is the source, used in execution traces."""

    text: str
    params: tuple[Param, ...]
    returns: tuple[str, ...]  # type words with annotations
    return_names: tuple[str, ...]  # "" where unnamed

    @property
    def returns_list(self) -> bool:
        return len(self.returns) == 1 and self.returns[0].endswith("[]")

    @property
    def is_view(self) -> bool:
        return any("(a)" in r for r in self.returns)

    @property
    def tensor_params(self) -> tuple[int, ...]:
        return tuple(i for i, p in enumerate(self.params) if p.is_tensor)


def _default_value(text: str | None) -> Any:
    if text is None:
        return NO_DEFAULT
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    value = ast.literal_eval(text)
    return tuple(value) if isinstance(value, list) else value


def _parse_param(text: str, keyword_only: bool) -> Param:
    match = _PARAM.match(text)
    if match is None:
        raise ValueError(f"cannot read the parameter {text!r} of a schema")
    word = match["type"]
    alias = re.search(r"\(([a-z]!?)\)|[A-Za-z](!)", word)  # `Tensor!` is written to, and nothing else is a view of it
    size = re.search(r"\[(\d*)\]", word)
    base = re.match(r"[A-Za-z]+", word)
    assert base is not None
    type_word = {"SymInt": "int"}.get(base[0], base[0])
    return Param(
        match["name"],
        type_word,
        _default_value(match["default"]),
        keyword_only,
        word.endswith("?") and not (size and word.endswith("?[]")),
        size is not None,
        int(size[1]) if size and size[1] else 0,
        (alias[1] or alias[2]) if alias else "",
        "?[" in word,
    )


def _split(text: str) -> list[str]:
    """Splits at commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


def parse(text: str) -> Schema:
    """Reads one declaration; ValueError names what cannot be read."""
    head, arrow, tail = text.partition(" -> ")
    if not arrow:
        raise ValueError(f"the schema {text!r} has no '->'")
    inside = head[head.index("(") + 1 : head.rindex(")")]
    params, keyword_only = [], False
    for part in _split(inside):
        if part == "*":
            keyword_only = True
        else:
            params.append(_parse_param(part, keyword_only))
    tail = tail.strip()
    outputs = _split(tail[1:-1]) if tail.startswith("(") else [tail]
    words = [o.split(" ") for o in outputs]
    return Schema(text, tuple(params), tuple(w[0] for w in words), tuple(w[1] if len(w) > 1 else "" for w in words))
