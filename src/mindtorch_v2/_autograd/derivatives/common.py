"""Helpers that the derivative rows of several families use. Tensors in, tensors out, dispatched ops only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..._dispatch import aten
from ..._shape import normalize_dims
from ..rules import derivative


def conj(t: Any) -> Any:
    """The complex conjugate; real tensors and real numbers come back unchanged."""
    try:
        return aten.conj(t) if t.dtype.is_complex else t
    except AttributeError:  # a number
        return t.conjugate() if isinstance(t, complex) else t


def sum_to(t: Any, shape: Sequence[int]) -> Any:
    """`t` summed over the dimensions along which a tensor of `shape` was broadcast to it."""
    shape = tuple(shape)
    have = tuple(t.shape)
    if have == shape:
        return t
    lead = len(have) - len(shape)
    dims = [*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and have[lead + i] != 1)]
    if dims:
        t = aten.sum(t, dims, keepdim=True)
    return aten.view(t, shape) if lead else t


def restore_dim(g: Any, dim: int | Sequence[int] | None, keepdim: bool, ndim: int) -> Any:
    """The gradient of a reduction over `dim` with its reduced dimensions put back as dimensions of size 1."""
    if keepdim or ndim == 0:
        return g
    for d in sorted(normalize_dims(dim, ndim)):
        g = aten.unsqueeze(g, d)
    return g


def some(condition: Any) -> bool:
    """Whether any element is true. On the meta device, where there are no values, no."""
    return not condition.is_meta and bool(aten.item(aten.any(condition)))


def no_derivative(name: str, *inputs: str, node: str = "NotImplemented", message: str = "") -> None:
    """Declares an op that PyTorch does not differentiate: its result requires a gradient, and the node says what is
    missing when a gradient reaches it. `node` names nodes of PyTorch's that refuse only then.
    """
    base = name.partition(".")[0]

    def refuse(g: Any) -> NoReturn:
        if node == "NotImplemented":
            raise RuntimeError(f"derivative for aten::{base} is not implemented")
        raise NotImplementedError(f"the derivative for '{message or base}' is not implemented.")

    rows: dict[str, Any] = dict.fromkeys(inputs, refuse)
    derivative(name, node=node, **rows)
