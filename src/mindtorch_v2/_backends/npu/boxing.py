"""From an op to a function on device tensors: a row of the table, a program of several steps, or the CPU with
copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _device
from ... import _dtype as dt
from ..._dispatch.casting import casting_positions
from ..._dispatch.checks import check_result_type, check_writable
from ..._dispatch.families import load_family
from ..._dispatch.registry import KERNELS
from ..._dispatch.return_types import return_type
from ..._dispatch.specs import output_specs
from ..._dispatch.views import box_view
from ..._ops.creation_sizes import counted_sizes, explain_sizes
from ..._ops.movement_shapes import ordered_strides, storage_extent
from ..._ops.rules import Spec, check_factor, result_type
from ..._ops.table import OPS, Op, find
from ..._tensor import Parameter, Tensor, bump_version, wrap
from . import copies, ops
from .allocator import device_array
from .copies import NPU, new_tensor
from .dimensions import dimension_check
from .fallback import fallback, placement
from .launcher import Rejected, entry_of, launch
from .plans import stand_in, with_plan
from .rows import NUMBERS, Boxed, Row, _caster, _fits, _quietly, _rows

PROGRAMS: dict[str, Boxed] = {}
_TENSORS = (Tensor, Parameter)
_REAL = (float, int)
_BOOL = dt.bool_
_TAKES_EMPTY = ("native_batch_norm_backward",)  # has inputs that are empty where they do not matter
_running: dict[str, Boxed] = {}


def program(*names: str) -> Callable[[Boxed], Boxed]:
    """Registers a function on device tensors as the kernel of ops.

    It may raise Rejected before it has written anything.
    """

    def register(function: Boxed) -> Boxed:
        for name in names:
            PROGRAMS[name] = function
        return function

    return register


def run(name: str, *args: Any) -> Any:
    """Runs an op's device kernel on all its arguments, without an event."""
    found = _running.get(name)
    if found is None:
        found = _running[name] = box(find(name))
    return found(*args)


def launch_named(name: str, operands: tuple[Any, ...], index: int) -> None:
    entry = entry_of(name)
    if entry is None:
        raise Rejected(f"the libraries have no aclnn{name}")
    launch(entry, operands, index)


def box(op: Op) -> Boxed:
    """What `_dispatch.resolve.device_boxers` holds for NPUs."""
    load_family(op.family)
    from . import programs, programs_indexing, programs_layers  # noqa: F401  - they register themselves

    if op.name in DIRECT:
        return DIRECT[op.name]
    if op.is_view:
        return box_view(op, KERNELS[op.name])
    source = op.inplace_of
    if op.name in PROGRAMS:
        return _with_checks(op, PROGRAMS[op.name])
    if op.name in ops.ROWS:
        return _box_writing(op) if op.writes else _Functional(op).boxed()
    if source is not None and source.name in ops.ROWS:
        return _Inplace(op, source).boxed()
    if source is not None and source.name in PROGRAMS:
        made = PROGRAMS[source.name]
        return _with_checks(op, lambda target, *rest: copies.copy_(target, made(target, *rest), False))
    made = fallback(op, "there is no device kernel for it")
    made.wants_steps = True  # type: ignore[attr-defined]  # steps of a leaf op may have kernels where it has none
    return made


# --- factors of sums
def _free(*args: Any) -> None:
    """Most operators have no rule for their factors."""


def _check_alpha(self: Any, other: Any, alpha: Any) -> None:
    if alpha.__class__ is not int:
        check_factor(alpha if isinstance(alpha, NUMBERS) else alpha.item(), result_type(self, other).np.kind)


def whole_factors(t: Any, *factors: Any) -> None:
    """Rejects fractions as factors of whole numbers: what the CPU makes of them is the rule."""
    if not t.dtype.is_floating_point and not all(f.__class__ is int for f in factors):
        raise Rejected("the operator has no such factors")


# Both look at types only, so that a plan that was made after them holds for other numbers too.
_FACTORS: dict[str, Boxed] = {
    **dict.fromkeys(("add.Tensor", "sub.Tensor", "rsub.Tensor", "rsub.Scalar"), _check_alpha),
    "addcmul": lambda self, tensor1, tensor2, value: whole_factors(self, value),
}


