"""One Python function per op, written from its declaration when it is first asked for.

The function binds its arguments natively, unions the tensors' keys with the mode word, runs the two common cases itself
(a plain CPU call, and the same with a gradient to record), and hands everything else to the dispatcher.
"""
from __future__ import annotations

import keyword
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _device
from .. import _dtype as dt
from .._errors import wrong_argument
from .._keys import CPU, DEVICES, GRAD, NO_GRAD, OBSERVED, OUTPUTS, SPECIAL, SUBCLASS
from .._ops.documentation import docstring
from .._ops.schema import NO_DEFAULT, Param
from .._ops.table import Op
from .._quiet import copyto, quiet
from .._storage import Storage
from .._tensor import Parameter, Tensor, _new, shallow_alias, wrap
from . import modes
from .dispatcher import dispatch_below_autograd, dispatch_with_keyset
from .families import load_family
from .out_form import call_with_out, make_into
from .registry import COMPOSITES, DIRECT, INPLACE, KERNELS, SHOWN, UFUNCS
from .resolve import check_writable, explain, key_of_device, return_type, settle

if TYPE_CHECKING:
    from .fast_path import FastPath

SPACE = modes.SPACE
_PY_TYPES = {float: dt.float64, int: dt.int64, bool: dt.bool_, complex: dt.complex128}


def list_keys(tensors: Any) -> int:
    """The union of the keys of a list of tensors."""
    keys = 0
    if isinstance(tensors, Tensor):
        raise AttributeError("a tensor stands where a list of tensors is wanted")
    for t in tensors:
        keys |= t._keys
    return keys


def keys_with_holes(tensors: Any) -> int:
    """The same for a list in which None may stand."""
    return list_keys([t for t in tensors if t is not None])


def as_dtype(value: Any) -> dt.dtype:
    """A dtype from a dtype or a Python type."""
    if isinstance(value, dt.dtype):
        return value
    try:
        return _PY_TYPES[value]
    except (KeyError, TypeError):
        raise TypeError(f"dtype must be torch.dtype, not {type(value).__name__}") from None


def bad_method_argument(op: Op, args: tuple[Any, ...]) -> TypeError:
    """The same for a method, whose arguments are counted without self."""
    return bad_tensor_argument(op, args, 0)


def bad_tensor_argument(op: Op, args: tuple[Any, ...], first: int = 1) -> TypeError:
    """The error for the first argument that should have been a tensor; arguments are counted from `first`."""
    for i, (p, x) in enumerate(zip(op.schema.params, args)):
        if not p.is_tensor or (x is None and p.optional) or (isinstance(x, Tensor) and not p.is_list):
            continue
        if p.is_list:
            if not isinstance(x, (list, tuple)):
                return wrong_argument(op.base, p.name, i + first, "tuple of Tensors", x)
            for k, t in enumerate(x):
                if not isinstance(t, Tensor):
                    return TypeError(f"expected Tensor as element {k} in argument {i}, but got {type(t).__name__}")
        elif not (p.name in op.numbers and isinstance(x, (int, float, complex))):
            return wrong_argument(op.base, "input" if p.name == "self" else p.name, i + first, "Tensor", x)
    return TypeError(f"{op.base}(): arguments do not fit {op.text}")


def misused(op: Op, args: tuple[Any, ...], first: int) -> TypeError | None:
    """The error for an argument of a composite op that should have been a tensor, or None if all are."""
    def fits(p: Param, x: Any) -> bool:
        if p.is_list:
            return isinstance(x, (list, tuple)) and all(isinstance(t, Tensor) or (t is None and p.holes) for t in x)
        return isinstance(x, Tensor) or (x is None and p.optional) or (p.name in op.numbers and isinstance(x, (int, float, complex)))
    wrong = any(p.is_tensor and not fits(p, x) for p, x in zip(op.schema.params, args))
    return bad_tensor_argument(op, args, first) if wrong else None


def missing_argument(op: Op, name: str) -> TypeError:
    """The error for a required argument that was left out."""
    return TypeError(f"{op.base}() missing 1 required positional arguments: \"{name}\"")


