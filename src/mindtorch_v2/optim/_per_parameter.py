"""Optimizers that update one parameter after the other, and what their updates share."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from ._options import as_real, gradients, number, real_state
from .optimizer import Closure, Optimizer


class _PerParameter(Optimizer):
    """An optimizer whose update of one parameter does not look at the others.

    Updates see complex parameters as pairs of reals. Where the group is differentiable they overwrite nothing that a
    graph keeps.
    """

    _also = ""  # further state that must lie on the device to be captured

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def step(self, closure: Closure | None = None) -> Any:
        """Updates every parameter that has a gradient."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            for p, g in zip(*gradients(group, self._also)):
                state = self.state[p]
                if not state:
                    state.update(self._new_state(p, group))
                aten.add_(state["step"], 1)
                if group["maximize"]:
                    g = aten.neg(g)
                if p.dtype.is_complex:
                    p, g = as_real(p, g)
                    state = real_state(state)
                decay = group.get("weight_decay")
                if decay and group.get("decoupled_weight_decay"):
                    aten.mul_(p, 1 - number(group["lr"]) * decay)
                elif decay:
                    g = aten.add(g, p, alpha=decay)
                self._update(p, g, state, group)
        return loss


def _plus(t: Tensor, eps: float, group: dict[str, Any]) -> Tensor:
    """A fresh tensor plus a number; in place if no graph needs what it was."""
    return aten.add(t, eps) if group["differentiable"] else aten.add_(t, eps)


def _state_for_graph(t: Tensor, group: dict[str, Any]) -> Tensor:
    """State as a graph may keep it: the next step writes into the state itself."""
    return aten.clone(t) if group["differentiable"] else t


def _moments(g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    """Moves the running means of the gradient and of its square."""
    beta1, beta2 = group["betas"]
    aten.lerp_(state["exp_avg"], g, 1 - beta1)
    aten.addcmul_(aten.mul_(state["exp_avg_sq"], beta2), g, g, value=1 - beta2)