class _RowKernel:
    """An op that one or two rows compute. `source` is the functional op that an in-place one belongs to."""

    def __init__(self, op: Op, source: Op, outputs: int) -> None:
        self.op, self.source = op, source
        self.row, self.number_row, self.number_at = _rows(op, ops.ROWS[source.name], outputs)
        self.device_of, self.cast, self.fits = placement(op), _caster(op), _fits(op)
        self.is_bool = source.rule is not None and source.rule.out == "bool"
        self.quick = _quick(source, self.number_at)
        self.check_factors = _FACTORS.get(source.name, _free)

    def choose(self, args: Sequence[Any]) -> Row:
        """The row for a number where a number is given."""
        return (
            self.number_row if self.number_row is not None and args[self.number_at].__class__ in NUMBERS else self.row
        )

    def plain(self, args: tuple[Any, ...]) -> Any:
        """(a tensor that looks like the result, device) where nothing has to be cast or spread and a row is there
        for it; else None.
        """
        if self.quick is None or (
            self.number_row is None and self.number_at >= 0 and args[self.number_at].__class__ in NUMBERS
        ):
            return None
        return self.quick(args)

    def run(self, *args: Any) -> Any:
        raise NotImplementedError

    def plan(self, args: tuple[Any, ...]) -> Any:
        """What the launcher in C does for calls like this one; None where it can do nothing."""
        raise NotImplementedError

    def boxed(self) -> Boxed:
        rows = [self.row] if self.number_row is None else [self.row, self.number_row]
        return with_plan(
            self.op, [row.form for row in rows], _with_checks(self.op, self.run), _quietly(self.op, self.plan)
        )


class _Functional(_RowKernel):
    """Rows that compute into new memory."""

    def __init__(self, op: Op) -> None:
        super().__init__(op, op, len(op.schema.returns))
        self.names = return_type(op)

    def run(self, *args: Any) -> Any:
        self.check_factors(*args)
        plain = self.plain(args)
        if plain:
            return self._run_plain(args, *plain)
        args = _plain_numbers(args)
        device, specs = self.device_of(args), output_specs(self.op, args)
        given, common = self.cast(args)
        single = isinstance(specs, Spec)
        outs = [None if s is None else new_tensor(s.shape, s.dtype, device) for s in ([specs] if single else specs)]
        if self.op.base == "sum" and not args[0]._array.size:
            run("zero_", outs[0])
        elif self.op.name in _TAKES_EMPTY or _has_work(given, outs):
            self.choose(given).launch(given, outs, device.index or 0, common, device)
        return outs[0] if single else tuple(outs) if self.names is None else self.names(*outs)

    def _run_plain(self, args: tuple[Any, ...], lead: Tensor, device: Any) -> Tensor:
        """The call where the result looks as one of the operands does."""
        kind = _BOOL if self.is_bool else lead.dtype
        out = wrap(
            device_array(lead._array.shape, _BOOL.np if self.is_bool else lead._array.dtype, device.index or 0),
            kind,
            NPU,
            device,
        )
        self.choose(args).launch_plain(args, out, device.index or 0)
        return out

    def plan(self, args: tuple[Any, ...]) -> Any:
        self.check_factors(*args)
        specs = output_specs(self.op, args)
        single = isinstance(specs, Spec)
        wanted = [specs] if single else list(specs)
        if not self.fits(args) or any(spec is None or 0 in spec.shape for spec in wanted):
            return None
        device = self.device_of(args)
        return self.choose(args).plan(args, [stand_in(spec, device) for spec in wanted], self.names, single, False)


def _quick(op: Op, number_at: int) -> Callable[[Sequence[Any]], Any] | None:
    """For elementwise ops: a function that gives (a tensor that looks like the result, device) where all tensors
    have one type, shape and device, so that nothing has to be cast or spread; else None.
    """
    rule = op.rule
    if rule is None or not rule.elementwise:
        return None
    tensors = [i for i, p in enumerate(op.schema.params) if p.is_tensor]
    numbers = [i for i in casting_positions(op) if i not in tensors]
    first, rest, to_float = tensors[0], tensors[1:], rule.cast == "float"
    if op.schema.params[first].optional or first == number_at or op.base == "where":
        return None

    def plain(args: Sequence[Any]) -> Any:
        lead = args[first]
        if lead.__class__ not in _TENSORS or not lead._array.size:
            return None
        inexact = lead.dtype.is_floating_point
        if to_float and not inexact:
            return None
        for i in rest:
            x = args[i]
            fits = (
                _looks_like(x, lead) if x.__class__ in _TENSORS else i == number_at and inexact and x.__class__ in _REAL
            )
            if not fits:
                return None
        for i in numbers:
            if args[i] is not None and not (inexact and args[i].__class__ in _REAL):
                return None
        return lead, lead._device

    return plain


def _looks_like(x: Tensor, lead: Tensor) -> bool:
    """Whether two tensors have one type, shape and device."""
    return (
        x.dtype is lead.dtype
        and x._array.shape == lead._array.shape
        and (x._device is lead._device or x._device == lead._device)
    )


