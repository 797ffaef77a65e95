"""Running results of an associative function: `torch._higher_order_ops.associative_scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from ..func import vmap
from ..utils._pytree import tree_flatten, tree_unflatten

Slices = list[Tensor]  # parts of all leaves, the scanned dimension first
Combine = Callable[[Slices, Slices], Slices]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """The results of `combine_fn` over the first 1, 2, ... slices of `xs` along `dim`, or over the last with `reverse`.

    "pointwise" needs a CUDA or XPU device, as in PyTorch; "generic" runs everywhere. Neighbours are combined first,
    then pairs of them: as many steps as the logarithm of the length, in PyTorch's order.
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, layout = tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError(f"xs leaves must be tensors, at least one of them, but got {xs}")
    if combine_mode == "pointwise":
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    slices = [aten.movedim(leaf, dim, 0) for leaf in leaves]
    if len({part.size(0) for part in slices}) > 1:
        raise ValueError(f"All xs leaves must have the same size along dimension {dim}")

    def combined(left: Slices, right: Slices) -> Slices:
        def one(a: Slices, b: Slices) -> Slices:
            both, _ = tree_flatten(combine_fn(tree_unflatten(a, layout), tree_unflatten(b, layout)))
            if len(both) != len(a):
                raise RuntimeError(
                    f"combine_fn should return as many tensors as it is given ({len(a)}), got {len(both)}"
                )
            return both

        return vmap(one)(left, right) if left[0].size(0) else left

    if reverse:
        slices = [aten.flip(part, [0]) for part in slices]
    made = _running(combined, slices)
    if reverse:
        made = [aten.flip(part, [0]) for part in made]
    return tree_unflatten([aten.movedim(part, 0, dim) for part in made], layout)


def _running(combine: Combine, slices: Slices) -> Slices:
    """Results up to odd indices come from pairs; those up to even ones from them and one slice more."""
    count = slices[0].size(0)
    if count < 2:
        return slices
    odd = _running(combine, combine([part[: count - 1 : 2] for part in slices], [part[1::2] for part in slices]))
    before = [part[: (count - 1) // 2] for part in odd]
    even = combine(before, [part[2::2] for part in slices])
    return [_interleaved(part[:1], rest, other) for part, rest, other in zip(slices, even, odd)]


def _interleaved(first: Tensor, rest: Tensor, odd: Tensor) -> Tensor:
    """first, odd[0], rest[0], odd[1], rest[1], ..."""
    even = aten.cat([first, rest], 0)
    both = aten.flatten(aten.stack([even[: odd.size(0)], odd], 1), 0, 1)
    return both if even.size(0) == odd.size(0) else aten.cat([both, even[odd.size(0) :]], 0)
