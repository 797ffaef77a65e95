"""Muon: momentum whose matrix is replaced by the nearest orthogonal one (Jordan and others, 2024)."""

from __future__ import annotations

import math
from typing import Any

from .. import _dtype as dt
from .._dispatch import aten
from .._tensor import Tensor
from .optimizer import Closure, Optimizer

__all__ = ["Muon"]


def _orthogonalize(update: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """The matrix with its singular values brought near 1, by Newton and Schulz's iteration in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if update.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = aten.to(update, dt.BY_NAME["bfloat16"])
    is_tall = update.shape[0] > update.shape[1]
    if is_tall:
        x = aten.t(x)
    x = aten.div(x, aten.clamp(aten.linalg_vector_norm(x), eps))
    for _ in range(steps):
        gram = aten.mm(x, aten.t(x))
        x = aten.addmm(x, aten.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return aten.t(x) if is_tall else x


def _adjust_lr(lr: float, how: str | None, shape: Any) -> float:
    """The step for a matrix of this shape: "original" or, to reuse AdamW's rates, "match_rms_adamw"."""
    rows, columns = shape[:2]
    return lr * (0.2 * math.sqrt(max(rows, columns)) if how == "match_rms_adamw" else math.sqrt(max(1, rows / columns)))


class Muon(Optimizer):
    """For matrices only: steps along orthogonalized momentum, with decoupled weight decay.

    >>> model = nn.Linear(2, 3, bias=False)
    >>> optimizer = torch.optim.Muon(model.parameters(), lr=1e-3)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if value < 0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ("original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    def step(self, closure: Closure | None = None) -> Any:
        """Updates every parameter that has a gradient."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            lr, momentum = float(group["lr"]), group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.dtype.is_complex:
                    raise RuntimeError("Muon does not support complex parameters")
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = aten.zeros_like(p.grad)
                buffer = aten.lerp_(state["momentum_buffer"], p.grad, 1 - momentum)
                update = aten.lerp(p.grad, buffer, momentum) if group["nesterov"] else buffer
                update = _orthogonalize(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
                aten.mul_(p, 1 - lr * group["weight_decay"])
                aten.add_(p, aten.to(update, p.dtype), alpha=-_adjust_lr(lr, group["adjust_lr_fn"], p.shape))
        return loss
