"""The inlined common cases of a generated call function: a plain CPU call, with or without a gradient to record."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._keys import CPU, DEVICES, GRAD, NO_GRAD, OBSERVED
from .registry import ALLOCATES_INSIDE, COMPOSITES, DIRECT, KERNELS, SHOWN, STEPWISE
from .resolve import joins_layouts

if TYPE_CHECKING:
    from .codegen import Writer

_RETYPING_VIEWS = ("view_as_real", "view_as_complex", "real", "imag")  # views whose elements have another type


class FastPath:
    """Adds the fast branches of a leaf op to a Writer's lines.

    They apply when every tensor lives on the CPU and has the type that the op's rule would cast to, so that the kernel can
    be called on the arrays as they are.
    """

    def __init__(self, writer: Writer) -> None:
        self.w = writer
        op = writer.op
        self.op = op
        self.inplace = op.inplace_of is not None
        self.tensors = [(p, n) for p, n in zip(writer.params, writer.names) if p.is_tensor]
        simple = all(not p.is_list for p, _ in self.tensors) and len(self.tensors) > 0
        single = len(op.schema.returns) == 1 and not op.schema.returns_list and op.schema.returns[0].startswith("Tensor")
        numbers = [(p, n) for p, n in self.tensors if p.name in op.numbers]
        self.number = numbers[-1][1] if numbers else None   # the one that may be a number on the fast path
        self.number_names = {numbers[-1][0].name} if numbers else set()
        many_numbers = len(numbers) > 2 or (len(numbers) == 2 and numbers[0][0] is not writer.params[0])
        has_kernel = op.name in KERNELS and not op.writes
        if self.inplace:
            from .codegen import inplace_writer
            has_kernel = inplace_writer(op) is not None
        first_is_plain = bool(self.tensors) and writer.params[0].is_tensor and not self.tensors[0][0].optional \
            and self.tensors[0][1] != self.number
        self.possible = simple and single and has_kernel and not many_numbers and first_is_plain and not writer.is_factory

    @property
    def first(self) -> str:
        return self.tensors[0][1]

    def write(self) -> None:
        add = self.w.lines.append
        self.write_keys()
        cond = " and _ok" if self.number else self.type_condition()
        add("    while 1:")
        add(f"        if _keys == {CPU}{cond}:")
        pad = " " * 12
        self.write_call(pad)
        if not self.inplace:
            self.write_wrap(pad, keys="1")
            add(f"{pad}return _t")
            if self.records():
                add(f"        if _keys == {CPU | GRAD}{cond}:")
                self.write_call(pad)
                self.write_wrap(pad, keys="9")
                self.write_record(pad)
                add(f"{pad}return _t")
        self.write_modes(cond)

    # --- what the mode word says --------------------------------------------------------------------------------------
    def shows_steps(self) -> bool:
        """Whether an observed call consists of steps that an observer sees."""
        name, source = self.op.name, self.op.inplace_of
        return name in STEPWISE or name in COMPOSITES or (source is not None and source.name in COMPOSITES)

    def write_modes(self, cond: str) -> None:
        """Ends the loop over the plain cases: it runs again once the thread's gradient mode is settled. Then the same cases
        with an observer told about them. Comparing comes before masking, which takes three times as long."""
        add = self.w.lines.append
        add(f"        _m = _keys & {NO_GRAD | OBSERVED}")
        add("        if _m != 16: break")
        add(f"        _keys = _keys & ~{NO_GRAD} if _state.grad else _keys & ~{NO_GRAD | GRAD}")
        if self.shows_steps() and self.op.name not in SHOWN:
            return
        add("    if _m > 16 and (_p := _obs) is not None:")
        add("        if _m == 32: _q = _seq[0]")
        add(f"        elif _state.grad: _keys &= ~{NO_GRAD}; _q = _seq[0]")
        add(f"        else: _keys &= ~{NO_GRAD | GRAD}; _q = -1")
        keys = f"(_keys == {CPU | OBSERVED} or _keys == {CPU | GRAD | OBSERVED})" if self.records() else f"_keys == {CPU | OBSERVED}"
        steps = " and _watch is None" if self.op.name in ALLOCATES_INSIDE else ""
        add(f"        if {keys}{cond}{steps}:")
        self.write_observed(" " * 12)

    def write_observed(self, pad: str) -> None:
        """One case for calls with and without a gradient to record. Memory is reported when the tensor has its storage."""
        add = self.w.lines.append
        add(f"{pad}_p[0](_OP, ({self.w.args()}), _q)")
        add(f"{pad}try:")
        inner = pad + "    "
        self.write_call(inner, observed=True)
        if not self.inplace:
            self.write_wrap(inner, keys="1")
            if self.records():
                add(f"{inner}if _keys == {CPU | GRAD | OBSERVED}:")
                add(f"{inner}    _t._keys = {CPU | GRAD}")
                self.write_record(inner + "    ", observed=True)
            self.write_watch(inner)
            add(f"{inner}return _t")
        add(f"{pad}finally:")
        add(f"{pad}    _p[1]()")

    def write_watch(self, pad: str) -> None:
        if not self.op.is_view:
            self.w.lines.append(f"{pad}if _watch is not None: _watch(_t)")

    # --- keys and conditions ------------------------------------------------------------------------------------------
    def casting_tensors(self) -> list[str]:
        """Names of the required tensors that the rule brings to one type."""
        rule = self.op.rule
        if rule is None or rule.cast is None:
            return []
        return [n for p, n in self.tensors if rule.names is None or p.name in rule.names]

    def casting_numbers(self) -> list[str]:
        """Names of the numbers that the rule counts among what it brings to one type."""
        rule = self.op.rule
        if rule is None or rule.cast is None or rule.names is None:
            return []
        return [n for p, n in zip(self.w.params, self.w.names) if p.type == "Scalar" and p.name in rule.names]

    def type_condition(self, skip: str | None = None) -> str:
        names = [n for n in self.casting_tensors() if n != skip]
        optional = {n for p, n in self.tensors if p.optional}
        parts = []
        if names:
            lead = names[0]
            for n in names[1:]:
                parts.append(f"({n} is None or {lead}.dtype is {n}.dtype)" if n in optional else f"{lead}.dtype is {n}.dtype")
            if self.op.rule is not None and (self.op.rule.cast == "float" or self.casting_numbers()):
                parts.append(f"{lead}.dtype.inexact")
            # A real number leaves a floating type as it is; everything else is for the general path.
            parts.extend(f"({n}.__class__ is float or {n}.__class__ is int or {n} is None)" for n in self.casting_numbers())
        return "".join(f" and {p}" for p in parts)

    def write_keys(self) -> None:
        add = self.w.lines.append
        args = self.w.args()
        if self.number is None:
            add("    try:")
            add(f"        _keys = {self.w.keys()}")
            add("    except AttributeError:")
            add(f"        raise _bad(_OP, ({args})) from None")
            return
        n = self.number
        others = [f"{m}._keys" if not p.optional else f"(0 if {m} is None else {m}._keys)" for p, m in self.tensors if m != n]
        with_tensor = self.type_condition().removeprefix(" and ") or "True"
        lead = self.casting_tensors()[0] if self.casting_tensors() else self.first
        with_number = self.type_condition(skip=n).removeprefix(" and ") or "True"
        add("    try:")
        add(f"        _c = {n}.__class__")
        add("        if _c is _Tensor or _c is _Parameter:")
        add(f"            _keys = {' | '.join([*others, f'{n}._keys', '_mode'])}")
        add(f"            _b = {n}._array")
        add(f"            _ok = {with_tensor}")
        add("        elif _c is float or _c is int:")
        add(f"            _keys = {' | '.join([*others, '_mode'])}")
        add(f"            _b = {n}")
        add(f"            _ok = {lead}.dtype.inexact and {with_number}")
        add("        else:")
        add(f"            _keys = {' | '.join([*others, f'_number_key({n})', '_mode'])}")
        add("            _ok = False")
        add("    except AttributeError:")
        if self.w.params[0].name in self.op.numbers:
            add("        try:")
            add(f"            _keys = {self.w.keys()}")
            add(f"            if not _keys & {DEVICES}: _keys |= {CPU}")
            add("            _ok = False")
            add("        except AttributeError:")
            add("    " + f"        raise _bad(_OP, ({args})) from None")
        else:
            add(f"        raise _bad(_OP, ({args})) from None")

    # --- the call -----------------------------------------------------------------------------------------------------
    def array_args(self) -> str:
        out = []
        for p, n in zip(self.w.params, self.w.names):
            if not p.is_tensor:
                out.append(n)
            elif n == self.number:
                out.append("_b")
            elif p.optional:
                out.append(f"None if {n} is None else {n}._array")
            else:
                out.append(f"{n}._array")
        return ", ".join(out)

    def kernel_call(self) -> str:
        """The kernel on the arrays; its direct form where all other arguments have their defaults."""
        plain = f"_K({self.array_args()})"
        if self.op.name not in DIRECT:
            return plain
        others = [(p, n) for p, n in zip(self.w.params, self.w.names) if not p.is_tensor]
        arrays = ", ".join("_b" if n == self.number else f"{n}._array" for _, n in self.tensors)
        unset = " and ".join(self.is_unset(p.default, n) for p, n in others)
        return f"_KD({arrays}) if {unset} else {plain}" if unset else f"_KD({arrays})"

    def is_unset(self, default: Any, name: str) -> str:
        """Tests whether an argument was left at its default. For 1 by identity: True equals it, but is another object."""
        if default.__class__ is int and default == 1:
            return f"{name} is _one"
        return f"{name} == {default!r}"

    def write_call(self, pad: str, observed: bool = False) -> None:
        add = self.w.lines.append
        args = self.w.args()
        if self.inplace:  # only memory that another array owns can be repeated or read-only
            add(f"{pad}if {self.first}._array.base is not None: _check_writable({self.first})")
        add(f"{pad}try:")
        if observed and self.shows_steps():
            add(f"{pad}    _r = _SHOWN(_p, _q, {'_KI' if self.inplace else '_K'}, {args})")
        elif self.inplace:
            add(f"{pad}    _KI({self.array_args()})")
        else:
            add(f"{pad}    _r = {self.kernel_call()}")
        add(f"{pad}except ValueError as _error:")
        add(f"{pad}    raise _explain(_OP, ({args}), _error) from None")
        if self.inplace:
            add(f"{pad}_s = {self.first}._storage")
            add(f"{pad}if _s is None: _s = {self.first}._storage = _Storage()")
            add(f"{pad}_s.version += 1")
            add(f"{pad}return {self.first}")
        elif not self.op.is_view:
            add(f"{pad}if _r.__class__ is not _nd: _r = _asarray(_r)")
            if joins_layouts(self.op):
                add(f"{pad}if {self.first}._array.strides != _r.strides: _r = _settle(_r, ({self.array_args()},))")

    def result_type(self) -> str:
        rule = self.op.rule
        if rule is None or rule.out == "numpy":
            retypes = self.op.overload == "dtype" or self.op.base in _RETYPING_VIEWS
            return f"{self.first}.dtype" if self.op.is_view and not retypes else "_by_num[_r.dtype.num]"
        if rule.out == "bool":
            return "_bool"
        casting = self.casting_tensors()
        return f"{casting[0] if casting else self.first}.dtype"

    def write_wrap(self, pad: str, keys: str) -> None:
        add = self.w.lines.append
        add(f"{pad}_t = _new(_Tensor)")
        add(f"{pad}_t._array = _r")
        add(f"{pad}_t._keys = {keys}")
        add(f"{pad}_t.dtype = _d = {self.result_type()}")
        if self.op.is_view:
            f = self.first
            add(f"{pad}_s = {f}._storage")
            add(f"{pad}if _s is None: _s = {f}._storage = _Storage()")
            add(f"{pad}_t._storage = _s")
            if self.op.no_grad is None:  # what leaves the graph, as detach does, is no view for autograd
                add(f"{pad}_t._base = {f} if {f}._base is None else {f}._base")
                add(f"{pad}_t._view_version = _s.version")
        elif keys == "9":
            add(f"{pad}_t._storage = None")
            add(f"{pad}_t._base = None")

    # --- recording ----------------------------------------------------------------------------------------------------
    def records(self) -> bool:
        d = self.op.derivative
        return d is not None and not self.inplace and (self.op.rule is None or self.op.rule.out != "bool")

    def write_record(self, pad: str, observed: bool = False) -> None:
        add = self.w.lines.append
        by_name = {p.name: n for p, n in zip(self.w.params, self.w.names)}
        if any(p.type == "ScalarType" for p in self.w.params):  # x.sum(dtype=torch.int64) cannot be differentiated
            add(f"{pad}if not _d.inexact:")
            self.write_constant(pad + "    ", observed)
        edges = self.write_edges(pad, by_name)
        if len(self.tensors) > 1:
            add(f"{pad}if {' and '.join(f'{e} is None' for e in edges.values())}:")
            self.write_constant(pad + "    ", observed)
        add(f"{pad}_n = _NODE()")
        if observed:
            add(f"{pad}_n.forward_thread = _ident()")
        add(f"{pad}_n.next = ({''.join(f'{e}, ' for e in edges.values())})")
        self.write_saved(pad, by_name, edges)
        add(f"{pad}_n.seq = _seq[0]")
        add(f"{pad}_seq[0] += 1")
        add(f"{pad}_n.shape = _r.shape")
        add(f"{pad}_n.dtype = _d")
        add(f"{pad}_t._edge = _n")

    def write_constant(self, pad: str, observed: bool) -> None:
        """Returns the result as one that has no gradient."""
        self.w.lines.append(f"{pad}_t._keys = {CPU}")
        if observed:
            self.write_watch(pad)
        self.w.lines.append(f"{pad}return _t")

    def write_edges(self, pad: str, by_name: dict[str, str]) -> dict[str, str]:
        """Finds where the gradient of each differentiable input goes; the names of the variables that hold it."""
        add = self.w.lines.append
        optional = {p.name for p, _ in self.tensors if p.optional} | self.number_names
        edges = {}
        for i, name in enumerate(self.op.derivative.inputs):
            n = by_name[name]
            edge = f"({n}._edge or ({n} if {n}._keys & {GRAD} else None)) if {n}._base is None else _view_edge({n})"
            if name in optional:
                guard = "_c is _Tensor or _c is _Parameter" if n == self.number else f"{n} is not None"
                edge = f"({edge}) if {guard} else None"
            edges[name] = f"_e{i}"
            add(f"{pad}_e{i} = {edge}")
        return edges

    def write_saved(self, pad: str, by_name: dict[str, str], edges: dict[str, str]) -> None:
        add = self.w.lines.append
        d = self.op.derivative
        if not d.saved_names:
            return
        tensor_names = {p.name for p, _ in self.tensors}
        parts, stores = [], []
        for name in d.saved_names:
            if name == "result":
                add(f"{pad}_o = _new(_Tensor)")
                add(f"{pad}_o._array = _r; _o._keys = {CPU}; _o.dtype = _d")
                if self.op.is_view:
                    add(f"{pad}_o._storage = _t._storage")
                else:
                    add(f"{pad}_o._storage = _t._storage = _Storage()")
                parts.append("_o")
                continue
            if name in d.facts:
                word, _, what = name.rpartition("_")
                n = by_name[word]
                fact = f"{n}.{what}" if what in ("dtype", "device") else f"{n}.storage_offset()" if what == "offset" \
                    else f"{n}._array.{what}"
                sure = word not in self.op.numbers and not next(p for p, _ in self.tensors if p.name == word).optional
                parts.append(fact if sure else f"{fact} if hasattr({n}, '_array') else {None if what in ('dtype', 'device') else ()}")
                continue
            n = by_name[name]
            users = [edges[i] for i in d.inputs if name in d.needs_of(i)]
            if name in tensor_names and len(users) < len(edges):
                n = f"{n} if {' or '.join(f'{e} is not None' for e in users)} else None"
            parts.append(n)
            if name in tensor_names and name not in self.number_names and not next(p for p, _ in self.tensors if p.name == name).optional:
                stores.append(f"{by_name[name]}._storage is not None")
            elif name in tensor_names:
                stores.append(f"getattr({by_name[name]}, '_storage', None) is not None")
        add(f"{pad}_n.saved = ({''.join(f'{p}, ' for p in parts)})")
        if stores:
            add(f"{pad}if {' or '.join(stores)}: _n.versions = _versions(_n.saved)")
