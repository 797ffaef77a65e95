"""How operators run on batched tensors.

In this order: a rule of its own (`RULES`, most of them made by _batching_tables.py), the steps of a composite, the
rule of elementwise operators, a shift of the arguments that name dimensions (`DIMS`), operators whose last dimensions
alone matter (`LAST`), and for the rest a loop over the batch, which warns once for each operator. Values come with
the batch as their first dimension and leave so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._dispatch import aten
from .._dispatch.families import load_family
from .._dispatch.registry import COMPOSITES
from .._ops.table import OVERLOADS, Op
from .._tensor import Tensor
from ._batched import Batched, inner, is_at, level_of, levels, make_batched, rewrap
from ._batching_dims import DIMS, LAST, NONE_IF_EMPTY, NOT_OF_NUMBERS, OF_DIMENSIONS

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
paused: Any = None  # a block in which random operators are not asked about: set by _vmap.py

_COMPOSITE_VIEWS = ("swapaxes", "swapdims")
_warned: set[str] = set()


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers the rule of operators: a function of (level, *arguments in the schema's order) that returns
    values, or NotImplemented where the general ways are to be taken.
    """

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def run(op: Op, args: tuple[Any, ...]) -> Any:
    """Runs an operator on arguments of which some are batched."""
    level = level_of(args)
    load_family(op.family)
    own = RULES.get(op.name)
    made = own(level, *args) if own is not None else NotImplemented
    if made is not NotImplemented:
        return rewrap(made, level)
    if op.family == "random":
        return _run_random(op, args, level)
    tensors = [args[i] for i in op.schema.tensor_params]
    if op.name in LAST and is_at(args[0], level) and not any(is_at(t, level) for t in tensors[1:]):
        found = call(op, tuple(inner(x, level) for x in args))
        return args[0] if op.writes else rewrap(found, level)
    shape_of = _as_view(op)
    if shape_of is not None and is_at(args[0], level):
        return _become(args[0], run(shape_of, args))
    if op.name in COMPOSITES:
        return _run_steps(op, args, level)
    if op.writes or op.inplace_of is not None:
        return _write(op, args, level)
    if op.rule is not None and op.rule.elementwise:
        return rewrap(call(op, align_ranks(args, level)), level)
    if sum(isinstance(t, Tensor) for t in tensors) == 1 and is_at(args[0], level):
        made = _run_on_one(op, args, level)
        if made is not NotImplemented:
            return rewrap(made, level)
    return _loop(op, args, level)


def _run_on_one(op: Op, args: tuple[Any, ...], level: int) -> Any:
    """An operator of one batched tensor that reduces, or names dimensions; NotImplemented for others."""
    if op.name in OF_DIMENSIONS:
        return _reduce_all(op, args, level)
    if op.name in DIMS and _names_dimensions(op, args):
        if args[0].dim() or op.name in ("unsqueeze", "permute"):
            return call(op, _shift_dims(op, args))
        if op.name not in NOT_OF_NUMBERS:
            return _on_rows_of_one(op, args, level)
    return NotImplemented


class Unwritable(RuntimeError):
    """A batched tensor is to be written into one that is not batched."""


def _run_steps(op: Op, args: tuple[Any, ...], level: int) -> Any:
    """The steps of a composite. Some write into memory that they make for one sample: those run once for each, and
    so do all that write into an argument, whose own memory they may want to see.
    """
    if op.writes and is_at(args[0], level):
        if op.base in ("resize_", "resize_as_", "set_"):
            raise RuntimeError(f"vmap: aten::{op.base} changes memory that samples share; make a new tensor instead")
        _loop_in_place(op, args, level)
        return args[0]
    if op.writes:
        raise Unwritable(
            f"vmap: aten::{op.base} writes a batched tensor into one that is not batched. Use an operator that returns "
            "a new tensor, or write into a tensor that was made from a batched one."
        )
    try:
        return COMPOSITES[op.name](*args)
    except Unwritable:
        return _loop(op, args, level)


def _as_view(op: Op) -> Op | None:
    """The view that an in-place change of shape (`squeeze_`, `t_`) stands for, or None."""
    if not op.writes or not op.base.endswith("_"):
        return None
    names = [p.name for p in op.schema.params]
    fitting = [o for o in OVERLOADS.get(op.base[:-1], ()) if [p.name for p in o.schema.params] == names]
    return next((o for o in fitting if o.is_view or o.name in _COMPOSITE_VIEWS), None)


def _become(target: Any, made: Any) -> Any:
    """Makes a batched tensor another one."""
    target._value, target._array = made._value, made._array
    return target


