"""A function over the first dimension: `torch._higher_order_ops.map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch import aten
from ..utils._pytree import tree_flatten, tree_unflatten


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:  # noqa: A001 - PyTorch's name
    """`f(slice, *args)` for each slice of `xs` along its first dimension, the results stacked."""
    leaves, layout = tree_flatten(xs)
    if not leaves or any(leaf.dim() == 0 for leaf in leaves):
        raise RuntimeError(f"map() takes tensors with at least one dimension, got {xs}")
    if len({leaf.size(0) for leaf in leaves}) > 1 or leaves[0].size(0) == 0:
        shapes = [tuple(leaf.shape) for leaf in leaves]
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent and nonzero. Got shapes {shapes}.")
    outputs, made = [], layout
    for slices in zip(*(aten.unbind(leaf, 0) for leaf in leaves)):
        parts, made = tree_flatten(f(tree_unflatten(list(slices), layout), *args))
        outputs.append(parts)
    return tree_unflatten([aten.stack(list(parts), 0) for parts in zip(*outputs)], made)
