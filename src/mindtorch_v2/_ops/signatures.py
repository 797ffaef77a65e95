"""How an op is called from Python: its parameters with types and defaults, read off its declaration.

Docstrings, the stubs for type checkers and the API reference are written from these. Types are written with Python's
own words; `_WORDS` is the only table of them.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass, replace

from .schema import NO_DEFAULT, Param
from .table import Op

_WORDS = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
    "Device": "DeviceLike",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
    "Generator": "Generator",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `default` is source text, None if the parameter is required. `spread` is `*size: int`."""

    name: str
    type: str
    default: str | None
    keyword_only: bool
    spread: bool = False

    def text(self) -> str:
        head = f"{'*' if self.spread else ''}{self.name}: {self.type}"
        return head if self.default is None else f"{head} = {self.default}"


@dataclass(frozen=True, slots=True)
class Signature:
    """One way to call an op; `returns` is a type, `fields` the names of its parts where it is a named tuple."""

    parameters: tuple[Parameter, ...]
    returns: str
    fields: tuple[str, ...] = ()

    def text(self) -> str:
        """`(input: Tensor, *, alpha: Number = 1) -> Tensor`."""
        parts, star = [], False
        for p in self.parameters:
            if p.keyword_only and not star:
                parts.append("*")
            star = star or p.keyword_only or p.spread
            parts.append(p.text())
        fields = f"({', '.join(f'{name}: Tensor' for name in self.fields)})"
        return f"({', '.join(parts)}) -> {fields if self.fields else self.returns}"

    def bound(self) -> Signature:
        """The signature of a method as it is called, without its first parameter."""
        return replace(self, parameters=self.parameters[1:])


def _type(op: Op, p: Param) -> str:
    word = _WORDS[p.type]
    if p.is_tensor and p.name in op.numbers:
        word = "Tensor | Number"
    if p.is_list:
        word = f"Sequence[{word}{' | None' if p.holes else ''}]"
        if p.length:
            word = f"{_WORDS[p.type]} | {word}"
    return f"{word} | None" if p.optional or (p.default is None and p.type not in ("Layout", "MemoryFormat")) else word


def _default(p: Param) -> str | None:
    if p.default is NO_DEFAULT:
        return None
    if isinstance(p.default, float) and p.default in (float("inf"), float("-inf")):
        return f"float('{p.default}')"
    return repr(p.default)


def _name(op: Op, p: Param, form: str) -> str:
    if p.name == "self" and form == "function" and all(q.name != "input" for q in op.schema.params):
        return "input"
    return f"{p.name}_" if keyword.iskeyword(p.name) else p.name


def _returns(op: Op) -> tuple[str, tuple[str, ...]]:
    words = [r.replace("(a)", "").replace("(a!)", "") for r in op.schema.returns]
    if not words:
        return "None", ()
    if len(words) == 1:
        word = words[0]
        if word == "Tensor[]":
            return ("list[Tensor]" if op.family == "foreach" else "tuple[Tensor, ...]"), ()
        return {"()": "None", "SymInt": "int", "Scalar": "int | float | bool"}.get(word, _WORDS.get(word, word)), ()
    names = op.schema.return_names
    return f"tuple[{', '.join(_WORDS.get(w, w) for w in words)}]", names if all(names) else ()


def _extra(op: Op, form: str) -> list[Parameter]:
    """What every op of a kind takes besides the parameters of its schema."""
    names = {p.name for p in op.schema.params}
    made = []
    if form == "function" and "out" not in names and (op.out or op.is_factory):
        several = len(op.schema.returns) > 1
        made.append(Parameter("out", "Sequence[Tensor] | None" if several else "Tensor | None", "None", True))
    if op.is_factory:
        made.append(Parameter("requires_grad", "bool", "False", True))
    return made


def _spread(op: Op) -> int | None:
    """The position of an int list that may be given as separate numbers: the last positional parameter."""
    positional = [i for i, p in enumerate(op.schema.params) if not p.keyword_only]
    if not positional or positional[-1] > 1:
        return None
    p = op.schema.params[positional[-1]]
    fits = p.type == "int" and p.is_list and p.length == 0 and p.default is NO_DEFAULT
    return positional[-1] if fits and (positional[-1] == 0 or op.schema.params[0].is_tensor) else None


def signatures(op: Op, form: str) -> list[Signature]:
    """How an overload is called; two ways where sizes may be given as a sequence or one by one.

    `form` is "function" or "method".
    """
    returns, fields = _returns(op)
    made = [Parameter(_name(op, p, form), _type(op, p), _default(p), p.keyword_only) for p in op.schema.params]
    whole = Signature((*made, *_extra(op, form)), returns, fields)
    spread = _spread(op)
    if spread is None:
        return [whole]
    rest = [replace(p, keyword_only=True) for p in whole.parameters[spread + 1 :]]
    return [
        whole,
        Signature(
            (*whole.parameters[:spread], Parameter(made[spread].name, "int", None, False, True), *rest), returns, fields
        ),
    ]
