"""Declarations of operators that give sparse tensors."""

from __future__ import annotations

from .table import op

op(
    "embedding_sparse_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool "
    "scale_grad_by_freq) -> Tensor",
    function=False,
    method=False,
)
