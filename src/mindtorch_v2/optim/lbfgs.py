"""L-BFGS: a quasi-Newton method that remembers the last few steps."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from ._options import as_real, check_rate, number
from .line_search import strong_wolfe
from .optimizer import Closure, Optimizer

__all__ = ["LBFGS"]

_KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")  # from one step to the next


class LBFGS(Optimizer):
    """Minimises the closure's loss along directions from the last `history_size` differences of gradients and
    parameters.

    One `step` makes up to `max_iter` iterations and calls the closure several times. With
    line_search_fn="strong_wolfe" the length of each move satisfies the strong Wolfe conditions; otherwise it is `lr`
    (shorter at the very first).

    >>> w = torch.zeros(1, requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> w.detach().round()
    tensor([3.])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    # --- all parameters as one vector of reals ------------------------------------------------------------------------
    def _flat_grad(self) -> Tensor:
        parts = [
            aten.zeros([p.numel()], dtype=p.dtype, device=p.device) if p._grad is None else p._grad.reshape(-1)
            for p in self._params
        ]
        return aten.cat([part.reshape(-1) for part in as_real(*parts)], 0)

    def _move(self, length: Any, direction: Tensor) -> None:
        offset = 0
        for p in as_real(*self._params):
            n = p.numel()
            aten.add_(p, direction[offset : offset + n].view_as(p), alpha=number(length))
            offset += n

    def _probe(self, closure: Any, start: list[Tensor], length: Any, direction: Tensor) -> tuple[float, Tensor]:
        """The loss and gradient at a point along the direction; the parameters are put back."""
        self._move(length, direction)
        loss = float(closure())
        grad = self._flat_grad()
        for p, old in zip(self._params, start):
            aten.copy_(p, old)
        return loss, grad

    # --- the iteration ------------------------------------------------------------------------------------------------
    def step(self, closure: Closure) -> Any:  # type: ignore[override]
        """Runs up to `max_iter` iterations; `closure` must clear gradients, compute the loss and call backward."""
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
        work = {name: state.get(name) for name in _KEPT}  # the state of the first parameter takes it over at the end
        evaluations, iterations = 1, 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            self._update_direction(state, work, grad, group)
            direction = work["d"]
            work["prev_flat_grad"], work["prev_loss"] = aten.clone(grad), loss
            lr = group["lr"].reshape(()) if isinstance(group["lr"], Tensor) else group["lr"]
            # a number or a tensor
            shortened: Any = min(1.0, 1.0 / grad.abs().sum()) if state["n_iter"] == 1 else None
            work["t"] = length = lr if shortened is None else shortened * lr
            slope = aten.dot(grad, direction)
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                left = group["max_eval"] - evaluations
                loss, grad, length, used = self._search(evaluate, direction, length, loss, grad, slope, left)
                work["t"] = length
            else:
                self._move(length, direction)
                used = 0
                if iterations != group["max_iter"]:
                    loss, grad, used = float(evaluate()), self._flat_grad(), 1
            evaluations += used
            state["func_evals"] += used
            if self._has_converged(group, work["prev_loss"], iterations, evaluations, grad, direction, length, loss):
                break
        state.update(work)
        return first_loss

    def _has_converged(
        self,
        group: dict[str, Any],
        before: float,
        iterations: int,
        evaluations: int,
        grad: Tensor,
        direction: Tensor,
        length: Any,
        loss: float,
    ) -> bool:
        return (
            iterations == group["max_iter"]
            or evaluations >= group["max_eval"]
            or _largest(grad) <= group["tolerance_grad"]
            or _largest(direction * length) <= group["tolerance_change"]
            or abs(loss - before) < group["tolerance_change"]
        )

    def _search(
        self, evaluate: Any, direction: Tensor, length: Any, loss: float, grad: Tensor, slope: Tensor, left: int
    ) -> tuple[float, Tensor, Any, int]:
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [aten.clone(p) for p in self._params]
        loss, grad, length, used = strong_wolfe(
            lambda t: self._probe(evaluate, start, t, direction), length, direction, loss, grad, slope, left
        )
        self._move(length, direction)
        return loss, grad, length, used

    def _update_direction(
        self, state: dict[str, Any], work: dict[str, Any], grad: Tensor, group: dict[str, Any]
    ) -> None:
        """The two-loop recursion over the remembered differences."""
        if state["n_iter"] == 1:
            work.update(d=aten.neg(grad), old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return
        y = aten.sub(grad, work["prev_flat_grad"])
        s = aten.mul(work["d"], work["t"])
        ys = aten.dot(y, s)
        if ys > 1e-10:
            if len(work["old_dirs"]) == group["history_size"]:
                for name in ("old_dirs", "old_stps", "ro"):
                    work[name].pop(0)
            work["old_dirs"].append(y)
            work["old_stps"].append(s)
            work["ro"].append(1.0 / ys)
            work["H_diag"] = ys / aten.dot(y, y)
        weights = state.setdefault("al", [None] * group["history_size"])
        past = list(zip(work["old_dirs"], work["old_stps"], work["ro"]))
        q = aten.neg(grad)
        for i, (y, s, ro) in reversed(list(enumerate(past))):
            weights[i] = aten.dot(s, q) * ro
            aten.add_(q, y, alpha=-number(weights[i]))
        d = aten.mul(q, work["H_diag"])
        for weight, (y, s, ro) in zip(weights, past):
            aten.add_(d, s, alpha=number(weight - aten.dot(y, d) * ro))
        work["d"] = d


def _largest(t: Tensor) -> float:
    return float(t.abs().max())
