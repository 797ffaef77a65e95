"""Call functions: one Python function per op, whose signature is written from the op's declaration.

Python itself binds the arguments. What is written here brings them into form (`axis` for `dim`, one number for a
pair, sizes given one by one), serves `out=`, `requires_grad=` and `pin_memory=`, and hands the arguments in the
order of the schema to the function that
`call.py` makes of the op's plan.
"""

from __future__ import annotations

import keyword
from typing import Any

from .. import _device
from .. import _dtype as dt
from .._ops.documentation import docstring
from .._ops.schema import NO_DEFAULT, Param
from .._ops.table import Op
from .._tensor import Tensor
from .call import runner
from .native_call import native_call
from .out_form import call_with_out, make_into
from .plan import ArgumentKind, CallPlan, plan_of, spread_position
from .resolve import prepare

_PY_TYPES = {float: dt.float64, int: dt.int64, bool: dt.bool_, complex: dt.complex128}
_REQUIRED = type("Missing", (), {"__repr__": lambda self: "<required>"})()
_PUBLISHED_AS = {"log_sigmoid": "logsigmoid"}  # in nn.functional


def as_dtype(value: Any) -> dt.dtype:
    """A dtype from a dtype or a Python type."""
    if isinstance(value, dt.dtype):
        return value
    try:
        return _PY_TYPES[value]
    except (KeyError, TypeError):
        raise TypeError(f"dtype must be torch.dtype, not {type(value).__name__}") from None


def _missing_argument(op: Op, name: str) -> TypeError:
    """The error for a required argument that was left out."""
    return TypeError(f'{op.base}() missing 1 required positional arguments: "{name}"')


def _want_grad(t: Tensor) -> None:
    """What `requires_grad=True` does to a fresh tensor."""
    if not t.dtype.inexact:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    t.requires_grad_(True)


def _call_pinned(call: Any, requires_grad: bool, **args: Any) -> Tensor:
    """What `pin_memory=True` does: the same call, its result in host memory that an accelerator reaches directly."""
    from .._python.memory_methods import pinned_result

    made = pinned_result(call(**args))
    if requires_grad:
        _want_grad(made)
    return made


_SPACE: dict[str, Any] = {
    "_DT": dt.dtype,
    "_as_dtype": as_dtype,
    "_missing": _missing_argument,
    "_want_grad": _want_grad,
    "_call_pinned": _call_pinned,
    "_resolve": _device.resolve,
    "_with_out": call_with_out,
    "_into": make_into,
    "_Tensor": Tensor,
    "_REQUIRED": _REQUIRED,
}


