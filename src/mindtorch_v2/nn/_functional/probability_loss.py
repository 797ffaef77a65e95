"""Losses of predicted distributions."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._dispatch import aten
from ..._dispatch.namespace import public
from ..._tensor import Tensor
from .._reduction import get_enum, legacy_get_string, number
from .loss import Flag, _reduce


# --- likelihoods
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log(target) - input), for log-probabilities; "batchmean" divides the sum by the batch size.

    >>> F.kl_div(torch.tensor([0.5, 0.5]).log(), torch.tensor([1., 0.]), reduction="sum")
    tensor(0.6931)
    """
    batchmean = False
    if size_average is not None or reduce is not None:
        mode = number(reduction, size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
                "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed to "
                "behave the same as 'batchmean' in the next major release.",
                stacklevel=2,
            )
        batchmean = reduction == "batchmean"
        mode = 2 if batchmean else get_enum(reduction)
    loss = aten.kl_div(input, target, mode, log_target=log_target)
    return loss / input.size()[0] if batchmean and input.dim() != 0 else loss


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Flag = None,
    eps: float = 1e-8,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(input) - target * input, or input - target * log(input + eps).

    >>> F.poisson_nll_loss(torch.tensor([0.]), torch.tensor([2.]))
    tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    return aten.poisson_nll_loss(input, target, log_input, full, eps, get_enum(reduction))


def _checked_variance(input: Tensor, var: Tensor | float) -> Tensor:
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        return var * public.ones_like(input)
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    have, want = tuple(var.shape), tuple(input.shape)
    if have == want:
        return var
    if want[:-1] == have:
        return var.unsqueeze(-1)
    if len(have) == len(want) and sum(v for v, i in zip(have, want) if v != i) == 1:
        return var
    raise ValueError("var is of incorrect size")


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """(log(var) + (input - target) ** 2 / var) / 2, with var at least eps.

    >>> F.gaussian_nll_loss(torch.tensor([1.]), torch.tensor([2.]), torch.tensor([1.]))
    tensor(0.5000)
    """
    variance = _checked_variance(input, var)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    variance = variance.clone()
    with no_grad():
        variance.clamp_(min=eps)
    loss = 0.5 * (aten.log(variance) + (input - target) ** 2 / variance)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: -log of the probability of all alignments of the targets.

    >>> log_probs, targets = torch.randn(4, 1, 3).log_softmax(2), torch.tensor([[1, 2]])
    >>> F.ctc_loss(log_probs, targets, torch.tensor([4]), torch.tensor([2])).shape
    torch.Size([])
    """
    return aten.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, get_enum(reduction), zero_infinity)
