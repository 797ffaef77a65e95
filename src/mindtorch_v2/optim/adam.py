"""Adam, and AdamW with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from ._options import (
    as_real,
    check_fused,
    check_range,
    check_rate,
    coefficient,
    gradients,
    new_step,
    number,
    real_state,
)
from .optimizer import Closure, Optimizer

__all__ = ["Adam", "AdamW"]


def check_betas(betas: Any) -> None:
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def _check_tensor_options(lr: Any, betas: Any, loops: bool) -> None:
    """The errors of options given as tensors; `loops` is True where lists of tensors are updated together, outside
    of graphs.
    """
    if not (all(isinstance(b, float) for b in betas) or all(isinstance(b, Tensor) for b in betas)):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor):
            if loops:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")


class Adam(Optimizer):
    """Adam: running means of the gradient (m) and of its square (v), corrected for their start at zero.

    p -= lr * m_hat / (sqrt(v_hat) + eps). `weight_decay` is added to the gradient, or with `decoupled_weight_decay`
    shrinks the parameter directly; `amsgrad` keeps the largest v seen.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        loops = bool(foreach and not capturable)
        if isinstance(lr, Tensor) and loops:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_rate(lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        _check_tensor_options(lr, betas, loops)
        betas = tuple(b.squeeze() if isinstance(b, Tensor) and b.dim() else b for b in betas)  # type: ignore[assignment]
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )
        check_fused(fused, foreach, differentiable)

    def _state_of(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = self.state[p]
        if not state:
            state["step"] = new_step(fused=bool(group["fused"]))
            state["exp_avg"] = aten.zeros_like(p)
            state["exp_avg_sq"] = aten.zeros_like(p)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = aten.zeros_like(p)
        return state

    def step(self, closure: Closure | None = None) -> Any:
        """Updates every parameter that has a gradient."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            params, grads = gradients(group)
            if not params:
                continue
            states = [self._state_of(p, group) for p in params]
            if any(p.dtype.is_complex for p in params):
                params, grads, states = as_real(*params), as_real(*grads), [real_state(s) for s in states]
            if group["fused"]:
                self._fused_step(group, params, grads, states)
            elif group["foreach"]:
                self._foreach(group, params, grads, states)
            elif group["differentiable"]:
                self._differentiable(group, params, grads, states)
            else:
                self._single(group, params, grads, states)
        return loss

    def _single(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]
    ) -> None:
        lr, (beta1, beta2), eps = number(group["lr"]), map(number, group["betas"]), group["eps"]
        decay, decoupled, amsgrad = group["weight_decay"], group["decoupled_weight_decay"], group["amsgrad"]
        for p, g, state in zip(params, grads, states):
            if group["maximize"]:
                g = aten.neg(g)
            aten.add_(state["step"], 1)
            if decay:
                if decoupled:
                    aten.mul_(p, 1 - lr * decay)
                else:
                    g = aten.add(g, p, alpha=decay)
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            aten.lerp_(mean, g, 1 - beta1)
            aten.addcmul_(aten.mul_(square, beta2), g, g, value=1 - beta2)
            n = aten.item(state["step"])
            correction = (1 - beta2**n) ** 0.5
            if amsgrad:
                largest = state["max_exp_avg_sq"]
                aten.copy_(largest, aten.maximum(largest, square))
                square = largest
            denominator = aten.add_(aten.div(aten.sqrt(square), correction), eps)
            aten.addcdiv_(p, mean, denominator, value=-lr / (1 - beta1**n))

    def _differentiable(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]
    ) -> None:
        """The update as a graph: in ops on tensors, and without overwriting what the graph keeps."""
        lr, (beta1, beta2), eps = coefficient(group["lr"]), map(coefficient, group["betas"]), group["eps"]
        decay = coefficient(group["weight_decay"])
        for p, g, state in zip(params, grads, states):
            if group["maximize"]:
                g = -g
            step, mean, square = aten.add_(state["step"], 1).clone(), state["exp_avg"], state["exp_avg_sq"]
            if group["decoupled_weight_decay"]:
                aten.mul_(p, 1 - lr * decay)
            elif isinstance(decay, Tensor) or decay:
                g = g + p.clone() * decay
            aten.lerp_(mean, g, (1 - beta1).to(mean.dtype) if isinstance(beta1, Tensor) else 1 - beta1)
            if isinstance(beta2, Tensor):
                aten.lerp_(square, g * g, (1 - beta2).to(square.dtype))
            else:
                aten.addcmul_(aten.mul_(square, beta2), g, g, value=1 - beta2)
            if group["amsgrad"]:
                square = aten.copy_(
                    state["max_exp_avg_sq"], aten.maximum(state["max_exp_avg_sq"].clone(), square.clone())
                )
            size = -(lr / (1 - beta1**step))
            denominator = square.sqrt() / ((1 - beta2**step).sqrt() * size) + eps / size
            aten.addcdiv_(p, mean.clone(), denominator)

    def _foreach(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]
    ) -> None:
        lr, (beta1, beta2), decay = number(group["lr"]), map(number, group["betas"]), group["weight_decay"]
        steps, means, squares = ([s[k] for s in states] for k in ("step", "exp_avg", "exp_avg_sq"))
        if group["maximize"]:
            grads = aten._foreach_neg(grads)
        aten._foreach_add_(steps, 1)
        if decay and group["decoupled_weight_decay"]:
            aten._foreach_mul_(params, 1 - lr * decay)
        elif decay:
            grads = aten._foreach_add(grads, params, alpha=decay)
        aten._foreach_lerp_(means, grads, 1 - beta1)
        aten._foreach_mul_(squares, beta2)
        aten._foreach_addcmul_(squares, grads, grads, 1 - beta2)
        counts = [aten.item(s) for s in steps]
        if group["amsgrad"]:
            largest = [s["max_exp_avg_sq"] for s in states]
            aten._foreach_maximum_(largest, squares)
            squares = largest
        roots = aten._foreach_sqrt(squares)
        aten._foreach_div_(roots, [(1 - beta2**n) ** 0.5 for n in counts])
        aten._foreach_add_(roots, group["eps"])
        aten._foreach_addcdiv_(params, means, roots, [-lr / (1 - beta1**n) for n in counts])

    def _fused_step(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]
    ) -> None:
        steps, means, squares = ([s[k] for s in states] for k in ("step", "exp_avg", "exp_avg_sq"))
        largest = [s["max_exp_avg_sq"] for s in states] if group["amsgrad"] else []
        aten._foreach_add_(steps, 1)
        call = aten._fused_adamw_ if group["decoupled_weight_decay"] else aten._fused_adam_
        beta1, beta2 = map(number, group["betas"])
        call(
            params,
            grads,
            means,
            squares,
            largest,
            steps,
            lr=number(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=group["amsgrad"],
            maximize=group["maximize"],
        )


class AdamW(Adam):
    """Adam with decoupled weight decay: the parameter shrinks by lr * weight_decay before each update.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
