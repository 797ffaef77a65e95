"""The table of operators: one declaration per op, read by every other layer.

Declaring costs a few hundred nanoseconds: schemas are parsed, and kernels and derivatives imported, when an op
is first used.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .rules import MetaRule, Rule
from .schema import Schema, parse

OPS: dict[str, Op] = {}  # "add.Tensor" -> Op
OVERLOADS: dict[str, list[Op]] = {}  # "add" -> its overloads in the order of declaration
_OPAQUE = frozenset(("isnan", "isinf", "allclose", "isin", "_linalg_check_errors"))


class Op:
    """One overload of an operator.

    `name` is "add.Tensor"; `event` is what the profiler shows ("aten::add"). An op is either a leaf (kernels per
    backend, a rule for its outputs, a derivative or the reason why there is none) or a composite (written with
    other ops, differentiated through them).
    """

    def __init__(
        self,
        text: str,
        family: str,
        rule: Rule | None,
        meta: MetaRule | None,
        numbers: Sequence[str],
        function: bool,
        method: bool,
        out: bool | str,
        namespace: str,
        no_grad: str | None,
    ) -> None:
        self.text = text
        self.name = text[: text.index("(")]
        self.base, _, self.overload = self.name.partition(".")
        self.event = f"aten::{self.base}"
        self.family = family
        self.rule = rule
        self.meta = meta
        self.numbers = frozenset(numbers)  # tensor arguments that also take Python numbers
        self.function = function
        self.method = method
        self.out = out
        self.namespace = namespace  # where `torch.<namespace>.<base>` has it ("" is torch itself)
        self.no_grad = no_grad  # why the op has no derivative, or None
        self.inplace_of: Op | None = None  # set on the in-place form
        self.inplace: Op | None = None  # the in-place form, if there is one
        self.backends: dict[int, Any] = {}  # device key -> boxed kernel; filled by the dispatcher
        self.derivative: Any = None  # how it is differentiated; set when its family is loaded
        self.is_composite = False  # made of other ops; set when its family is loaded
        self.plan: Any = None  # how a call goes; made by the dispatcher (_dispatch/plan.py)

    @cached_property
    def schema(self) -> Schema:
        return parse(self.text)

    @cached_property
    def is_view(self) -> bool:
        return self.schema.is_view

    @cached_property
    def writes(self) -> bool:
        """Whether the first argument is changed in place."""
        return bool(self.schema.params) and self.schema.params[0].alias.endswith("!")

    @cached_property
    def has_sequence_id(self) -> bool:
        """Whether a call can carry a sequence id: that of the node that a tensor argument would
        need.
        """
        return bool(self.schema.tensor_params)

    @cached_property
    def is_opaque(self) -> bool:
        """Whether the steps of a composite run below autograd although it has no derivative: factories that take a
        tensor, and the tests in `_OPAQUE`. PyTorch gives them one autograd kernel each, so their steps carry no
        sequence id.
        """
        return self.has_sequence_id and (
            self.base in _OPAQUE or (self.family in ("creation", "random") and self.is_factory)
        )

    @cached_property
    def unseeded(self) -> Op:
        """What an observer is told where no generator is given: PyTorch has an overload without that parameter."""
        overload = "_".join(word for word in self.overload.split("_") if word != "generator")
        arguments = self.text[self.text.index("(") :].replace("Generator? generator=None, ", "")
        text = f"{self.base}{'.' if overload else ''}{overload}{arguments}"
        return Op(
            text,
            self.family,
            self.rule,
            self.meta,
            tuple(self.numbers),
            False,
            False,
            False,
            self.namespace,
            self.no_grad,
        )

    @cached_property
    def generator_position(self) -> int:
        """The position of the generator among the arguments, if there is an overload without it; else -1."""
        return (
            next((i for i, p in enumerate(self.schema.params) if p.type == "Generator"), -1)
            if "generator" in self.overload
            else -1
        )

    @cached_property
    def is_factory(self) -> bool:
        return any(p.name == "device" and p.type == "Device" for p in self.schema.params)

    def __repr__(self) -> str:
        return f"<Op aten::{self.name}>"


def op(
    text: str,
    rule: Rule | None = None,
    *,
    meta: MetaRule | None = None,
    numbers: Sequence[str] = (),
    function: bool = True,
    method: bool = True,
    inplace: bool = False,
    out: bool | str = False,
    namespace: str = "",
    no_grad: str | None = None,
) -> Op:
    """Declares an operator.

    text       torch's schema.
    rule       input casting and output type of an elementwise op.
    meta       output rule of any other leaf op; composites need none.
    numbers    tensor arguments that take Python numbers as well ("other").
    inplace    also declare `<base>_`, which writes its result into self.
    out        the function takes `out=`; "cast" and "same" say of which type where the rule does not: see
    _dispatch/out_types.py. namespace  "linalg", "nn" ...: not in `torch` itself but there.
    no_grad    the reason why the op has no derivative.
    """
    family = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
    made = Op(text, family, rule, meta, numbers, function, method, out, namespace, no_grad)
    _add(made)
    if inplace:
        base, overload, rest = made.base, made.overload, text[text.index("(") : text.index(" -> ")]
        inplace_text = (
            f"{base}_{'.' if overload else ''}{overload}{rest.replace('Tensor self', 'Tensor(a!) self', 1)} "
            "-> Tensor(a!)"
        )
        inplace_op = Op(inplace_text, family, rule, meta, numbers, function, method, False, namespace, no_grad)
        inplace_op.inplace_of, made.inplace = made, inplace_op
        _add(inplace_op)
    return made


def _add(made: Op) -> None:
    if made.name in OPS:
        raise ValueError(f"the op {made.name} is declared twice")
    OPS[made.name] = made
    OVERLOADS.setdefault(made.base, []).append(made)


def find(name: str) -> Op:
    """The op of this full name; KeyError says which overloads there are."""
    try:
        return OPS[name]
    except KeyError:
        known = [o.name for o in OVERLOADS.get(name.partition(".")[0], [])]
        raise KeyError(f"no op {name!r} is declared; overloads of that name: {known}") from None


def all_ops() -> list[Any]:
    return list(OPS.values())
