"""Fused optimizer steps as programs of several operators."""

from __future__ import annotations

from typing import Any

from ... import _dtype as dt
from ..._tensor import bump_version
from . import row_helpers
from .boxing import launch_named, run
from .copies import NPU, copy_
from .launcher import Rejected


def fused_sgd_(
    p: Any,
    grad: Any,
    buffer: Any,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: float | None,
) -> None:
    """One parameter's step of `_fused_sgd_`."""
    step = _gradient(p, grad, weight_decay, maximize, grad_scale)
    if momentum:
        if is_first_step:
            copy_(buffer, step, False)
        else:
            run("add_.Tensor", run("mul_.Tensor", buffer, momentum), step, 1 - dampening)
        step = run("add.Tensor", step, buffer, momentum) if nesterov else buffer
    run("add_.Tensor", p, step, -lr)


def fused_adam_(
    p: Any,
    grad: Any,
    average: Any,
    squares: Any,
    largest: Any,
    *,
    step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    decoupled: bool,
    grad_scale: float | None,
) -> None:
    """One parameter's step of `_fused_adamw_` (decoupled) or `_fused_adam_`: one operator, given the decayed
    gradient.
    """
    if not decoupled:
        grad = _gradient(p, grad, weight_decay, maximize, grad_scale)
        weight_decay, maximize = 0.0, False
    elif grad_scale is not None:
        run("mul_.Tensor", grad, 1 / grad_scale)
    if step._keys & NPU:
        step = run("sub.Tensor", step, 1)  # the operator counts the steps before this one
    else:
        step = row_helpers.full_scalar(step._array.item() - 1, dt.float32, p.device)
    try:
        launch_named(
            "ApplyAdamWV2",
            (
                p,
                average,
                squares,
                largest,
                grad,
                step,
                lr,
                beta1,
                beta2,
                weight_decay,
                eps,
                largest is not None,
                maximize,
            ),
            p.device.index,
        )
    except Rejected as why:
        raise NotImplementedError(
            f"the NPU has no fused Adam for a parameter of type {p.dtype}: {why}; use foreach=True"
        ) from None
    for t in (p, average, squares, largest):
        if t is not None:
            bump_version(t)


def _gradient(p: Any, grad: Any, weight_decay: float, maximize: bool, grad_scale: float | None) -> Any:
    """The gradient of what is minimised, with L2 decay."""
    if grad_scale is not None:
        run("mul_.Tensor", grad, 1 / grad_scale)
    if maximize:
        grad = run("neg", grad)
    return run("add.Tensor", grad, p, weight_decay) if weight_decay else grad
