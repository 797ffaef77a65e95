"""Helpers that the derivative rows of several families use. Tensors in, tensors out, dispatched ops only."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..._shape import normalize_dims


def conj(t: Any) -> Any:
    """The complex conjugate; real tensors and real numbers come back unchanged."""
    if isinstance(t, (bool, int, float)):
        return t
    if isinstance(t, complex):
        return t.conjugate()
    return aten.conj(t) if t.dtype.is_complex else t


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
