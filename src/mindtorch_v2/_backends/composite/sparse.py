"""Operators that give sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._tensor import wrap
from ..sparse.tensor import coo


@composite("embedding_sparse_backward")
def embedding_sparse_backward(
    grad: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The gradient of an embedding's rows [num_weights, size]: those that were looked up, one entry for each lookup."""
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    size = grad.shape[-1]
    rows, flat = aten.reshape(grad, [-1, size]), aten.reshape(indices, [-1])
    if padding_idx != -1:
        kept = wrap(np.flatnonzero(flat._array != padding_idx).astype(np.int64))
        rows, flat = aten.index_select(rows, 0, kept), aten.index_select(flat, 0, kept)
    return coo(aten.reshape(flat, [1, -1]), rows, (num_weights, size))