def _plain_numbers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers of numpy's become Python's."""
    return tuple([x.item() if isinstance(x, np.generic) else x for x in args])


def _has_work(args: Sequence[Any], outs: Sequence[Any]) -> bool:
    """False where there is nothing to compute. Results of an empty input that are not empty are for the CPU to tell."""
    if not any(t is not None and t._array.size for t in outs):
        return False
    for x in args:
        if isinstance(x, Tensor) and not x._array.size:
            raise Rejected("an input has no elements")
    return True


class _Inplace(_RowKernel):
    """Rows in place: elementwise operators write into their first operand, others into fresh memory."""

    def __init__(self, op: Op, source: Op) -> None:
        super().__init__(op, source, 1)
        self.elementwise = source.rule is not None and source.rule.elementwise
        if self.is_bool:
            self.quick = None

    def run(self, *args: Any) -> Any:
        target = args[0]
        check_writable(target)
        self.check_factors(*args)
        plain = self.plain(args)
        if plain and plain[0] is target:
            self.choose(args).launch_plain(args, target, plain[1].index or 0)
            bump_version(target)
            return target
        return self._run_cast(target, _plain_numbers(args))

    def _run_cast(self, target: Tensor, args: tuple[Any, ...]) -> Tensor:
        device, spec = self.device_of(args), output_specs(self.source, args)
        if not self.is_bool:
            check_result_type(spec.dtype, target.dtype)
        if tuple(spec.shape) != target._array.shape:
            raise RuntimeError(
                f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(spec.shape)}"
            )
        given, common = self.cast(args)
        direct = self.elementwise and spec.dtype is target.dtype
        out = target if direct else new_tensor(spec.shape, spec.dtype, device)
        if _has_work(given, (out,)):
            self.choose(given).launch(given, (out,), device.index or 0, common, device)
        if direct:
            bump_version(target)
            return target
        made: Tensor = copies.copy_(target, out, False)
        return made

    def plan(self, args: tuple[Any, ...]) -> Any:
        target = args[0]
        check_writable(target)
        self.check_factors(*args)
        spec = output_specs(self.source, args)
        fits = (
            self.elementwise
            and spec.dtype is target.dtype
            and tuple(spec.shape) == target._array.shape
            and self.fits(args)
        )
        return self.choose(args).plan(args, [target], None, True, True) if fits else None


def _box_writing(op: Op) -> Boxed:
    """An op that is declared in place: its operator writes into the first operand."""
    row = Row(ops.ROWS[op.name], op, 0)
    device_of = placement(op)

    def boxed(*args: Any) -> Any:
        target = args[0]
        check_writable(target)
        device = device_of(args)
        if target._array.size:
            row.launch(args, (), device.index or 0, target.dtype, device)
        bump_version(target)
        return target

    def plan(args: tuple[Any, ...]) -> Any:
        check_writable(args[0])
        return row.plan(args, [], None, True, True) if args[0]._array.size else None

    return with_plan(op, [row.form], _with_checks(op, boxed), _quietly(op, plan))


def empty_like_specs(name: str, *args: Any) -> list[Any]:
    """Fresh outputs of an op."""
    specs = output_specs(OPS[name], args)
    return [new_tensor(s.shape, s.dtype, args[0].device) for s in specs]


# --- the CPU instead
def _with_checks(op: Op, boxed: Boxed) -> Boxed:
    """Refuses dimensions that the first tensor does not have, and sends calls to the CPU that the device's operator
    does not take.
    """
    check = dimension_check(op)

    def guarded(*args: Any) -> Any:
        check(args)
        try:
            return boxed(*args)
        except Rejected as why:
            return fallback(op, str(why))(*args)

    return guarded


# --- memory
def _empty(
    size: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Tensor:
    explain_sizes("empty", size)
    shape, kind, where = counted_sizes(size), dtype or dt.get_default_dtype(), _device.resolve(device)
    strides = ordered_strides(memory_format, shape)
    if strides is not None:
        return _empty_strided(shape, strides, kind, layout, where, pin_memory)
    return new_tensor(shape, kind, where)


def _empty_strided(
    size: Sequence[int], stride: Sequence[int], dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any
) -> Tensor:
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    shape, kind, where = counted_sizes(size), dtype or dt.get_default_dtype(), _device.resolve(device)
    steps = [s * kind.itemsize for s in stride]
    return wrap(device_array(shape, kind.np, where.index or 0, steps, storage_extent(shape, stride)), kind, NPU, where)


DIRECT: dict[str, Boxed] = {
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "copy_": copies.copy_,
    "_unsafe_view": ops.unsafe_view,
}
