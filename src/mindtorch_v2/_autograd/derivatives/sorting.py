"""Derivatives of the ops that order values: each gradient goes back to where its value came from."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..rules import derivative


def _put_back(g: Any, dim: int, result1: Any, self_shape: Any) -> Any:
    return aten.value_selecting_reduction_backward(g[0], dim, result1, self_shape, True)


derivative("sort", self=_put_back)
derivative("sort.stable", node="SortBackward1", self=_put_back)
derivative("topk", self=_put_back)
derivative(
    "kthvalue",
    self=lambda g, dim, keepdim, result1, self_shape: aten.value_selecting_reduction_backward(
        g[0], dim, result1, self_shape, keepdim
    ),
)
