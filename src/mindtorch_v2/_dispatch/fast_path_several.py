"""The inlined common cases of ops with several outputs, such as `max.dim` or `nll_loss_forward`."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .._keys import CPU, GRAD, OBSERVED
from .fast_path import FastPath
from .registry import KERNELS

if TYPE_CHECKING:
    from .codegen import Writer


class FastPathOfSeveral(FastPath):
    """As FastPath, for a leaf op that returns a tuple of tensors (some may be None)."""

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        op = writer.op
        self.count = len(op.schema.returns)
        tensors = all(not p.is_list for p, _ in self.tensors) and writer.params[0].is_tensor and not writer.params[0].optional
        outputs = self.count > 1 and all(r == "Tensor" for r in op.schema.returns)
        plain = op.rule is None and not op.numbers and not op.writes and not op.is_view and not writer.is_factory
        self.possible = tensors and outputs and plain and op.name in KERNELS

    @property
    def made(self) -> str:
        return ", ".join(f"_t{i}" for i in range(self.count))

    def write(self) -> None:
        add = self.w.lines.append
        self.write_keys()
        add("    while 1:")
        add(f"        if _keys == {CPU}" + (f" or _keys == {CPU | GRAD}:" if self.records() else ":"))
        self.write_outputs(" " * 12)
        if self.records():
            add(f"            if _keys == {CPU | GRAD}:")
            self.write_record(" " * 16)
        add(f"            return _NT({self.made})")
        self.write_modes("")

    def write_outputs(self, pad: str) -> None:
        """Runs the kernel and makes tensors of what it returns."""
        add = self.w.lines.append
        add(f"{pad}try:")
        add(f"{pad}    {self.made} = _K({self.array_args()})")
        add(f"{pad}except ValueError as _error:")
        add(f"{pad}    raise _explain(_OP, ({self.w.args()}), _error) from None")
        for i in range(self.count):
            add(f"{pad}if _t{i} is not None: _t{i} = _wrap(_t{i})")

    def write_observed(self, pad: str) -> None:
        add = self.w.lines.append
        add(f"{pad}_p[0](_OP, ({self.w.args()}), _q)")
        add(f"{pad}try:")
        self.write_outputs(pad + "    ")
        if self.records():
            add(f"{pad}    if _keys == {CPU | GRAD | OBSERVED}:")
            self.write_record(pad + "        ", observed=True)
        add(f"{pad}    if _watch is not None:")
        for i in range(self.count):
            add(f"{pad}        if _t{i} is not None: _watch(_t{i})")
        add(f"{pad}    return _NT({self.made})")
        add(f"{pad}finally:")
        add(f"{pad}    _p[1]()")

    def write_record(self, pad: str, observed: bool = False) -> None:
        add = self.w.lines.append
        d = self.op.derivative
        by_name = {p.name: n for p, n in zip(self.w.params, self.w.names)}
        edges = self.write_edges(pad, by_name)
        add(f"{pad}if {' or '.join(f'{e} is not None' for e in edges.values())}:")
        pad += "    "
        add(f"{pad}_n = _NODE()")
        if observed:
            add(f"{pad}_n.forward_thread = _ident()")
        add(f"{pad}_n.next = ({''.join(f'{e}, ' for e in edges.values())})")
        for name, i in d.results.items():
            add(f"{pad}_{name} = None if _t{i} is None else _alias(_t{i})")
        self.write_saved(pad, {**by_name, **{name: f"_{name}" for name in d.results}}, edges)
        add(f"{pad}_n.seq = _seq[0]")
        add(f"{pad}_seq[0] += 1")
        specs = "".join(f"None if _t{i} is None else (_t{i}._array.shape, _t{i}.dtype, 1), " for i in range(self.count))
        add(f"{pad}_n.specs = ({specs})")
        for i in range(self.count):
            if i not in d.constant:
                add(f"{pad}if _t{i} is not None and _t{i}.dtype.inexact: _t{i}._edge = _Slot(_n, {i}); _t{i}._keys = {CPU | GRAD}")
