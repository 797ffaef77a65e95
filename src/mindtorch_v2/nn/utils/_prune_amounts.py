"""How much is pruned: checks and counts for `torch.nn.utils.prune`."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from ..._dispatch.namespace import public as torch
from ..._tensor import Tensor, contiguous_format


def check_amount(amount: Any) -> None:
    """An amount is a fraction (float in [0, 1]) or a number of entries (int)."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def check_amount_fits(count: int, available: int) -> None:
    """No more can be pruned than there is."""
    if count > available:
        raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={available}")


def pruned_count(amount: Any, available: int) -> int:
    """How many of `available` entries an amount means."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * available)


def check_structured(t: Tensor) -> None:
    """Channels exist only where there are two dimensions or more."""
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. "
            f"Found tensor of shape {t.shape} with {t.dim()} dims"
        )


def check_dimension(t: Tensor, dim: int) -> None:
    """The dimension of the channels must be one of the tensor's."""
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def channel_norms(t: Tensor, n: Any, dim: int) -> Tensor:
    """The n-norm of every slice along `dim`: one number per channel."""
    others = [d for d in range(t.dim()) if d != dim % t.dim()]
    return torch.norm(t, p=n, dim=others)


def without_entries(amount: float, t: Tensor, mask: Tensor, scores: Callable[[], Tensor], largest: bool) -> Tensor:
    """The mask without the `amount` entries of the largest (or smallest) scores."""
    count = pruned_count(amount, t.nelement())
    check_amount_fits(count, t.nelement())
    made = mask.clone(memory_format=contiguous_format)
    if count:
        where = torch.topk(scores().reshape(-1), k=count, largest=largest).indices
        made.view(-1)[where] = 0
    return made


def without_channels(amount: float, t: Tensor, dim: int, mask: Tensor, scores: Callable[[], Tensor]) -> Tensor:
    """The mask without the `amount` channels of the smallest scores."""
    check_structured(t)
    check_dimension(t, dim)
    channels = t.shape[dim]
    count = pruned_count(amount, channels)
    check_amount_fits(count, channels)
    if not count:
        return mask
    kept = torch.zeros(channels, dtype=mask.dtype, device=mask.device)
    kept[torch.topk(scores(), k=channels - count, largest=True).indices] = 1
    shape = [1] * t.dim()
    shape[dim] = channels
    return mask * kept.view(shape)