def _names_dimensions(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether the arguments say which dimensions are meant, or that all of them are."""
    given = [(p, x) for p, x in zip(op.schema.params, args) if p.name in DIMS[op.name]]
    return bool(given) and all(p.is_list or x is not None for p, x in given)


def call(op: Op, args: tuple[Any, ...]) -> Any:
    return aten.overload(op.name)(
        *[a for a, p in zip(args, op.schema.params) if not p.keyword_only],
        **{p.name: a for a, p in zip(args, op.schema.params) if p.keyword_only},
    )


# --- general ways
def pad_rank(x: Any, level: int, rank: int) -> Any:
    """A value with ones after its batch, so that one sample has `rank` dimensions: then values broadcast as samples
    do.
    """
    value = inner(x, level)
    if not is_at(x, level) or value.dim() - 1 >= rank:
        return value
    return value.reshape([value.shape[0], *[1] * (rank + 1 - value.dim()), *value.shape[1:]])


def align_ranks(args: tuple[Any, ...], level: int) -> tuple[Any, ...]:
    rank = max((x.dim() for x in args if isinstance(x, Tensor)), default=0)
    return tuple(pad_rank(x, level, rank) for x in args)


def _on_rows_of_one(op: Op, args: tuple[Any, ...], level: int) -> Any:
    """An operator on samples without dimensions, which take 0 and -1 for one: as if each were a row of one element."""
    wide = make_batched(args[0]._value.unsqueeze(1), level)
    made = call(op, _shift_dims(op, (wide, *args[1:])))
    flat = [m.reshape([size_of(level)]) for m in ((made,) if isinstance(made, Tensor) else made)]
    return flat[0] if isinstance(made, Tensor) else type(made)(*flat) if hasattr(made, "_fields") else tuple(flat)


def _shift_dims(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments for the value: dimensions are counted after the batch."""
    n = args[0].dim() + (op.name == "unsqueeze")

    def shift(dim: Any) -> Any:
        if isinstance(dim, (list, tuple)):
            return [shift(d) for d in dim]
        if not -n <= dim < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
        return dim % n + 1

    made = [args[0]._value]
    for p, x in zip(op.schema.params[1:], args[1:]):
        if p.name not in DIMS[op.name]:
            made.append(x)
        elif op.name == "permute":
            made.append([0, *shift(x)])
        else:
            everything = x is None or (isinstance(x, (list, tuple)) and not x and op.name not in NONE_IF_EMPTY)
            made.append(list(range(1, n + 1)) if everything else shift(x))
    return tuple(made)


def _reduce_all(op: Op, args: tuple[Any, ...], level: int) -> Any:
    value = args[0]._value if args[0].dim() else args[0]._value.unsqueeze(1)
    dims = list(range(1, value.dim()))
    named = {p.name: x for p, x in zip(op.schema.params[1:], args[1:])}
    if "unbiased" in named:
        return aten.overload(OF_DIMENSIONS[op.name])(value, dims, correction=1 if named.get("unbiased", True) else 0)
    if "dtype" in named:
        return aten.overload(OF_DIMENSIONS[op.name])(value, dims, dtype=named["dtype"])
    return aten.overload(OF_DIMENSIONS[op.name])(value, dims)


def _write(op: Op, args: tuple[Any, ...], level: int) -> Any:
    """In-place forms: of elementwise operators on the values, of others by the functional form."""
    target = args[0]
    if not is_at(target, level):
        raise Unwritable(
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
            f"not being vmapped over in a vmap. Please try to use out-of-place operators instead of {op.base}."
        )
    source = op.inplace_of
    if source is not None and source.rule is not None and source.rule.elementwise:
        rank = target.dim()
        call(op, tuple(pad_rank(x, level, rank) for x in args))
    elif op.name in LAST:
        call(op, tuple(inner(x, level) for x in args))
    elif source is not None and source.name not in COMPOSITES:
        made = run(source, args)
        target._value.copy_(made._value)
    else:
        _loop_in_place(op, args, level)
    return target


def in_batch(x: Any, level: int) -> Any:
    """A value of the whole batch, also where it is the same for all samples."""
    if is_at(x, level):
        return x._value
    return x.unsqueeze(0).expand([size_of(level), *x.shape])


def size_of(level: int) -> int:
    return next(one.size for one in levels.stack if one.id == level)


def _sample(x: Any, level: int, i: int) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(_sample(y, level, i) for y in x)
    return x._value[i] if is_at(x, level) else x


def _loop(op: Op, args: tuple[Any, ...], level: int) -> Any:
    """The operator once for each sample, its results stacked."""
    _warn(op)
    made = [call(op, tuple(_sample(x, level, i) for x in args)) for i in range(size_of(level))]
    if not made:
        raise RuntimeError(
            f"vmap: aten::{op.base} has no batching rule, and an empty batch tells nothing about its results"
        )
    first = made[0]
    if isinstance(first, Tensor):
        return make_batched(aten.stack(made), level)
    if isinstance(first, (tuple, list)):
        parts: list[Any] = [
            None if p is None else make_batched(aten.stack([m[k] for m in made]), level) for k, p in enumerate(first)
        ]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if all(m == first for m in made):
        return first
    raise RuntimeError(
        f"vmap: aten::{op.base} gives a different Python value for every sample, which cannot be batched"
    )


def _loop_in_place(op: Op, args: tuple[Any, ...], level: int) -> None:
    _warn(op)
    for i in range(size_of(level)):
        call(op, tuple(_sample(x, level, i) for x in args))


def _warn(op: Op) -> None:
    if op.name not in _warned:
        _warned.add(op.name)
        warnings.warn(
            f"There is a performance drop because we have not yet implemented the batching rule for {op.event}. It "
            "runs once for each sample of the batch.",
            stacklevel=4,
        )


def _run_random(op: Op, args: tuple[Any, ...], level: int) -> Any:
    """Random operators, as `vmap(randomness=...)` says: an error, the same numbers for all samples, or different
    ones.
    """
    how = next(one.randomness for one in levels.stack if one.id == level)
    if how == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            f"randomness flags on vmap or perform the randomness operation out of vmap (aten::{op.base})"
        )
    first = args[0]
    if op.base.endswith("_like") and is_at(first, level):
        drawn = paused().run(call, op, (first._value if how == "different" else first._value[0], *args[1:]))
        return make_batched(drawn if how == "different" else drawn.unsqueeze(0).expand_as(first._value), level)
    if op.name in COMPOSITES and not op.writes:
        return COMPOSITES[op.name](*args)
    if op.writes and is_at(first, level):
        if how == "different":
            paused().run(call, op, align_ranks(args, level))
        else:
            drawn = paused().run(call, op, (aten.empty_like(first._value[0]), *args[1:]))
            first._value.copy_(drawn.unsqueeze(0).expand_as(first._value))
        return first
    return paused().run(_loop, op, args, level)


Batched._takes_ops = staticmethod(run)
