"""ASGD and Rprop: averaged stochastic gradient descent, and steps that follow the gradients' signs."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from ._options import check_range, check_rate, new_step, number
from ._per_parameter import _PerParameter

__all__ = ["ASGD", "Rprop"]


class ASGD(_PerParameter):
    """Stochastic gradient descent whose state `ax` is the mean of the parameters since step `t0` (Polyak and
    Juditsky, 1992).

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.ASGD(model.parameters(), lr=0.01)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    _also = ", etas, mus"

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(), "eta": new_step(number(group["lr"])), "mu": new_step(1.0), "ax": aten.zeros_like(p)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        n, lr, decay = aten.item(state["step"]), number(group["lr"]), group["lambd"]
        eta, mu, mean = aten.item(state["eta"]), aten.item(state["mu"]), state["ax"]
        aten.mul_(p, 1 - decay * eta)
        aten.add_(p, g, alpha=-eta)
        if mu == 1:
            aten.copy_(mean, p)
        else:
            aten.add_(mean, aten.mul(aten.sub(p, mean), mu))
        aten.copy_(state["eta"], new_step(lr / (1 + decay * lr * n) ** group["alpha"]))
        aten.copy_(state["mu"], new_step(1 / max(1, n - group["t0"])))


class Rprop(_PerParameter):
    """Resilient backpropagation: a step size for every element, which grows while its gradient keeps its sign and
    shrinks when not.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.Rprop(model.parameters(), lr=0.01)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = number(group["lr"])
        return {
            "step": new_step(),
            "prev": aten.zeros_like(p),
            "step_size": aten.full_like(p, complex(lr, lr) if p.dtype.is_complex else lr),
        }

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        (shrink, grow), (smallest, largest) = group["etas"], group["step_sizes"]
        agreement = aten.sign(aten.mul(g, state["prev"].clone() if group["differentiable"] else state["prev"]))
        factor = aten.masked_fill(
            aten.masked_fill(aten.ones_like(g), aten.gt(agreement, 0), grow), aten.lt(agreement, 0), shrink
        )
        size = state["step_size"]
        aten.clamp_(aten.mul_(size, factor), smallest, largest)
        g = aten.masked_fill(g, aten.lt(agreement, 0), 0)
        aten.addcmul_(p, aten.sign(g), size.clone() if group["differentiable"] else size, value=-1)
        aten.copy_(state["prev"], g)
