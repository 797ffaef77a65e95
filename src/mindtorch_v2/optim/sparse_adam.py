"""Adam for sparse gradients: only the rows that a gradient has are touched."""

from __future__ import annotations

import math
from typing import Any

from .._dispatch import aten
from .._dtype import int64
from .._tensor import Tensor, sparse_coo
from ._options import check_range, check_rate
from .adam import check_betas
from .optimizer import Closure, Optimizer

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam whose moments of rows without a gradient stay as they are.

    >>> table = nn.Embedding(10, 3, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.01)
    >>> table(torch.tensor([1, 2])).sum().backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_rate(lr)
        if not eps > 0.0:
            check_range("epsilon value", -1 if eps == 0 else eps)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        at = {(i, j): p for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])}
        if found := [list(place) for place, p in at.items() if p.layout is sparse_coo]:
            raise ValueError(f"Sparse params at indices {found}: SparseAdam requires dense parameter tensors")
        if found := [list(place) for place, p in at.items() if p.is_complex()]:
            raise ValueError(f"Complex params at indices {found}: SparseAdam does not support complex parameters")

    def step(self, closure: Closure | None = None) -> Any:
        """Updates the rows that the gradients have; RuntimeError for a dense gradient."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.layout is not sparse_coo:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                state = self.state[p]
                if not state:
                    state.update(step=0, exp_avg=aten.zeros_like(p), exp_avg_sq=aten.zeros_like(p))
                state["step"] += 1
                _update(p, p.grad, state, group)
        return loss


def _update(p: Tensor, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    g = (-grad if group["maximize"] else grad).coalesce()
    if g._nnz() == 0:
        return
    beta1, beta2 = group["betas"]
    values, n = g.values(), state["step"]
    averages, squares = state["exp_avg"], state["exp_avg_sq"]
    if p.dim() == 0:  # one element, without an index
        p, averages, squares = p.view(1), averages.view(1), squares.view(1)
    indices = g.indices().unbind(0) or (aten.zeros([1], dtype=int64),)
    first, second = averages[indices], squares[indices]
    first = first + (values - first) * (1 - beta1)
    second = second + (values * values - second) * (1 - beta2)
    aten.index_put_(averages, list(indices), first)
    aten.index_put_(squares, list(indices), second)
    rate = float(group["lr"]) * math.sqrt(1 - beta2**n) / (1 - beta1**n)
    aten.index_put_(p, list(indices), -rate * first / (second.sqrt() + group["eps"]), True)
