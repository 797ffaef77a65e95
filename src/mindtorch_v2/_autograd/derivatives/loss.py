"""Gradients of losses. The engine undoes broadcasting, so that a row may return one number per element."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..._dispatch.modes import grad_enabled
from ..rules import derivative
from .common import no_derivative

MEAN = 1


def share(t: Any, reduction: int) -> float:
    """What one element of `t` weighs in a loss."""
    if reduction != MEAN:
        return 1.0
    return 1.0 / t.numel() if t.numel() else float("nan")


def zeros_like(g: Any) -> Any:
    return aten.zeros_like(g)


# --- negative log likelihood ------------------------------------------------------------------------------------------


def _likelihood(name: str, node: str) -> None:
    """The rows of one of the two ops that pick a class."""

    def picked(g: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, result1: Any) -> Any:
        if g[0] is None:
            return None
        return getattr(aten, f"{name}_backward")(g[0], self, target, weight, reduction, ignore_index, result1)

    def second(g: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
        return getattr(aten, name)(g, target, weight, reduction, ignore_index)

    derivative(f"{name}_forward", node=f"{node}Backward0", self=picked, constant=(1,))
    derivative(f"{name}_backward", node=f"{node}BackwardBackward0", grad_output=second, self=zeros_like)


_likelihood("nll_loss", "NllLoss")
_likelihood("nll_loss2d", "NllLoss2D")


# --- differences ------------------------------------------------------------------------------------------------------

derivative(
    "mse_loss",
    self=lambda g, self, target, reduction: aten.mse_loss_backward(g, self, target, reduction),
    target=lambda g, self, target, reduction: aten.mse_loss_backward(g, target, self, reduction),
)
derivative(
    "smooth_l1_loss",
    self=lambda g, self, target, reduction, beta: aten.smooth_l1_loss_backward(g, self, target, reduction, beta),
    target=lambda g, self, target, reduction, beta: aten.smooth_l1_loss_backward(g, target, self, reduction, beta),
    node="SmoothL1LossBackward0",
)
derivative(
    "huber_loss",
    self=lambda g, self, target, reduction, delta: aten.huber_loss_backward(g, self, target, reduction, delta),
    target=lambda g, self, target, reduction, delta: aten.huber_loss_backward(g, target, self, reduction, delta),
)
derivative(
    "soft_margin_loss",
    self=lambda g, self, target, reduction: aten.soft_margin_loss_backward(g, self, target, reduction),
)


def _second_of_difference(
    g: Any, needs: Any, grad_output: Any, slope: Any, curvature: Any, count: float
) -> tuple[Any, ...]:
    """Of `grad_output * slope(self - target) * count`: by the gradient, and by both operands with opposite signs."""
    by_gradient = aten.mul(aten.mul(g, slope), count) if needs[0] else None
    by_self = by_target = None
    if needs[1] or needs[2]:
        by_self = aten.mul(aten.mul(g, grad_output), count)
        by_self = aten.mul(by_self, curvature)
        by_target = aten.neg(by_self)
    return by_gradient, by_self, by_target


def _mse_second(g: Any, needs: Any, grad_output: Any, self: Any, target: Any, reduction: int) -> tuple[Any, ...]:
    slope = aten.sub(self, target) if needs[0] else None
    return _second_of_difference(g, needs, grad_output, slope, 1, 2 * share(g, reduction))


def _smooth_l1_second(g: Any, needs: Any, grad_output: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    d = aten.sub(self, target)
    if beta == 0:
        slope, curvature = aten.sgn(d), aten.zeros_like(d)
    else:
        slope = aten.clamp(aten.div(d, beta), -1, 1)
        curvature = aten.div(aten.to(aten.lt(aten.abs(d), beta), d.dtype), beta)
    return _second_of_difference(g, needs, grad_output, slope, curvature, share(g, reduction))


def _huber_second(g: Any, needs: Any, grad_output: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    d = aten.sub(self, target)
    curvature = aten.to(aten.lt(aten.abs(d), delta), d.dtype)
    return _second_of_difference(g, needs, grad_output, aten.clamp(d, -delta, delta), curvature, share(g, reduction))


def _soft_margin_second(g: Any, needs: Any, grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    """The slope is -t * s with s = sigmoid(-t x); its own slope is t^2 s (1 - s)."""
    s = aten.sigmoid(aten.mul(aten.neg(self), target))
    count = share(g, reduction)
    by_gradient = aten.mul(aten.mul(aten.neg(g), aten.mul(target, s)), count) if needs[0] else None
    by_self = None
    if needs[1]:
        curvature = aten.mul(aten.mul(target, target), aten.mul(s, aten.rsub(s, 1)))
        by_self = aten.mul(aten.mul(aten.mul(g, grad_output), count), curvature)
    return by_gradient, by_self


_THREE = ("grad_output", "self", "target")
derivative("mse_loss_backward", inputs=_THREE, joint=_mse_second)
derivative("smooth_l1_loss_backward", inputs=_THREE, joint=_smooth_l1_second, node="SmoothL1LossBackwardBackward0")
derivative("huber_loss_backward", inputs=_THREE, joint=_huber_second)
derivative("soft_margin_loss_backward", inputs=("grad_output", "self"), joint=_soft_margin_second)


# --- binary cross entropy ---------------------------------------------------------------------------------------------


def _times_weight(t: Any, weight: Any) -> Any:
    return t if weight is None else aten.mul(t, weight)


def _mean_if_asked(t: Any, reduction: int) -> Any:
    """Divided by the count of elements for a mean; in place where nobody differentiates it."""
    if reduction != MEAN:
        return t
    return aten.div(t, t.numel()) if grad_enabled() else aten.div_(t, t.numel())


def _bce_by_target(g: Any, self: Any, weight: Any, reduction: int) -> Any:
    each = aten.mul(aten.sub(aten.log(aten.rsub(self, 1)), aten.log(self)), g)
    return _mean_if_asked(_times_weight(each, weight), reduction)


derivative(
    "binary_cross_entropy",
    self=lambda g, self, target, weight, reduction: aten.binary_cross_entropy_backward(
        g, self, target, weight, reduction
    ),
    target=lambda g, self, weight, reduction: _bce_by_target(g, self, weight, reduction),
)

_EPSILON = 1e-12


def _bce_second(
    g: Any, needs: Any, grad_output: Any, self: Any, target: Any, weight: Any, reduction: int
) -> tuple[Any, ...]:
    """Of (x - t) / (x (1 - x)) times the gradient: the curvature is (x^2 - 2 x t + t) / (x (1 - x))^2."""
    spread = aten.clamp_min(aten.sub(self, aten.mul(self, self)), _EPSILON)
    count = share(g, reduction)
    weighted = aten.mul(_times_weight(g, weight), count)
    by_gradient = aten.mul(weighted, aten.div(aten.sub(self, target), spread)) if needs[0] else None
    by_self = by_target = None
    if needs[1]:
        top = aten.add(aten.sub(aten.mul(self, self), aten.mul(aten.mul(self, target), 2)), target)
        curvature = aten.div(top, aten.clamp_min(aten.mul(spread, spread), _EPSILON))
        by_self = aten.mul(aten.mul(weighted, grad_output), curvature)
    if needs[2]:
        by_target = aten.div(aten.neg(aten.mul(weighted, grad_output)), spread)
    return by_gradient, by_self, by_target


derivative("binary_cross_entropy_backward", inputs=_THREE, joint=_bce_second)


def _logits_by_self(g: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    again = grad_enabled()
    sub, mul = (aten.sub, aten.mul) if again else (aten.sub_, aten.mul_)
    if pos_weight is None:
        each = sub(aten.sigmoid(self), target)
    else:
        certain = aten.mul(pos_weight, target)
        each = sub(mul(sub(aten.add(certain, 1), target), aten.sigmoid(self)), certain)
    each = mul(each, g) if each.dtype is g.dtype else aten.mul(each, g)
    return _mean_if_asked(_times_weight(each, weight), reduction)


def _logits_by_target(g: Any, self: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    if pos_weight is None:
        each = aten.mul(aten.neg(self), g)
    else:
        each = aten.sub(aten.log_sigmoid(aten.neg(self)), aten.mul(pos_weight, aten.log_sigmoid(self)))
        each = aten.mul(each, g)
    return _mean_if_asked(_times_weight(each, weight), reduction)


derivative("binary_cross_entropy_with_logits", self=_logits_by_self, target=_logits_by_target)


# --- margins and sequences --------------------------------------------------------------------------------------------


def _multi_margin(g: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any, reduction: int) -> Any:
    return aten.multi_margin_loss_backward(g, self, target, p, margin, weight, reduction)


def _multilabel_margin(g: Any, self: Any, target: Any, reduction: int, result1: Any) -> Any:
    return None if g[0] is None else aten.multilabel_margin_loss_backward(g[0], self, target, reduction, result1)


def _ctc(
    g: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
    result0: Any,
    result1: Any,
) -> Any:
    if g[0] is None:
        return None
    return aten._ctc_loss_backward(
        g[0], log_probs, targets, input_lengths, target_lengths, result0, result1, blank, zero_infinity
    )


derivative("multi_margin_loss", self=_multi_margin)
derivative(
    "multilabel_margin_loss_forward", node="MultilabelMarginLossBackward0", self=_multilabel_margin, constant=(1,)
)
derivative("_ctc_loss", log_probs=_ctc, constant=(1,))
no_derivative("multi_margin_loss_backward", "grad_output", "self")
no_derivative("multilabel_margin_loss_backward", "grad_output", "self")
no_derivative("_ctc_loss_backward", "grad", "log_probs")
