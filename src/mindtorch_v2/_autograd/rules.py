"""Derivative rows: `derivative("mul.Tensor", self=lambda g, other: g * other, other=lambda g, self: g * self)`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .._ops import table
from .._ops.table import Op
from . import record
from .apply_code import lazy_apply
from .node import Node, Slot, unpack, view_edge

_declared_in: dict[str, dict[str, Any]] = {}  # an op's name -> the globals of the module that declares its derivative


class Derivative:
    """How one op is differentiated: which inputs have gradients, by which functions, from what saved values."""

    view_edge = staticmethod(view_edge)
    slot = Slot

    def __init__(
        self,
        op: Op,
        node_name: str,
        rows: dict[str, Callable[..., Any]],
        joint: Callable[..., Any] | None,
        inputs: Sequence[str],
        constant: Sequence[int] = (),
    ) -> None:
        self.op = op
        self.constant = frozenset(constant)  # indices of the outputs that have no gradient
        self.inputs = tuple(inputs) if joint is not None else tuple(rows)
        self.joint = joint
        self.rows = rows
        functions = [joint] if joint is not None else [rows[n] for n in self.inputs]
        self._wants = [_parameters(f)[1:] for f in functions]
        self.saved_names = tuple(dict.fromkeys(n for w in self._wants for n in w if n != "needs"))
        base = op.inplace_of or op
        self.list_inputs = {p.name for p in base.schema.params if p.is_tensor and p.is_list}
        known = (
            {p.name for p in base.schema.params} | {"result"} | {f"result{i}" for i in range(len(base.schema.returns))}
        )
        parameters = {p.name for p in base.schema.params}
        self.results = {n: int(n[6:] or 0) for n in self.saved_names if n.startswith("result") and n not in parameters}
        tensors = [p.name for p in base.schema.params if p.is_tensor]
        kinds = ("shape", "strides", "offset", "dtype", "device")
        self.facts = {f"{n}_{kind}" for n in tensors for kind in kinds} - known  # kept instead of a tensor
        unknown = [n for n in (*self.saved_names, *self.inputs) if n not in known and n not in self.facts]
        if unknown:
            raise ValueError(f"the derivative of {op.name} names {unknown}, which its schema does not have")
        self.node_class = _node_class(node_name, self)

    def needs_of(self, name: str) -> tuple[str, ...]:
        """What the gradient of this input needs saved."""
        return self._wants[0] if self.joint is not None else self._wants[self.inputs.index(name)]

    forward = staticmethod(record.forward)  # runs an op's kernel and ties its outputs to a node


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    if code is not None and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return code.co_varnames[: code.co_argcount]  # what a signature would say, a hundred times as fast
    return tuple(inspect.signature(function).parameters)


def _node_class(name: str, derivative: Derivative) -> type[Node]:
    rows = derivative.rows
    positions = {n: i for i, n in enumerate(derivative.saved_names)}
    plan = (
        [(rows[n], [positions[w] for w in derivative.needs_of(n)]) for n in derivative.inputs]
        if derivative.joint is None
        else []
    )

    if derivative.joint is not None:
        joint, wants = derivative.joint, derivative.needs_of("")

        def apply(self: Node, g: Any) -> Any:
            saved = unpack(self)
            needs = tuple(e is not None for e in self.next)
            return joint(g, *[needs if w == "needs" else saved[positions[w]] for w in wants])
    else:
        apply = lazy_apply(derivative)
    if derivative.list_inputs & set(derivative.inputs):
        apply = _with_lists(derivative, plan)  # type: ignore[assignment]
    return type(
        name,
        (Node,),
        {
            "apply": apply,
            "derivative": derivative,
            "saved_names": derivative.saved_names,
            "saves_result": any(n.startswith("result") for n in derivative.saved_names),
        },
    )


def _with_lists(derivative: Derivative, plan: list[tuple[Any, list[int]]]) -> Callable[[Node, Any], list[Any]]:
    """For ops that take lists of tensors: a row returns a list, and the edges stand one after another."""
    is_list = [n in derivative.list_inputs for n in derivative.inputs]

    def apply(self: Node, g: Any) -> list[Any]:
        saved = unpack(self)
        out: list[Any] = []
        for (f, where), spread, count in zip(plan, is_list, self.counts):
            edges = self.next[len(out) : len(out) + count]
            if all(e is None for e in edges):
                out.extend([None] * count)
                continue
            grads = f(g, *[saved[i] for i in where])
            out.extend(grads if spread else [grads])
        return out

    return apply


def default_node_name(op: Op) -> str:
    """PyTorch's name of an op's first node: `native_layer_norm` -> NativeLayerNormBackward0."""
    words = op.base.rstrip("_").split("_")
    return "".join(w[:1].upper() + w[1:] for w in words if w) + "Backward0"


def derivative(
    name: str,
    *,
    node: str = "",
    joint: Callable[..., Any] | None = None,
    inputs: Sequence[str] = (),
    constant: Sequence[int] = (),
    **rows: Callable[..., Any],
) -> None:
    """Declares how an op is differentiated; see docs/adding-an-op.md. The in-place form shares the rows. `constant`
    has the indices of the floating outputs without a gradient.
    """
    op, space = table.find(name), sys._getframe(1).f_globals
    before = op.derivative
    if before is not None and not _is_imported_anew(_declared_in.get(name, space), space):
        raise ValueError(f"the derivative of {name} is declared twice")
    _declared_in[name] = space
    op.derivative = Derivative(op, node or default_node_name(op), rows, joint, inputs, constant)
    # an in-place form with rows of its own is declared first
    if op.inplace is not None and op.inplace.derivative is before:
        op.inplace.derivative = op.derivative


def _is_imported_anew(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether these are the globals of one module, whose first import ended early: somebody pressed Ctrl-C."""
    return before is not now and before["__name__"] == now["__name__"]
