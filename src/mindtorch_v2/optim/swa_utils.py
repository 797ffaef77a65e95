"""Averages of models over training: `torch.optim.swa_utils`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from .._autograd.grad_mode import no_grad
from .._dispatch import aten
from .._python.creation import tensor
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from .lr_scheduler import LRScheduler
from .optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that moves lists of averages towards lists of parameters: exponential means."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        for mean, p in zip(ema_param_list, current_param_list):
            if mean.dtype.inexact:
                aten.lerp_(mean, p, 1 - decay)
            else:
                aten.copy_(mean, aten.to(mean * decay + p * (1 - decay), mean.dtype))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """The same for equally weighted means."""

    @no_grad()
    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        share = 1 / (float(num_averaged) + 1)
        for mean, p in zip(averaged_param_list, current_param_list):
            if mean.dtype.inexact:
                aten.lerp_(mean, p, share)
            else:
                aten.copy_(mean, aten.to(mean + (p - mean) * share, mean.dtype))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """A function of (mean, parameter, count) that gives the new exponential mean."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """A function of (mean, parameter, count) that gives the new equally weighted mean."""

    @no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model (`module`) whose parameters are averages; `update_parameters(model)` adds what the model has
    now.

    `use_buffers` averages buffers too; else they are copied from the model at each update.
    """

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Adds the model's parameters to the averages; the first call copies them."""
        mine, others = list(self.module.parameters()), list(model.parameters())
        if self.use_buffers:
            mine += list(self.module.buffers())
            others += list(model.buffers())
        means, now = [t.detach() for t in mine], [p.detach().to(m.device) for p, m in zip(others, mine)]
        if int(self.n_averaged) == 0:
            for mean, p in zip(means, now):
                mean.copy_(p)
        elif self.avg_fn is not None:
            for mean, p in zip(means, now):
                mean.copy_(self.avg_fn(mean, p, self.n_averaged.to(mean.device)))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(means, now, self.n_averaged)
        if not self.use_buffers:
            for buffer, other in zip(self.module.buffers(), model.buffers()):
                buffer.detach().copy_(other.detach().to(buffer.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running statistics of batch normalisations anew, from one pass over the data."""
    momenta: dict[Any, Any] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        data = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(data.to(device) if device is not None else data)
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the learning rate of every group to `swa_lr` over `anneal_epochs`, by a cosine or a line, and keeps it
    there.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(optimizer.param_groups)
        if len(rates) != len(optimizer.param_groups):
            raise ValueError(
                f"swa_lr must have the same length as optimizer.param_groups: swa_lr has {len(rates)}, "
                f"optimizer.param_groups has {len(optimizer.param_groups)}"
            )
        for rate, group in zip(rates, optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, t: float) -> float:
        """How far the annealing has come, from 0 to 1, at `t` of the way."""
        t = max(0.0, min(1.0, t))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def _initial_lr(self, lr: Any, swa_lr: Any, alpha: float) -> Any:
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def get_lr(self) -> list[Any]:
        """The next rates: the one before is undone to the rate that annealing began from."""
        if not getattr(self, "_get_lr_called_within_step", True):
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=2,
            )
        step = getattr(self, "_step_count", 1) - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self._share(max(0.0, min(1.0, (step - 1) / max(1, self.anneal_epochs))))
        now = self._share(max(0.0, min(1.0, step / max(1, self.anneal_epochs))))
        first = [self._initial_lr(g["lr"], g["swa_lr"], before) for g in self.optimizer.param_groups]
        return [g["swa_lr"] * now + lr * (1 - now) for g, lr in zip(self.optimizer.param_groups, first)]