def number_key(x: Any) -> int:
    """The keys of an argument that may be a number."""
    return x._keys if isinstance(x, Tensor) else 0 if isinstance(x, (int, float, complex, np.number, np.bool_)) else x._keys


def as_number(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def want_grad(t: Tensor) -> None:
    """What `requires_grad=True` does to a fresh tensor."""
    if not t.dtype.inexact:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    t.requires_grad_(True)


def call_pinned(call: Any, requires_grad: bool, **args: Any) -> Tensor:
    """What `pin_memory=True` does: the same call, its result in host memory that an accelerator reaches directly."""
    from .._python.tensor_methods import pinned_result
    made = pinned_result(call(**args))
    if requires_grad:
        want_grad(made)
    return made


SPACE.update(_one=1, _check_writable=check_writable, _alias=shallow_alias, _want_grad=want_grad, _call_pinned=call_pinned, _wrap=wrap,
             _Tensor=Tensor, _Parameter=Parameter, _new=_new, _nd=np.ndarray, _asarray=np.asarray, _Storage=Storage,
             _dispatch=dispatch_with_keyset, _below=dispatch_below_autograd, _list_keys=list_keys, _DT=dt.dtype, _as_dtype=as_dtype,
             _keys_with_holes=keys_with_holes, _misused=misused,
             _bad=bad_tensor_argument, _bad_method=bad_method_argument, _missing=missing_argument, _settle=settle,
             _number_key=number_key, _seq=modes.sequence, _resolve=_device.resolve, _device_key=key_of_device,
             _by_num=dt.BY_NUM, _bool=dt.bool_, _explain=explain, _with_out=call_with_out, _made_into=make_into, _copyto=copyto,
             _ident=threading.get_ident)


class Writer:
    """Writes the source of one op's call function."""

    def __init__(self, op: Op, form: str) -> None:
        load_family(op.family)
        self.op = op
        self.form = form  # "method" or "function": what the first tensor is called
        self.params = op.schema.params
        self.names = [self.python_name(i, p) for i, p in enumerate(self.params)]
        self.aliases: list[str] = []
        self.lines: list[str] = []
        self.fast: FastPath | None = None   # the inlined cases of an op with one result, once they are written
        self.only_steps = False             # whether a call is nothing but its steps
        self.composite = op.name in COMPOSITES or (op.inplace_of is not None and op.inplace_of.name in COMPOSITES
                                                   and op.name not in KERNELS)
        self.is_factory = op.is_factory
        # Public names of factories enter below autograd while they are watched; see `dispatch_below_autograd`.
        self.dispatch = f"(_below if _mode & {OBSERVED} else _dispatch)" if form == "function" and op.is_factory and \
            op.family in ("creation", "random") else "_dispatch"

    def python_name(self, i: int, p: Param) -> str:
        if p.name == "self" and self.form == "function" and all(q.name != "input" for q in self.params):
            return "input"
        return f"{p.name}_" if keyword.iskeyword(p.name) else p.name

    # --- signature ----------------------------------------------------------------------------------------------------
    def varargs(self) -> int | None:
        """The position of an int list that may be given as separate numbers: the last positional argument."""
        last = None
        for i, p in enumerate(self.params):
            if not p.keyword_only:
                last = i
        if last is None or last > 1:
            return None
        p = self.params[last]
        fits = p.type == "int" and p.is_list and p.length == 0 and p.default is NO_DEFAULT
        return last if fits and (last == 0 or self.params[0].is_tensor) else None

    def signature(self, spread: int | None) -> str:
        parts, star = [], False
        for i, (p, name) in enumerate(zip(self.params, self.names)):
            if i == spread:
                parts.append(f"*{name}")
                star = True
                continue
            if p.keyword_only and not star:
                parts.append("*")
                star = True
            required = p.default is NO_DEFAULT
            if required and p.name == "dim" and not p.keyword_only and all(
                    q.default is not NO_DEFAULT for q in self.params[i + 1:] if not q.keyword_only):
                parts.append(f"{name}=_NONE")
            else:
                parts.append(name if required else f"{name}={self.constant(p.default)}")
        extra = []
        if spread is not None:
            extra.append(f"{self.params[spread].name}=None")
            parts[spread] = f"*_{self.names[spread]}"
        if self.form == "function" and self.op.out:
            extra.append("out=None")
        if self.is_factory:
            extra.append("requires_grad=False")
            if all(p.name != "out" for p in self.params) and not (self.form == "function" and self.op.out):
                extra.append("out=None")
        for word, alias in (("dim", "axis"), ("keepdim", "keepdims")):
            if any(p.name == word for p in self.params):
                extra.append(f"{alias}=None")
                self.aliases.append(f"    if {alias} is not None: {word} = {alias}")
        if extra and not star:
            parts.append("*")
        return ", ".join([*parts, *extra])

    def constant(self, value: Any) -> str:
        return repr(value) if not isinstance(value, float) or value == value and abs(value) != float("inf") else f"float('{value}')"

    # --- body ---------------------------------------------------------------------------------------------------------
    def normalise(self, spread: int | None) -> None:
        add = self.lines.append
        self.lines.extend(self.aliases)
        if spread is not None:
            n = self.names[spread]
            add(f"    if {n} is None:")
            add(f"        if not _{n}: raise _missing(_OP, '{self.params[spread].name}')")
            add(f"        {n} = _{n}[0] if len(_{n}) == 1 and hasattr(_{n}[0], '__len__') and _{n}[0].__class__ is not _Tensor else _{n}")
        if self.is_factory and "pin_memory" in self.names and self.op.family != "movement":
            given = "".join(f", {n}={n}" for n in self.names if n != "pin_memory")
            add(f"    if pin_memory and out is None: return _call_pinned(_SELF, requires_grad{given})")
        for p, n in zip(self.params, self.names):
            if p.name == "dim" and p.default is NO_DEFAULT:
                add(f"    if {n} is _NONE: raise TypeError(\"{self.op.base}() missing 1 required positional arguments: \\\"dim\\\"\")")
            if p.type == "int" and p.is_list and p.length:
                add(f"    if {n}.__class__ is int: {n} = ({n},) * {p.length}" if p.length > 1 else
                    f"    if {n}.__class__ is int: {n} = ({n},)")
            elif p.type == "ScalarType":
                add(f"    if {n} is not None and {n}.__class__ is not _DT: {n} = _as_dtype({n})")
            elif p.type == "Device" and p.name == "device" and not self.op.schema.tensor_params:
                add(f"    {n} = _resolve({n})")

    def keys(self) -> str:
        parts = []
        for p, n in zip(self.params, self.names):
            if not p.is_tensor:
                continue
            if p.is_list:
                parts.append(f"_keys_with_holes({n})" if p.holes else f"_list_keys({n})")
            elif p.name in self.op.numbers:
                parts.append(f"(0 if {n} is None else _number_key({n}))" if p.optional else f"_number_key({n})")
            elif p.optional:
                parts.append(f"(0 if {n} is None else {n}._keys)")
            else:
                parts.append(f"{n}._keys")
        return " | ".join([*parts, "_mode"])

    def args(self) -> str:
        return "".join(f"{n}, " for n in self.names)

    def write(self) -> str:
        spread = self.varargs()
        head = f"def {self.identifier()}({self.signature(spread)}):"
        self.normalise(spread)
        add = self.lines.append
        if self.is_factory and not (self.form == "function" and self.op.out):
            add(f"    if out is not None: return _made_into(_OP, _SELF, ({self.args()}), out)")
        elif self.form == "function" and self.op.out:
            add(f"    if out is not None: return _with_out(_OP, _SELF, ({self.args()}), out)")
        if not self.op.schema.tensor_params:
            self.factory_body()
        elif self.composite and not self.has_short_cut():
            self.composite_body()
        else:
            self.leaf_body()
        answer = {"operator": "return NotImplemented  # (", "method": "raise _bad_method("}.get(self.form, "raise _bad(")
        body = [line.replace("raise _bad(", answer) for line in self.lines]
        return "\n".join([head, *body])

    def identifier(self) -> str:
        return self.op.base if self.op.base.isidentifier() and not keyword.iskeyword(self.op.base) else "call"

    def joins_a_list(self) -> bool:
        """Whether the op makes one tensor out of a list of tensors and nothing else (cat)."""
        op, first = self.op, self.params[0]
        one_out = len(op.schema.returns) == 1 and op.schema.returns[0] == "Tensor"
        return (first.is_tensor and first.is_list and len(op.schema.tensor_params) == 1 and one_out and not op.writes
                and op.rule is None and not self.is_factory and op.name in KERNELS)

    def has_short_cut(self) -> bool:
        """Whether a composite also has a CPU kernel: the inlined cases run that, as nobody watches the steps it leaves out."""
        from .fast_path import FastPath
        return self.op.name in KERNELS and (FastPath(self).possible or self.joins_a_list())

    def factory_body(self) -> None:
        add = self.lines.append
        if not self.is_factory:
            add(f"    _keys = {CPU} | _mode")
        else:
            add(f"    _keys = ({CPU} if device.type == 'cpu' else _device_key(device)) | _mode")
        if self.composite:
            add(f"    if not _mode & {OBSERVED | SPECIAL}:")
            add(f"        _t = _IMPL({self.args()})")
            add("    else:")
            add(f"        _t = {self.dispatch}(_OP, _keys, ({self.args()}))")
        elif self.op.name in KERNELS:
            add(f"    _t = _wrap(_K({self.args()})) if (_keys & {DEVICES | OBSERVED | SPECIAL}) == {CPU} else "
                f"{self.dispatch}(_OP, _keys, ({self.args()}))")
        else:
            add(f"    _t = {self.dispatch}(_OP, _keys, ({self.args()}))")
        if self.is_factory:
            add("    if requires_grad: _want_grad(_t)")
        add("    return _t")

    def ask_subclasses(self) -> None:
        """Behind the fast paths: instances of subclasses are asked, or taken as plain tensors."""
        self.lines += [f"    if _keys & {SUBCLASS}:",
                       f"        if not _state.subclasses_are_plain: return _override(_OP, _FORM, ({self.args()}))",
                       f"        _keys &= ~{SUBCLASS}"]

    def composite_body(self) -> None:
        add = self.lines.append
        add(f"    if _overridden and _asks(({self.args()})): return _override(_OP, _FORM, ({self.args()}))")
        if self.op.derivative is None:
            add(f"    if not _mode & {OBSERVED | SPECIAL}" + (":" if not self.is_factory else " and not requires_grad:"))
            add("        try:")
            add(f"            return _IMPL({self.args()})")
            add("        except (AttributeError, TypeError):")
            add(f"            if (_e := _misused(_OP, ({self.args()}), {int(self.form == 'function')})) is not None: raise _e from None")
            add("            raise")
            self.observed_composite()
            self.only_steps = not self.is_factory and self.op.name in COMPOSITES
        add("    try:")
        add(f"        _keys = {self.keys()}")
        add("    except AttributeError:")
        add(f"        raise _bad(_OP, ({self.args()})) from None")
        add(f"    _keys &= ~{SUBCLASS}")
        if self.op.derivative is not None:
            add(f"    if _keys & {NO_GRAD}: _keys = _keys & ~{NO_GRAD} if _state.grad else _keys & ~{NO_GRAD | GRAD}")
            add(f"    if not _keys & {GRAD | NO_GRAD | OBSERVED | SPECIAL}:")
            add(f"        return _IMPL({self.args()})")
        if self.is_factory:
            add(f"    _t = {self.dispatch}(_OP, _keys, ({self.args()}))")
            add("    if requires_grad: _want_grad(_t)")
            add("    return _t")
        else:
            add(f"    return {self.dispatch}(_OP, _keys, ({self.args()}))")

    def observed_composite(self) -> None:
        """The steps of an op without a derivative of its own, inside its event."""
        add = self.lines.append
        if self.op.is_opaque:   # the dispatcher runs the steps below autograd
            return
        add(f"    if (_mode & {OUTPUTS | OBSERVED | SPECIAL}) == {OBSERVED} and (_p := _obs) is not None"
            + (" and not requires_grad:" if self.is_factory else ":"))
        add(f"        return _p[2](_OP, ({self.args()}), -1 if _mode & {NO_GRAD} and not _state.grad else _seq[0], _IMPL, {self.args()})")

    def leaf_body(self) -> None:
        from .fast_path import FastPath
        from .fast_path_several import FastPathOfSeveral
        add = self.lines.append
        fast = FastPath(self) if len(self.op.schema.returns) == 1 else FastPathOfSeveral(self)
        if not fast.possible:
            add("    try:")
            add(f"        _keys = {self.keys()}")
            add("    except AttributeError:")
            add(f"        raise _bad(_OP, ({self.args()})) from None")
            if self.joins_a_list():
                rest = "".join(f", {n}" for n in self.names[1:])
                add(f"    if (_keys & {SUBCLASS | DEVICES | OBSERVED | SPECIAL}) == {CPU} and not (_keys & {GRAD} and _state.grad):")
                add(f"        return _wrap(_K([_x._array for _x in {self.names[0]}]{rest}))")
        else:
            fast.write()
            self.fast = fast if len(self.op.schema.returns) == 1 else None
        self.ask_subclasses()
        if self.is_factory:
            add(f"    _t = {self.dispatch}(_OP, _keys, ({self.args()}))")
            add("    if requires_grad: _want_grad(_t)")
            add("    return _t")
        else:
            add(f"    return _dispatch(_OP, _keys, ({self.args()}))")


_NONE = type("Missing", (), {"__repr__": lambda self: "<required>"})()


def inplace_writer(op: Op) -> Any:
    """A function that writes an in-place twin's result into its first array, or None."""
    source = op.inplace_of
    if source is None or source.name in COMPOSITES or (op.rule is not None and op.rule.out == "bool"):
        return None
    if source.name in INPLACE:
        return INPLACE[source.name]
    ufunc = UFUNCS.get(source.name)
    if ufunc is not None:
        n = ufunc.nin
        return quiet((lambda a, *rest: ufunc(a, out=a)) if n == 1 else (lambda a, b, *rest: ufunc(a, b, out=a)))
    return None


_SHOWN_AS = {"log_sigmoid": "logsigmoid"}   # in nn.functional


def publish(call: Any, op: Op, form: str) -> None:
    """Names a function after the place where programs find it, by which it is pickled."""
    call.__module__ = "mindtorch_v2"
    if form == "method":
        call.__qualname__ = f"Tensor.{op.base}"
    elif op.namespace == "nn" or op.base in _SHOWN_AS:
        call.__module__, call.__qualname__ = "mindtorch_v2.nn.functional", _SHOWN_AS.get(op.base, op.base)
    elif op.namespace:
        call.__module__, call.__qualname__ = f"mindtorch_v2.{op.namespace}", op.base.removeprefix(f"{op.namespace}_")
    else:
        call.__qualname__ = op.base


def make_call(op: Op, form: str) -> Any:
    """The call function of an op; `form` is "method" or "function"."""
    from .native_call import native_call
    writer = Writer(op, form)
    source = writer.write()
    derivative = op.derivative
    constants = {
        "_OP": op, "_NONE": _NONE, "_FORM": form,
        "_IMPL": COMPOSITES.get(op.name) or (op.inplace_of and COMPOSITES.get(op.inplace_of.name) and _inplace_impl(op)),
        "_K": KERNELS.get(op.name),
        "_KD": DIRECT.get(op.name),
        "_KI": inplace_writer(op),
        "_SHOWN": SHOWN.get(op.name),
        "_NODE": None if derivative is None else derivative.node_class,
        "_view_edge": None if derivative is None else derivative.view_edge,
        "_versions": None if derivative is None else derivative.versions_of,
        "_Slot": None if derivative is None else derivative.slot,
        "_NT": return_type(op),
    }
    body = "\n".join("    " + line for line in source.splitlines())
    name = source[4:source.index("(")]
    text = f"def _make({', '.join(constants)}):\n{body}\n    _SELF = {name}\n    return {name}\n"
    local: dict[str, Any] = {}
    exec(compile(text, f"<mindtorch_v2 op {op.name}>", "exec"), SPACE, local)
    call = local["_make"](**constants)
    publish(call, op, form)
    call.__doc__ = docstring(op.base, form)
    return native_call(writer, call)


def _inplace_impl(op: Op) -> Any:
    from .resolve import backend_kernel
    op.is_composite = True
    return backend_kernel(op, 1, ())
