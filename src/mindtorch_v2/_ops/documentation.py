"""Docstrings of operators: the text in `docs/<family>.md`, with signatures and facts read off the declaration.

A file holds one section per operator, `## add`, or `## absolute = abs` for another name of one. A section is a
summary in one sentence, then what else a caller has to know, then examples in doctest's form. The section of an
operator that writes in place (`## add_`) may consist of examples alone: the rest is said by `## add`.
"""

from __future__ import annotations

import pathlib
import textwrap
from functools import cache

from .signatures import signatures
from .table import OVERLOADS, Op

_WIDTH = 100
_ELEMENTWISE = ("elementwise", "activation")
_FOLDER = pathlib.Path(__file__).parent / "docs"
_SHAPES = {
    "one": "Shapes: the result has the shape of the input.",
    "several": "Shapes: the tensors broadcast together; the result has their common shape.",
}
_TYPES = {
    ("promote", "cast"): "The result has the common type of the arguments.",
    ("float", "cast"): "Integers and bool become the default floating-point type.",
    ("promote", "bool"): "The result is bool.",
    (None, "bool"): "The result is bool.",
}


@cache
def sections(family: str) -> dict[str, str]:
    """The sections of a family's file by the name of the operator; those of other names begin with "= "."""
    path = _FOLDER / f"{family}.md"
    if not path.exists():
        return {}
    found = {}
    for section in path.read_text(encoding="utf-8").split("\n## ")[1:]:
        head, _, body = section.partition("\n")
        name, other, target = head.partition(" = ")
        found[name] = f"= {target}" if other else body.strip()
    return found


def public_name(base: str, form: str = "function") -> str:
    """Where a program finds an operator: "torch.add", "torch.linalg.svd", "Tensor.add_"."""
    if form == "method":
        return f"Tensor.{base}"
    namespace = next((o.namespace for o in OVERLOADS[base] if o.function), OVERLOADS[base][0].namespace)
    if namespace == "nn" or base == "log_sigmoid":
        return f"torch.nn.functional.{'logsigmoid' if base == 'log_sigmoid' else base}"
    return f"torch.{namespace}.{base.removeprefix(f'{namespace}_')}" if namespace else f"torch.{base}"


def text_of(base: str) -> str | None:
    """The section of an operator; of one that writes in place and has none, that of the operator it is the form of."""
    overloads = OVERLOADS[base]
    text = sections(overloads[0].family).get(base)
    if _is_derived(base, text):
        origin = text_of(base[:-1])
        return (
            origin
            and f"Writes the result of `{base[:-1]}` into the tensor itself, and returns "
            f"it.\n\n{_without_examples(origin)}\n\n{text or ''}".strip()
        )
    if text is not None and text.startswith("= "):
        target = text[2:]
        origin = text_of(target)
        return (
            origin
            and f"Another name of `{public_name(target)}`: "
            f"{origin[0].lower() if origin[1:2].islower() else origin[0]}{origin[1:]}"
        )
    return text


def _is_derived(base: str, text: str | None) -> bool:
    """Whether an operator that writes in place is described by the one it is the form of: its own section has at most
    examples.
    """
    return base.endswith("_") and base[:-1] in OVERLOADS and (not text or text.startswith(">>> "))


def _without_examples(text: str) -> str:
    return text.partition(">>> ")[0].strip()


def _origin(base: str) -> list[Op]:
    """The overloads whose declaration says most of an operator: those of the operator it is another name or form of."""
    text = sections(OVERLOADS[base][0].family).get(base, "")
    if text.startswith("= "):
        return _origin(text[2:])
    return OVERLOADS[base[:-1]] if _is_derived(base, text) else OVERLOADS[base]


def facts(base: str, text: str) -> list[str]:
    """What the declaration says of shapes, types and memory, where the text does not."""
    overloads, found = _origin(base), []
    rule, first = overloads[0].rule, overloads[0]
    names = {p.name for op in overloads for p in op.schema.params}
    if "Shapes:" not in text:
        if (rule is not None and rule.elementwise) or (
            first.family in _ELEMENTWISE and first.schema.returns == ("Tensor",)
        ):
            found.append(_SHAPES["several" if len(first.schema.tensor_params) > 1 else "one"])
        elif {"dim", "keepdim"} <= names:
            found.append("Shapes: the dimensions in `dim` are removed, or have size one with `keepdim=True`.")
        elif "size" in names and first.is_factory:
            found.append("Shapes: the result has the shape `size`.")
    if rule is not None and rule.elementwise and (rule.cast, rule.out) in _TYPES:
        found.append(_TYPES[rule.cast, rule.out])
    if first.is_view and "view" not in text.lower():
        found.append("The result is a view of the input's memory where its strides allow it.")
    return found


def calls(base: str, form: str) -> list[str]:
    """The signatures of an operator, one string each: "max(input: Tensor, other: Tensor) -> Tensor"."""
    overloads = OVERLOADS[base]
    public = [op for op in overloads if (op.method if form == "method" else op.function)] or overloads
    name = public_name(base, form).removeprefix("torch.")
    return [f"{name}{(s.bound() if form == 'method' else s).text()}" for op in public for s in signatures(op, form)]


def _wrap_signature(call: str) -> str:
    """A signature in lines of `_WIDTH` columns, broken between parameters only."""
    words = call.replace(" ", "\0").replace(",\0", ", ")
    lines = textwrap.fill(
        words,
        _WIDTH,
        initial_indent="    ",
        subsequent_indent="        ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace("\0", " ")


def docstring(base: str, form: str) -> str:
    """The docstring of an operator as a function or a method: summary, signatures, what else to know, examples."""
    text = text_of(base)
    if text is None:
        return "\n".join(op.text for op in OVERLOADS[base])
    head, marker, examples = text.partition(">>> ")
    summary, _, details = head.strip().partition("\n\n")
    more = " ".join([*details.split(), *facts(base, text)])
    parts = [
        textwrap.fill(summary, _WIDTH),
        "\n".join(_wrap_signature(call) for call in calls(base, form)),
        textwrap.fill(more, _WIDTH),
    ]
    if marker:
        parts.append("Example:\n\n" + textwrap.indent(marker + examples, "    "))
    return "\n\n".join(filter(None, parts))
