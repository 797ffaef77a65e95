"""Losses. `reduction` is "none" (one value per element), "mean" or "sum"."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._dispatch import aten
from ..._shape import broadcast_shapes
from ..._tensor import Tensor
from .._reduction import get_enum, legacy_get_string, number

Flag = bool | None


def _warn_sizes(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    """`loss` after a reduction given by name."""
    if reduction == "none":
        return loss
    return aten.mean(loss) if reduction == "mean" else aten.sum(loss)


def _pairwise(
    op: Callable[..., Tensor],
    input: Tensor,
    target: Tensor,
    reduction: str,
    size_average: Flag,
    reduce: Flag,
    weight: Tensor | None,
    *parameters: float,
) -> Tensor:
    """A loss between equal elements, optionally weighted."""
    _warn_sizes(input, target)
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    a, b = aten.broadcast_tensors([input, target])
    if weight is None:
        return op(a, b, get_enum(reduction), *parameters)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = op(a, b, 0, *parameters) * weight
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    if reduction == "mean" and not parameters:
        return aten.sum(weighted) / aten.sum(weight)
    return _reduce(weighted, reduction)


# --- differences
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target) ** 2.

    >>> F.mse_loss(torch.tensor([0., 2.]), torch.tensor([1., 4.]))
    tensor(2.5000)
    """
    return _pairwise(aten.mse_loss, input, target, reduction, size_average, reduce, weight)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|.

    >>> F.l1_loss(torch.tensor([0., 2.]), torch.tensor([1., 4.]))
    tensor(1.5000)
    """
    return _pairwise(aten.l1_loss, input, target, reduction, size_average, reduce, weight)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d ** 2 / (2 * beta) where d = |input - target| < beta, else d - beta / 2.

    >>> F.smooth_l1_loss(torch.tensor([0., 0.]), torch.tensor([0.5, 3.]))
    tensor(1.3125)
    """
    if beta == 0.0:
        return _pairwise(aten.l1_loss, input, target, reduction, size_average, reduce, None)
    return _pairwise(aten.smooth_l1_loss, input, target, reduction, size_average, reduce, None, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d ** 2 / 2 where d = |input - target| < delta, else delta * (d - delta / 2).

    >>> F.huber_loss(torch.tensor([0., 0.]), torch.tensor([0.5, 3.]))
    tensor(1.3125)
    """
    return _pairwise(aten.huber_loss, input, target, reduction, None, None, weight, delta)


# --- classification
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    ignore_index: int = -100,
    reduce: Flag = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log(softmax(input)[target]); the target holds class numbers or probabilities.

    >>> F.cross_entropy(torch.tensor([[2., 0.], [0., 2.]]), torch.tensor([0, 1]))
    tensor(0.1269)
    """
    return aten.cross_entropy_loss(
        input, target, weight, number(reduction, size_average, reduce), ignore_index, label_smoothing
    )


def _linear_logits(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> Tensor:
    """(C) or (N, C, d1, ...) logits of (in) or (N, in) inputs and weights (C, d1, ..., in); RuntimeError for shapes
    that do not fit."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    features, outputs = linear_weight.shape[-1], tuple(linear_weight.shape[:-1])
    if input.shape[-1] != features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {features}, respectively"
        )
    if input.dim() == 1 and len(outputs) > 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(linear_bias.shape)}")
    bias = linear_bias if linear_bias is None or len(outputs) == 1 else linear_bias.reshape(-1)
    made = aten.linear(input, linear_weight if len(outputs) == 1 else linear_weight.reshape(-1, features), bias)
    return made if len(outputs) == 1 else made.reshape(*input.shape[:-1], *outputs)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """cross_entropy of linear(input, linear_weight, linear_bias).

    Shapes: input (in) or (N, in), linear_weight (C, in) or (C, d1, ..., in), target (), (N) or (N, d1, ...) of class
    numbers, or probabilities (C) or (N, C, d1, ...). `options` says how PyTorch works through the batch in pieces; the
    loss is the same without it, and here the batch is always taken as a whole.

    >>> F.linear_cross_entropy(torch.eye(2), torch.eye(2), torch.tensor([0, 1]))
    tensor(0.3133)
    """
    mode = number(reduction, None, None)
    if target.is_floating_point() and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    logits = _linear_logits(input, linear_weight, linear_bias)
    return aten.cross_entropy_loss(
        logits, target, weight, mode, -100 if ignore_index is None else ignore_index, label_smoothing
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    ignore_index: int = -100,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """-input[target], for log-probabilities.

    >>> F.nll_loss(torch.tensor([[-0.5, -1.]]), torch.tensor([1]))
    tensor(1.)
    """
    return aten.nll_loss_nd(input, target, weight, number(reduction, size_average, reduce), ignore_index)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), for probabilities.

    >>> F.binary_cross_entropy(torch.tensor([0.9, 0.2]), torch.tensor([1., 0.]))
    tensor(0.1643)
    """
    mode = number(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(broadcast_shapes(target.shape, weight.shape))
    return aten.binary_cross_entropy(input, target, weight, mode)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), computed without overflow.

    >>> F.binary_cross_entropy_with_logits(torch.tensor([2., -1.]), torch.tensor([1., 0.]))
    tensor(0.2201)
    """
    mode = number(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, mode)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """sum over wrong classes i of max(0, margin - x[target] + x[i]) ** p / number of classes.

    >>> F.multi_margin_loss(torch.tensor([[0.1, 0.2, 0.7]]), torch.tensor([2]))
    tensor(0.3000)
    """
    mode = number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return aten.multi_margin_loss(input, target, p, margin, weight, mode)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Tensor:
    """Hinge between every target class (up to the first -1) and every other class.

    >>> F.multilabel_margin_loss(torch.tensor([[0.1, 0.2, 0.4]]), torch.tensor([[2, -1, 0]]))
    tensor(0.5000)
    """
    return aten.multilabel_margin_loss(input, target, number(reduction, size_average, reduce))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over classes of the binary cross entropy of sigmoid(input).

    >>> F.multilabel_soft_margin_loss(torch.tensor([[2., -1.]]), torch.tensor([[1., 0.]]))
    tensor(0.2201)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    positive, negative = aten.log_sigmoid(input), aten.log_sigmoid(-input)
    loss = -(target * positive + (1 - target) * negative)
    if weight is not None:
        loss = loss * weight
    last = input.dim() - 1
    loss = loss.sum(dim=last) / input.size(last)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return _reduce(loss, reduction)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target * input)).

    >>> F.soft_margin_loss(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """
    return aten.soft_margin_loss(input, target, number(reduction, size_average, reduce))


# --- embeddings
