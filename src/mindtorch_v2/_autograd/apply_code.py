"""The function that applies a node's rows, written out for its number of inputs and saved values when it first runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._dispatch import modes
from .._dispatch.loading import call_as_loading
from .._storage import native
from .._tensor import Parameter, Tensor
from .node import Node, Packed, saved_of, unpack

if TYPE_CHECKING:
    from .rules import Derivative


def lazy_apply(derivative: Derivative) -> Any:
    """An `apply` that replaces itself on its class by compiled code."""

    def apply(self: Node, g: Any) -> Any:
        made = call_as_loading(f"derivative of {derivative.op.event}", compile_apply, derivative)
        type(self).apply = made  # type: ignore[method-assign]
        return made(self, g)

    return apply


def compile_apply(derivative: Derivative) -> Any:
    """`apply(self, g)` for a node whose inputs each have a row: a list of gradients, None where none is wanted."""
    names = derivative.saved_names
    local = {n: f"v{i}" for i, n in enumerate(names)}
    lines = ["def apply(self, g):"]
    if names:
        lines += _load(derivative, local)
    edges = [f"e{i}" for i in range(len(derivative.inputs))]
    calls = [
        f"f{i}(g{''.join(', ' + local[n] for n in derivative.needs_of(name))})"
        for i, name in enumerate(derivative.inputs)
    ]
    if len(edges) == 1:
        lines.append(f"    return [{calls[0]}]")
    else:
        lines.append(f"    {', '.join(edges)} = self.next")
        lines.append(f"    return [{', '.join(f'None if {e} is None else {c}' for e, c in zip(edges, calls))}]")
    space: dict[str, Any] = {f"f{i}": derivative.rows[n] for i, n in enumerate(derivative.inputs)}
    space.update(unpack=unpack, saved_of=saved_of, state=modes.state, Packed=Packed, Tensor=Tensor, Parameter=Parameter)
    exec(compile("\n".join(lines), f"<mindtorch_v2 derivative of {derivative.op.name}>", "exec"), space)
    return space["apply"]


def _load(derivative: Derivative, local: dict[str, str]) -> list[str]:
    """Unpacks the saved values; `unpack` does it where something is out of the ordinary: freed values, changed or
    hooked tensors, outputs that need their history back.
    """
    targets = "".join(f"{v}, " for v in local.values())
    if native is not None:
        return [f"    {targets}= {'unpack(self) if state.grad else ' * bool(derivative.results)}saved_of(self)"]
    base = derivative.op.inplace_of or derivative.op
    tensors = {p.name for p in base.schema.params if p.is_tensor and not p.is_list} | set(derivative.results)
    unusual = ["saved is None", "self.versions is not None"]
    if derivative.results:
        unusual.append("state.grad")
    checked = [local[n] for n in derivative.saved_names if n in tensors]
    lines = [
        "    saved = self.saved",
        f"    if {' or '.join(unusual)}:",
        f"        {targets}= unpack(self)",
        "    else:",
        f"        {targets}= saved",
    ]
    for v in checked:
        lines += [
            f"        if {v}.__class__ is Tensor or {v}.__class__ is Parameter:",
            f"            s = {v}._storage",
            f"            if s is not None and s.version: {targets}= unpack(self)",
            f"        elif {v}.__class__ is Packed: {targets}= unpack(self)",
        ]
    return lines
