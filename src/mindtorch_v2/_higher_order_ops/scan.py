"""A loop that carries a state and keeps what each step gives: `torch._higher_order_ops.scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch import aten
from ..utils._pytree import tree_flatten, tree_unflatten


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """The last state, and the outputs of all steps stacked along `dim`: `state, output = combine_fn(state, slice)` for
    each slice of `xs` along `dim`, from the last one with `reverse`.
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    leaves, layout = tree_flatten(xs)
    if not leaves:
        raise RuntimeError("scan() operator requires xs leaves.")
    steps = {leaf.size(dim) for leaf in leaves}
    if len(steps) > 1:
        raise RuntimeError(f"All xs leaves must have the same size along dimension {dim}, got {sorted(steps)}")
    order = range(steps.pop())
    outputs: list[list[Any]] = []
    state, made = init, layout
    for index in reversed(order) if reverse else order:
        state, output = combine_fn(state, tree_unflatten([aten.select(leaf, dim, index) for leaf in leaves], layout))
        parts, made = tree_flatten(output)
        outputs.append(parts)
    if not outputs:
        raise RuntimeError(f"scan() needs at least one slice along dimension {dim}")
    kept = outputs[::-1] if reverse else outputs
    return state, tree_unflatten([aten.stack(list(parts), dim) for parts in zip(*kept)], made)
