"""Adafactor: Adam's second moment of a matrix, kept as its rows' and columns' means (Shazeer and Stern, 2018)."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .._dispatch import aten
from .._tensor import Tensor
from ._options import gradients, new_step, number
from .optimizer import Closure, Optimizer

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Steps relative to the size of a parameter, with a second moment that takes memory for rows and columns only.

    lr            the largest relative step.
    beta2_decay   the running mean's share of a new value at step t is t ** beta2_decay.
    eps           (what variances are kept above, by default the type's spacing; the smallest parameter size that
    steps are relative to). d             updates whose root mean square exceeds this are scaled down to it.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adafactor(model.parameters(), lr=0.01)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value, low in (
            ("Learning rate", lr, 0),
            ("epsilon1", eps[0], 0),
            ("epsilon2", eps[1], 0),
            ("Clipping threshold d", d, 1),
            ("weight_decay", weight_decay, 0),
        ):
            if name == "epsilon1" and beta2_decay > 0:
                raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
            if value is not None and value < low:
                raise ValueError(f"{name} should be >= {low} but is: {value}")
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def step(self, closure: Closure | None = None) -> Any:
        """Updates every parameter that has a gradient."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None and p.dtype.is_complex:
                    raise RuntimeError("Adafactor does not support complex parameters")
            for p, g in zip(*gradients({"capturable": False, "differentiable": False, "foreach": None, **group})):
                state = self.state[p]
                if not state:
                    state.update(_new_state(g))
                aten.add_(state["step"], 1)
                _update(p, aten.neg(g) if group["maximize"] else g, state, group)
        return loss


def _new_state(g: Tensor) -> dict[str, Any]:
    state: dict[str, Any] = {"step": new_step()}
    if g.dim() > 1:
        rows, columns = list(g.shape), list(g.shape)
        rows[-1], columns[-2] = 1, 1
        state["row_var"], state["col_var"] = aten.new_zeros(g, rows), aten.new_zeros(g, columns)
    else:
        state["variance"] = aten.zeros_like(g)
    return state


def _mean_square(t: Tensor, dim: int) -> Tensor:
    return aten.div(aten.square(aten.linalg_vector_norm(t, 2, [dim], True)), t.shape[dim])


def _variance(g: Tensor, state: dict[str, Any], share: float, floor: float) -> Tensor:
    """The second moment after it has moved towards the gradient's square."""
    if g.dim() <= 1:
        return aten.lerp_(state["variance"], aten.square(g), share)
    rows = aten.lerp_(state["row_var"], _mean_square(g, -1), share)
    columns = aten.lerp_(state["col_var"], _mean_square(g, -2), share)
    return aten.div(aten.matmul(rows, columns), aten.clamp(aten.mean(rows, [-2], True), floor))


def _update(p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    n, lr = aten.item(state["step"]), number(group["lr"])
    floor = dt.finfo(p.dtype).eps if group["eps"][0] is None else group["eps"][0]
    root = p.numel() ** 0.5
    rate = max(group["eps"][1], aten.item(aten.linalg_vector_norm(p, 2)) / root) * min(lr, 1 / n**0.5)
    if group["weight_decay"]:
        aten.mul_(p, 1 - lr * group["weight_decay"])
    variance = _variance(g, state, n ** group["beta2_decay"], floor)
    update = aten.mul(aten.rsqrt(aten.clamp(variance, floor * floor)), g)
    excess = max(1.0, aten.item(aten.linalg_vector_norm(update, 2)) / (root * group["d"]))
    aten.add_(p, update, alpha=-rate / excess)