class Signature:
    """The source of one op's call function. `form` is "method", "function" or "operator": what the first tensor is
    called, whether
    `out=` is taken, and how misuse is told."""

    def __init__(self, plan: CallPlan, form: str) -> None:
        self.plan, self.op, self.form = plan, plan.op, form
        self.params = plan.op.schema.params
        self.names = [self._python_name(p) for p in self.params]
        self.spread = spread_position(plan.op)
        self.takes_out = form == "function" and bool(plan.op.out)
        words = {p.name for p in self.params}
        self.aliases = [(word, alias) for word, alias in (("dim", "axis"), ("keepdim", "keepdims")) if word in words]

    def _python_name(self, p: Param) -> str:
        if p.name == "self" and self.form == "function" and all(q.name != "input" for q in self.params):
            return "input"
        return f"{p.name}_" if keyword.iskeyword(p.name) else p.name

    # --- the head
    def head(self) -> str:
        parts, star = [], False
        for i, (p, name) in enumerate(zip(self.params, self.names)):
            if i == self.spread:
                parts.append(f"*_{name}")
                star = True
                continue
            if p.keyword_only and not star:
                parts.append("*")
                star = True
            parts.append(self._parameter(i, p, name))
        extra = self._further_names()
        if extra and not star:
            parts.append("*")
        return ", ".join([*parts, *extra])

    def _parameter(self, i: int, p: Param, name: str) -> str:
        if p.default is not NO_DEFAULT:
            return f"{name}={_constant(p.default)}"
        rest = [q for q in self.params[i + 1 :] if not q.keyword_only]
        if p.name == "dim" and not p.keyword_only and all(q.default is not NO_DEFAULT for q in rest):
            return f"{name}=_REQUIRED"  # it may be given as `axis`
        return name

    def _further_names(self) -> list[str]:
        """Names that the schema does not have."""
        extra = [] if self.spread is None else [f"{self.params[self.spread].name}=None"]
        if self.takes_out:
            extra.append("out=None")
        if self.op.is_factory:
            extra.append("requires_grad=False")
            if not self.takes_out and all(p.name != "out" for p in self.params):
                extra.append("out=None")
        return [*extra, *(f"{alias}=None" for _, alias in self.aliases)]

    # --- the body
    def body(self) -> list[str]:
        lines = [f"    if {alias} is not None: {word} = {alias}" for word, alias in self.aliases]
        if self.spread is not None:
            lines += self._size_lines(self.names[self.spread], self.params[self.spread].name)
        args = "".join(f"{n}, " for n in self.names)
        if any(a.kind == ArgumentKind.UNSET for a in self.plan.arguments):
            given = "".join(f", {n}={n}" for n in self.names if n != "pin_memory")
            lines.append(f"    if pin_memory and out is None: return _call_pinned(_SELF, requires_grad{given})")
        for p, n in zip(self.params, self.names):
            lines += self._conversion_lines(p, n)
        if self.takes_out:
            lines.append(f"    if out is not None: return _with_out(_OP, _SELF, ({args}), out)")
        elif self.op.is_factory:
            lines.append(f"    if out is not None: return _into(_OP, _SELF, ({args}), out)")
        if not self.op.is_factory:
            return [*lines, f"    return _RUN(({args}))"]
        return [*lines, f"    _made = _RUN(({args}))", "    if requires_grad: _want_grad(_made)", "    return _made"]

    def _size_lines(self, n: str, word: str) -> list[str]:
        """Sizes that were given one by one, or as one list."""
        return [
            f"    if {n} is None:",
            f"        if not _{n}: raise _missing(_OP, '{word}')",
            f"        {n} = _{n}[0] if len(_{n}) == 1 and hasattr(_{n}[0], '__len__') and _{n}[0].__class__ is not "
            f"_Tensor else _{n}",
        ]

    def _conversion_lines(self, p: Param, n: str) -> list[str]:
        lines = []
        if p.name == "dim" and p.default is NO_DEFAULT:
            lines.append(f"    if {n} is _REQUIRED: raise _missing(_OP, 'dim')")
        if p.type == "int" and p.is_list and p.length:
            lines.append(f"    if {n}.__class__ is int: {n} = ({n},)" + (f" * {p.length}" if p.length > 1 else ""))
        elif p.type == "ScalarType":
            lines.append(f"    if {n} is not None and {n}.__class__ is not _DT: {n} = _as_dtype({n})")
        elif p.type == "Device" and p.name == "device" and not self.op.schema.tensor_params:
            lines.append(f"    {n} = _resolve({n})")
        return lines

    def function(self) -> Any:
        """The compiled function."""
        base = self.op.base
        name = base if base.isidentifier() and not keyword.iskeyword(base) else "call"
        lines = [
            "def _make(_OP, _RUN):",
            f"    def {name}({self.head()}):",
            *("    " + line for line in self.body()),
            f"    _SELF = {name}",
            f"    return {name}",
        ]
        local: dict[str, Any] = {}
        exec(compile("\n".join(lines), f"<mindtorch_v2 op {self.op.name}>", "exec"), _SPACE, local)
        return local["_make"](self.op, runner(self.plan, self.form))


def _constant(value: Any) -> str:
    return (
        repr(value)
        if not isinstance(value, float) or value == value and abs(value) != float("inf")
        else f"float('{value}')"
    )


def publish(call: Any, op: Op, form: str) -> None:
    """Gives a function the module and name under which programs find it, by which it is pickled."""
    call.__module__ = "mindtorch_v2"
    if form == "method":
        call.__qualname__ = f"Tensor.{op.base}"
    elif op.namespace == "nn" or op.base in _PUBLISHED_AS:
        call.__module__, call.__qualname__ = "mindtorch_v2.nn.functional", _PUBLISHED_AS.get(op.base, op.base)
    elif op.namespace:
        call.__module__, call.__qualname__ = f"mindtorch_v2.{op.namespace}", op.base.removeprefix(f"{op.namespace}_")
    else:
        call.__qualname__ = op.base


def make_call(op: Op, form: str) -> Any:
    """The call function of an op: in C where there is a native core, with the Python function as its fallback."""
    signature = Signature(plan_of(op), form)
    prepare(op)
    function = signature.function()
    publish(function, op, form)
    function.__doc__ = docstring(op.base, form)
    return native_call(signature.plan, signature.names, form, function)
