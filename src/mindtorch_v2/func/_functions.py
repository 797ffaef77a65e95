"""User-defined differentiable functions (`autograd.Function`) on batched tensors.

A function's own rule is its static method `vmap(info, in_dims, *args)`. With `generate_vmap_rule = True` its
`forward`, `backward` and `jvp` run on batched tensors; autograd sees one node over the values of the whole batch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._autograd import function as functions
from .._autograd.function import Function, FunctionCtx
from .._dispatch import modes
from .._tensor import Tensor
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from ._batched import Level, as_batched, inner, is_at, level_of, levels, make_batched

_DETAILS = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
_without_random_rules: Any = None  # a block in which random operators are not asked about: set by _vmap.py


class VmapInfo(NamedTuple):
    """What a function's own rule is told of the batch."""

    batch_size: int
    randomness: str


def apply_mapped(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of `cls.apply`, or NotImplemented where no argument is batched."""
    top = level_of(args)
    if not top:
        return NotImplemented
    has_rule = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and has_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {_DETAILS}"
        )
    level = next(one for one in levels.stack if one.id == top)
    if has_rule:
        return _by_own_rule(cls, level, args)
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            f"the vmap staticmethod or set generate_vmap_rule=True. {_DETAILS}"
        )
    how = _How(level, tuple(is_at(x, top) for x in args), kwargs)
    made = _generated(cls).apply(how, *[inner(x, top) for x in args])
    return tree_map(lambda x: make_batched(x, top) if isinstance(x, Tensor) else x, made)


class _Asked(modes.Switch):
    """Batched tensors are asked, also inside a backward pass."""

    _changes: dict[str, Any] = {"subclasses_are_plain": False}  # noqa: RUF012 - read, never written
    _special = False


def _at_levels(stack: tuple[Any, ...], function: Callable[..., Any], *args: Any) -> Any:
    before = levels.stack
    levels.stack = stack
    try:
        return _Asked().run(function, *args)
    finally:
        levels.stack = before


# --- a rule of its own
def _by_own_rule(cls: Any, level: Level, args: tuple[Any, ...]) -> Any:
    dims = tree_map(lambda x: 0 if is_at(x, level.id) else None, args)
    values = tree_map(lambda x: inner(x, level.id), args)
    below = tuple(one for one in levels.stack if one.id != level.id)
    info = VmapInfo(level.size, level.randomness)
    found = _without_random_rules().run(_at_levels, below, cls.vmap, info, dims, *values)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            f"Expected the vmap staticmethod of {cls.__name__} to return (outputs, out_dims), got {type(found)}"
        )
    made, out_dims = found
    flat, spec = tree_flatten(made)
    flat_dims = [out_dims] * len(flat) if out_dims is None or isinstance(out_dims, int) else list(out_dims)
    if len(flat_dims) != len(flat):
        raise RuntimeError(
            f"Expected as many out_dims as outputs from the vmap staticmethod of {cls.__name__}, got {len(flat_dims)} "
            f"for {len(flat)}"
        )
    return tree_unflatten([_batched_from(x, d, level.id) for x, d in zip(flat, flat_dims)], spec)


def _batched_from(x: Any, dim: int | None, level: int) -> Any:
    if dim is None or not isinstance(x, Tensor):
        return x
    return make_batched(x.movedim(dim, 0) if dim else x, level)


# --- a generated rule
@dataclass(frozen=True)
class _How:
    """How the values that a generated function gets belong to the arguments of the user's."""

    level: Level
    batched: tuple[bool, ...]
    kwargs: dict[str, Any]


class _InnerCtx(FunctionCtx):
    """The context that the user's methods see: what they save is kept, as values of the batch, by the outer one."""

    def __init__(self, outer: FunctionCtx) -> None:
        super().__init__()
        self._outer, self._level = outer, 0
        self._marks: tuple[tuple[bool, ...], ...] = ((), ())

    def _keep(self) -> None:
        """After `forward`: hands on what was saved and marked."""
        outer, saved = self._outer, (self.to_save, self.for_forward or ())
        self._marks = tuple(tuple(is_at(t, self._level) for t in kept) for kept in saved)
        outer.save_for_backward(*[inner(t, self._level) for t in saved[0]])
        outer.save_for_forward(*[inner(t, self._level) for t in saved[1]])
        outer.mark_non_differentiable(*[inner(t, self._level) for t in self.non_differentiable])
        outer.mark_dirty(*[inner(t, self._level) for t in self.dirty_tensors])
        self.to_save, self.for_forward = (), ()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        marks = self._marks[1 if self._outer.in_jvp and self._marks[1] else 0]
        values = self._outer.saved_tensors
        return tuple(make_batched(t, self._level) if m else t for t, m in zip(values, marks))


class _Generated(Function):
    """Runs the methods of another function on batched tensors, and is itself a function of their values."""

    of: Any
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx: Any, how: _How, *values: Any) -> Any:
        cls, level = ctx.function.of, how.level
        ctx.how, ctx.inner = how, _InnerCtx(ctx)
        ctx.inner._level, ctx.inner.needs_input_grad = level.id, ctx.needs_input_grad[1:]
        flat = [make_batched(x, level.id) if b else x for x, b in zip(values, how.batched)]
        ctx.inner.function = cls
        made = functions.run_forward(cls, ctx.inner, tuple(flat), how.kwargs)
        several = isinstance(made, (tuple, list))
        outputs = [as_batched(x, level) if isinstance(x, Tensor) else x for x in (made if several else (made,))]
        ctx.materialize_grads = ctx.inner.materialize_grads
        ctx.inner._keep()
        plain = tuple(inner(x, level.id) for x in outputs)
        return plain if several else plain[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        level = Level(
            max((one.id for one in levels.stack), default=0) + 1, ctx.how.level.size, ctx.how.level.randomness
        )
        ctx.inner._level = level.id
        given = [None if g is None else make_batched(g, level.id) for g in grads]
        found = _at_levels((*levels.stack, level), ctx.function.of.backward, ctx.inner, *given)
        found = found if isinstance(found, tuple) else (found,)
        return (None, *[_of_values(g, b, level) for g, b in zip(found, ctx.how.batched)])


def _of_values(grad: Any, is_batched: bool, level: Level) -> Any:
    """The gradient of an argument's values: of one that is the same for all samples, their sum."""
    if grad is None:
        return None
    value = as_batched(grad, level)._value
    return value if is_batched else value.sum(0)


def _push(ctx: Any, how: Any, *tangents: Any) -> Any:
    """The generated `jvp`."""
    level = Level(max((one.id for one in levels.stack), default=0) + 1, ctx.how.level.size, ctx.how.level.randomness)
    ctx.inner._level = level.id
    given = [make_batched(t, level.id) if t is not None and b else t for t, b in zip(tangents, ctx.how.batched)]
    made = _at_levels((*levels.stack, level), ctx.function.of.jvp, ctx.inner, *given)
    several = isinstance(made, (tuple, list))
    plain = tuple(as_batched(t, level)._value if isinstance(t, Tensor) else t for t in (made if several else (made,)))
    return plain if several else plain[0]


@functools.cache
def _generated(cls: Any) -> Any:
    members: dict[str, Any] = {"of": cls}
    if cls.jvp is not Function.jvp:
        members["jvp"] = staticmethod(_push)
    made: Any = type(Function)
    return made(cls.__name__, (_Generated,), members)


functions.apply_mapped = apply_mapped
