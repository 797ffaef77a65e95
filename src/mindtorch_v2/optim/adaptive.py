"""Relatives of Adam and RMSprop: Adamax, NAdam, RAdam, RMSprop, Adagrad, Adadelta.

Each subclass gives its defaults, the state of a parameter, and the update of one parameter; the loop is shared.
"""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from ._options import check_fused, check_range, check_rate, coefficient, new_step, number
from ._per_parameter import _moments, _PerParameter, _plus, _state_for_graph
from .adam import check_betas

__all__ = ["Adadelta", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop"]


class Adamax(_PerParameter):
    """Adam with the largest (decayed) gradient size in place of the root mean square.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adamax(model.parameters(), lr=2e-3)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(), "exp_avg": aten.zeros_like(p), "exp_inf": aten.zeros_like(p)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        aten.lerp_(state["exp_avg"], g, 1 - beta1)
        largest = state["exp_inf"]
        decayed = aten.mul(largest, beta2) if group["differentiable"] else aten.mul_(largest, beta2)
        aten.copy_(largest, aten.maximum(decayed, _plus(aten.abs(g), group["eps"], group)))
        rate = number(group["lr"]) / (1 - beta1 ** aten.item(state["step"]))
        aten.addcdiv_(p, _state_for_graph(state["exp_avg"], group), _state_for_graph(largest, group), value=-rate)


class NAdam(_PerParameter):
    """Adam with Nesterov momentum, whose coefficient grows over the steps.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    _also = ", mu_products"

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        check_range("momentum_decay value", momentum_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": new_step(),
            "mu_product": aten.add(new_step(), 1.0),
            "exp_avg": aten.zeros_like(p),
            "exp_avg_sq": aten.zeros_like(p),
        }

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        n, lr, slope = aten.item(state["step"]), number(group["lr"]), group["momentum_decay"]
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (n * slope))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((n + 1) * slope))
        aten.mul_(state["mu_product"], mu)
        _moments(g, state, group)
        denominator = _plus(aten.sqrt(aten.div(state["exp_avg_sq"], 1 - beta2**n)), group["eps"], group)
        if group["differentiable"]:
            share = aten.clone(state["mu_product"])
            aten.addcdiv_(p, g * (-lr * (1.0 - mu) / (1.0 - share)), denominator)
            aten.addcdiv_(p, state["exp_avg"] * (-lr * mu_next / (1.0 - share * mu_next)), denominator)
            return
        product = aten.item(state["mu_product"])
        aten.addcdiv_(p, g, denominator, value=-lr * (1.0 - mu) / (1.0 - product))
        aten.addcdiv_(p, state["exp_avg"], denominator, value=-lr * mu_next / (1.0 - product * mu_next))


class RAdam(_PerParameter):
    """Adam that starts as momentum SGD, until its estimate of the variance can be trusted.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.RAdam(model.parameters(), lr=1e-3)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(), "exp_avg": aten.zeros_like(p), "exp_avg_sq": aten.zeros_like(p)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        _moments(g, state, group)
        beta1, beta2 = group["betas"]
        n = aten.item(state["step"])
        left = 1 - beta2**n
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * n * beta2**n / left
        move = aten.mul(aten.div(state["exp_avg"], 1 - beta1**n), coefficient(group["lr"]))
        if length > 5.0:
            trust = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) ** 0.5
            adapt = aten.div(left**0.5 * aten.ones_like(move), aten.add(aten.sqrt(state["exp_avg_sq"]), group["eps"]))
            move = aten.mul(aten.mul(move, adapt), trust)
        aten.add_(p, move, alpha=-1.0)


class RMSprop(_PerParameter):
    """Divides the gradient by a running root mean square of its size; optionally centered, with momentum.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_range("epsilon value", eps)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        check_range("alpha value", alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": new_step(), "square_avg": aten.zeros_like(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = aten.zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = aten.zeros_like(p)
        return state

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        alpha, lr = group["alpha"], number(group["lr"])
        square = aten.addcmul_(aten.mul_(state["square_avg"], alpha), g, g, value=1 - alpha)
        if group["centered"]:
            mean = _state_for_graph(aten.lerp_(state["grad_avg"], g, 1 - alpha), group)
            size = aten.sqrt_(aten.addcmul(square, mean, mean, value=-1))
        else:
            size = aten.sqrt(square)
        size = _plus(size, group["eps"], group)
        if group["momentum"] > 0:
            buffer = aten.addcdiv_(aten.mul_(state["momentum_buffer"], group["momentum"]), g, size)
            aten.add_(p, buffer, alpha=-lr)
        else:
            aten.addcdiv_(p, g, size, value=-lr)


class Adagrad(_PerParameter):
    """Divides the gradient by the root of the sum of its squares so far.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_range("lr_decay value", lr_decay)
        check_range("weight_decay value", weight_decay)
        check_range("initial_accumulator_value value", initial_accumulator_value)
        check_range("epsilon value", eps)
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:  # the sums exist from the start, as checkpoints expect
            for p in group["params"]:
                self.state[p].update(self._new_state(p, group))

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = group["initial_accumulator_value"]
        whole = complex(start, start) if p.dtype.is_complex else start
        return {"step": new_step(fused=bool(group["fused"])), "sum": aten.full_like(p, whole)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rate = number(group["lr"]) / (1 + (aten.item(state["step"]) - 1) * group["lr_decay"])
        total = aten.addcmul_(state["sum"], g, g, value=1)
        aten.addcdiv_(p, g, _plus(aten.sqrt(total), group["eps"], group), value=-rate)


class Adadelta(_PerParameter):
    """Scales the gradient by the ratio of running sizes of past updates and of gradients.

    >>> model = nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_range("epsilon value", eps)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(), "square_avg": aten.zeros_like(p), "acc_delta": aten.zeros_like(p)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        square = aten.addcmul_(aten.mul_(state["square_avg"], rho), g, g, value=1 - rho)
        size = aten.sqrt_(aten.add(square, eps))
        delta = aten.sqrt_(aten.add(state["acc_delta"], eps))
        delta = aten.mul(aten.div(delta, size), g) if group["differentiable"] else aten.mul_(aten.div_(delta, size), g)
        aten.addcmul_(aten.mul_(state["acc_delta"], rho), delta, delta, value=1 - rho)
        aten.add_(p, delta, alpha=-number(group["lr"]))
