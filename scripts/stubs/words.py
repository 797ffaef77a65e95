"""How the types of signatures are spelled in stubs, where `int`, `float`, `device` and others are names of torch's
own.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mindtorch_v2._ops.signatures import Signature, signatures
from mindtorch_v2._ops.table import Op

_NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims"}
_SPELLED = {
    **{
        word: f"_{word}"
        for word in ("int", "float", "bool", "str", "complex", "Number", "Sequence", "DeviceLike", "Generator")
    },
    "dtype": "_DType",
    "layout": "_Layout",
    "memory_format": "_MemoryFormat",
}
_WORD = re.compile(rf"\b({'|'.join(_SPELLED)})\b")
_TYPES = (
    "_Array",
    "_bool",
    "_complex",
    "_DeviceLike",
    "_DType",
    "_float",
    "_Generator",
    "_Index",
    "_int",
    "_Layout",
    "_MemoryFormat",
    "_Number",
    "_RemovableHandle",
    "_str",
    "_TypedConstructor",
    "_UntypedStorage",
)
# Overloads of one name may overlap: the first that fits is taken, as in a call.
HEADER = '''"""Written by scripts/stubs/write.py from the op table; do not edit."""
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc, override"
'''


def numpy_form(signature: Signature) -> Signature | None:
    """The same call with numpy's names for `dim` and `keepdim`, which may be given by name; None if it has neither."""
    if all(p.name not in _NUMPY_NAMES for p in signature.parameters) or any(p.spread for p in signature.parameters):
        return None
    kept = [p for p in signature.parameters if p.name not in _NUMPY_NAMES and not p.keyword_only]
    named = [
        replace(p, name=_NUMPY_NAMES.get(p.name, p.name), keyword_only=True)
        for p in signature.parameters
        if p not in kept
    ]
    first = next((i for i, p in enumerate(signature.parameters) if p.name in _NUMPY_NAMES), 0)
    before, behind = kept[:first], [replace(p, keyword_only=True) for p in kept[first:]]
    return replace(signature, parameters=(*before, *behind, *named))


def imports(root: str, text: str) -> list[str]:
    """The imports of a stub for the types that its text names; `root` is the package as seen from it ("." or "..")."""
    used = set(re.findall(r"\w+", text))
    lines = ["from collections.abc import Sequence as _Sequence"] if "_Sequence" in used else []
    lines += [f"from typing import {word} as _{word}" for word in ("Any", "overload") if f"_{word}" in used]
    lines += ["", f"from {root} import _return_types"] if "_return_types" in used else [""]
    lines += [f"from {root}_tensor import Tensor"] if "Tensor" in used else []
    types = ", ".join(word for word in _TYPES if word in used)
    return [*lines, f"from {root}_typing import {types}"] if types else lines


def spelled(words: str) -> str:
    """A type as a stub writes it."""
    return _WORD.sub(lambda found: _SPELLED[found[1]], words)


def _definition(name: str, signature: Signature, is_method: bool) -> str:
    parts, star = [], False
    for i, p in enumerate(signature.parameters):
        if is_method and i == 0:
            parts.append("self")
            continue
        if p.keyword_only and not star:
            parts.append("*")
        star = star or p.keyword_only or p.spread
        default = "" if p.default is None else f" = {p.default}"
        parts.append(f"{'*' if p.spread else ''}{p.name}: {spelled(p.type)}{default}")
    return f"def {name}({', '.join(parts)}) -> {returned(name, signature)}: ..."


def returned(name: str, signature: Signature) -> str:
    """The type of a result; those with named parts are in `_return_types.pyi`."""
    return f"_return_types.{class_name(name, signature)}" if signature.fields else spelled(signature.returns)


def class_name(name: str, signature: Signature) -> str:
    """The named tuple of an op's results, told apart by its parts: `max_values_indices`."""
    return "_".join((name.removeprefix("linalg_"), *signature.fields))


def definitions(name: str, overloads: Iterable[Op], form: str) -> list[str]:
    """The lines that declare a function or a method: one `def`, or several with @overload."""
    found: list[str] = []
    for op in overloads:
        for signature in signatures(op, form):
            for way in (signature, numpy_form(signature)):
                if way is not None:
                    line = _definition(name, way, form == "method")
                    found += [] if line in found else [line]
    return found if len(found) == 1 else [line for made in found for line in ("@_overload", made)]


def by_annotations(name: str, function: Any, is_method: bool = False) -> str:
    """The line that declares a function written in Python; types that are not simple words are Any."""
    parameters, parts, star = list(inspect.signature(function).parameters.values()), [], False
    if is_method:
        parameters, parts = parameters[1:], ["self"]
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parts.append(f"{mark}{p.name}: {plain(p.annotation)}{'' if p.default is p.empty else ' = ...'}")
    return f"def {name}({', '.join(parts)}) -> {plain(inspect.signature(function).return_annotation)}: ..."


def plain(annotation: Any) -> str:
    """An annotation of simple words as a stub writes it; anything else is Any."""
    words = annotation.strip("'\"") if isinstance(annotation, str) else ""
    word = r"(?:Tensor|int|float|bool|str|None|object|Sequence\[(?:int|Tensor)\]|dict\[str, object\])"
    fits = re.fullmatch(rf"{word}(?: \| {word})*", words)
    return spelled(words) if fits else "_Any"


def body(lines: Iterable[str]) -> list[str]:
    """Lines as a class's body."""
    return [f"    {line}" if line else "" for line in lines]
