"""L-BFGS: a quasi-Newton method that remembers the last few steps."""
from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from .line_search import strong_wolfe
from .optimizer import Closure, Optimizer, check_range

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Minimises the closure's loss along directions from the last `history_size` differences of gradients and parameters.

    One `step` makes up to `max_iter` iterations and calls the closure several times. With line_search_fn="strong_wolfe" the
    length of each move satisfies the strong Wolfe conditions; otherwise it is `lr` (shorter at the very first).
    """

    def __init__(self, params: Any, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_range("learning rate", lr)
        super().__init__(params, {"lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                                  "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                                  "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    # --- all parameters as one vector ---------------------------------------------------------------------------------
    def _flat_grad(self) -> Tensor:
        parts = [aten.zeros([p.numel()], dtype=p.dtype) if p._grad is None else p._grad.reshape(-1) for p in self._params]
        return aten.cat(parts, 0)

    def _move(self, length: float, direction: Tensor) -> None:
        offset = 0
        for p in self._params:
            n = p.numel()
            aten.add_(p, direction[offset:offset + n].view_as(p), alpha=length)
            offset += n

    def _probe(self, closure: Any, start: list[Tensor], length: float, direction: Tensor) -> tuple[float, Tensor]:
        """The loss and gradient at a point along the direction; the parameters are put back."""
        self._move(length, direction)
        loss = float(closure())
        grad = self._flat_grad()
        for p, old in zip(self._params, start):
            aten.copy_(p, old)
        return loss, grad

    # --- the iteration ------------------------------------------------------------------------------------------------
    def step(self, closure: Closure | None = None) -> Any:
        """Runs up to `max_iter` iterations; `closure` must clear gradients, compute the loss and call backward."""
        if closure is None:
            raise RuntimeError("LBFGS needs a closure that recomputes the loss")
        group = self.param_groups[0]

        def evaluate() -> Any:
            return self._evaluate(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate()
        loss, grad = float(first_loss), self._flat_grad()
        state["func_evals"] += 1
        if _largest(grad) <= group["tolerance_grad"]:
            return first_loss
        evaluations, iterations = 1, 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            self._update_direction(state, grad, group)
            direction = state["d"]
            state["prev_flat_grad"], state["prev_loss"] = aten.clone(grad), loss
            lr = float(group["lr"])
            length = min(1.0, 1.0 / float(grad.abs().sum())) * lr if state["n_iter"] == 1 else lr
            slope = float(aten.dot(grad, direction))
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                loss, grad, length, used = self._search(evaluate, direction, length, loss, grad, slope, group)
            else:
                self._move(length, direction)
                used = 0
                if iterations != group["max_iter"]:
                    loss, grad, used = float(evaluate()), self._flat_grad(), 1
            state["t"] = length
            evaluations += used
            state["func_evals"] += used
            if self._finished(group, state, iterations, evaluations, grad, direction, length, loss):
                break
        return first_loss

    def _finished(self, group: dict[str, Any], state: dict[str, Any], iterations: int, evaluations: int, grad: Tensor,
                  direction: Tensor, length: float, loss: float) -> bool:
        return (iterations == group["max_iter"] or evaluations >= group["max_eval"] or _largest(grad) <= group["tolerance_grad"]
                or _largest(direction * length) <= group["tolerance_change"]
                or abs(loss - state["prev_loss"]) < group["tolerance_change"])

    def _search(self, evaluate: Any, direction: Tensor, length: float, loss: float, grad: Tensor, slope: float,
                group: dict[str, Any]) -> tuple[float, Tensor, float, int]:
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [aten.clone(p) for p in self._params]
        loss, grad, length, used = strong_wolfe(lambda t: self._probe(evaluate, start, t, direction), length, direction, loss, grad,
                                                slope)
        self._move(length, direction)
        return loss, grad, length, used

    def _update_direction(self, state: dict[str, Any], grad: Tensor, group: dict[str, Any]) -> None:
        """The two-loop recursion over the remembered differences."""
        if state["n_iter"] == 1:
            state.update(d=aten.neg(grad), old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return
        y = aten.sub(grad, state["prev_flat_grad"])
        s = aten.mul(state["d"], state["t"])
        ys = float(aten.dot(y, s))
        if ys > 1e-10:
            if len(state["old_dirs"]) == group["history_size"]:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(y)
            state["old_stps"].append(s)
            state["ro"].append(1.0 / ys)
            state["H_diag"] = ys / float(aten.dot(y, y))
        q = aten.neg(grad)
        weights = []
        for y, s, ro in zip(reversed(state["old_dirs"]), reversed(state["old_stps"]), reversed(state["ro"])):
            weight = float(aten.dot(s, q)) * ro
            weights.append(weight)
            aten.add_(q, y, alpha=-weight)
        d = aten.mul(q, state["H_diag"])
        for y, s, ro, weight in zip(state["old_dirs"], state["old_stps"], state["ro"], reversed(weights)):
            aten.add_(d, s, alpha=weight - float(aten.dot(y, d)) * ro)
        state["d"] = d


def _largest(t: Tensor) -> float:
    return float(t.abs().max())
