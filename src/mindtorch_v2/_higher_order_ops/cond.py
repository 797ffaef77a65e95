"""A branch: `torch.cond`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...] | list[Any] = ()
) -> Any:
    """`true_fn(*operands)` where the condition holds, else `false_fn(*operands)`; only that one runs.

    >>> torch.cond(torch.tensor(3) > 2, torch.neg, torch.abs, (torch.ones(2),))
    tensor([-1., -1.])
    """
    single = isinstance(pred, (bool, int, float)) or (isinstance(pred, Tensor) and pred.numel() == 1)
    if not single:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError(f"Expect both branches to be callable, but got {true_fn!r} and {false_fn!r}.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"Expect operands to be a tuple or list of tensors, but got {operands!r}.")
    return (true_fn if bool(pred) else false_fn)(*operands)
