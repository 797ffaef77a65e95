"""Adam, and AdamW with decoupled weight decay."""
from __future__ import annotations

from typing import Any

from .._creation import tensor
from .._dispatch import aten
from .._dtype import float32, get_default_dtype
from .._tensor import Tensor
from .optimizer import Closure, Optimizer, check_range, gradients, number

__all__ = ["Adam", "AdamW"]


def check_betas(betas: Any) -> None:
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def new_step() -> Tensor:
    """A step counter: a 0-dim tensor, as checkpoints hold it."""
    kind = get_default_dtype()
    return tensor(0.0, dtype=kind if kind.itemsize == 8 else float32)


class Adam(Optimizer):
    """Adam: running means of the gradient (m) and of its square (v), corrected for their start at zero.

    p -= lr * m_hat / (sqrt(v_hat) + eps). `weight_decay` is added to the gradient, or with `decoupled_weight_decay` shrinks the
    parameter directly; `amsgrad` keeps the largest v seen.
    """

    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
                 decoupled_weight_decay: bool = False) -> None:
        check_range("learning rate", lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        if foreach and fused:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "differentiable": differentiable, "fused": fused,
                                  "decoupled_weight_decay": decoupled_weight_decay})

    def _state_of(self, p: Tensor, amsgrad: bool) -> dict[str, Any]:
        state = self.state[p]
        if not state:
            state["step"] = new_step()
            state["exp_avg"] = aten.zeros_like(p)
            state["exp_avg_sq"] = aten.zeros_like(p)
            if amsgrad:
                state["max_exp_avg_sq"] = aten.zeros_like(p)
        return state

    def step(self, closure: Closure | None = None) -> Any:
        """Updates every parameter that has a gradient."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            params, grads = gradients(group)
            if not params:
                continue
            states = [self._state_of(p, group["amsgrad"]) for p in params]
            if group["fused"]:
                self._fused(group, params, grads, states)
            elif group["foreach"]:
                self._foreach(group, params, grads, states)
            else:
                self._single(group, params, grads, states)
        return loss

    def _single(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]) -> None:
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
            correction = (1 - beta2 ** n) ** 0.5
            if amsgrad:
                largest = state["max_exp_avg_sq"]
                aten.copy_(largest, aten.maximum(largest, square))
                square = largest
            denominator = aten.add_(aten.div(aten.sqrt(square), correction), eps)
            aten.addcdiv_(p, mean, denominator, value=-lr / (1 - beta1 ** n))

    def _foreach(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]) -> None:
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
        aten._foreach_div_(roots, [(1 - beta2 ** n) ** 0.5 for n in counts])
        aten._foreach_add_(roots, group["eps"])
        aten._foreach_addcdiv_(params, means, roots, [-lr / (1 - beta1 ** n) for n in counts])

    def _fused(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], states: list[dict[str, Any]]) -> None:
        steps, means, squares = ([s[k] for s in states] for k in ("step", "exp_avg", "exp_avg_sq"))
        largest = [s["max_exp_avg_sq"] for s in states] if group["amsgrad"] else []
        aten._foreach_add_(steps, 1)
        call = aten._fused_adamw_ if group["decoupled_weight_decay"] else aten._fused_adam_
        beta1, beta2 = map(number, group["betas"])
        call(params, grads, means, squares, largest, steps, lr=number(group["lr"]), beta1=beta1, beta2=beta2,
             weight_decay=group["weight_decay"], eps=group["eps"], amsgrad=group["amsgrad"], maximize=group["maximize"])


class AdamW(Adam):
    """Adam with decoupled weight decay: the parameter shrinks by lr * weight_decay before each update."""

    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)
