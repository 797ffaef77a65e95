"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from ._options import check_fused, check_range, check_rate, coefficient, gradients, number
from .optimizer import Closure, Optimizer

__all__ = ["SGD"]


class SGD(Optimizer):
    r"""Stochastic gradient descent with momentum.

    With g the gradient (plus weight_decay * p): b = momentum * b + (1 - dampening) * g, then p -= lr * b; with
    `nesterov` the step is g + momentum * b. The first step starts with b = g.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        check_fused(fused, foreach, differentiable)

    def step(self, closure: Closure | None = None) -> Any:
        """Updates every parameter that has a gradient."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            params, grads = gradients(group)
            if not params:
                continue
            if group["fused"]:
                self._fused_step(group, params, grads)
            elif group["foreach"]:
                self._foreach(group, params, grads)
            else:
                self._single(group, params, grads)
        return loss

    def _buffers(self, params: list[Tensor]) -> list[Tensor | None]:
        return [self.state[p].get("momentum_buffer") if p in self.state else None for p in params]

    def _single(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]) -> None:
        lr, momentum, decay = coefficient(group["lr"]), group["momentum"], coefficient(group["weight_decay"])
        keep, nesterov, maximize = 1 - group["dampening"], group["nesterov"], group["maximize"]
        if isinstance(decay, Tensor):
            grads, decay, maximize = (
                [aten.addcmul(-g if maximize else g, p.clone(), decay) for p, g in zip(params, grads)],
                0,
                False,
            )
        traced = isinstance(lr, Tensor)  # a gradient is wanted for it
        for p, g in zip(params, grads):
            if maximize:
                g = aten.neg(g)
            if decay:
                g = aten.add(g, p, alpha=decay)
            if momentum:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = aten.detach(aten.clone(g))
                else:
                    aten.add_(aten.mul_(buffer, momentum), g, alpha=keep)
                g = aten.add(g, buffer, alpha=momentum) if nesterov else buffer
            if traced:
                aten.addcmul_(p, g, lr, value=-1)
            else:
                aten.add_(p, g, alpha=-lr)

    def _foreach(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]) -> None:
        lr, momentum, decay = number(group["lr"]), group["momentum"], number(group["weight_decay"])
        if group["maximize"]:
            grads = aten._foreach_neg(grads)
        if decay:
            grads = aten._foreach_add(grads, params, alpha=decay)
        if momentum:
            buffers = self._buffers(params)
            if all(b is not None for b in buffers):
                aten._foreach_mul_(buffers, momentum)
                aten._foreach_add_(buffers, grads, alpha=1 - group["dampening"])
            else:
                for i, (p, g) in enumerate(zip(params, grads)):
                    old = buffers[i]
                    if old is None:
                        buffers[i] = self.state[p]["momentum_buffer"] = aten.clone(g).detach()
                    else:
                        aten.add_(aten.mul_(old, momentum), g, alpha=1 - group["dampening"])
            grads = aten._foreach_add(grads, buffers, alpha=momentum) if group["nesterov"] else buffers  # type: ignore[assignment]
        aten._foreach_add_(params, grads, alpha=-lr)

    def _fused_step(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]) -> None:
        momentum = group["momentum"]
        first = False
        buffers: list[Tensor] = []
        if momentum:
            for p in params:
                state = self.state[p]
                if "momentum_buffer" not in state:
                    first = True
                    state["momentum_buffer"] = aten.empty_like(p)
                buffers.append(state["momentum_buffer"])
        aten._fused_sgd_(
            params,
            grads,
            buffers,
            weight_decay=number(group["weight_decay"]),
            momentum=momentum,
            lr=number(group["lr"]),
            dampening=group["dampening"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
            is_first_step=first,
        )
