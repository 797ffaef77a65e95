"""Losses of embeddings: of pairs and triplets that should lie near or far."""

from __future__ import annotations

from collections.abc import Callable

from ..._dispatch import aten
from ..._tensor import Tensor
from .._reduction import number
from .loss import Flag, _reduce


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin).

    >>> F.margin_ranking_loss(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([1.]))
    tensor(2.)
    """
    mode = number(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return aten.margin_ranking_loss(input1, input2, target, margin, mode)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1.

    >>> F.hinge_embedding_loss(torch.tensor([0.5, 0.5]), torch.tensor([1., -1.]))
    tensor(0.5000)
    """
    return aten.hinge_embedding_loss(input, target, margin, number(reduction, size_average, reduce))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1.

    >>> F.cosine_embedding_loss(torch.tensor([[1., 0.]]), torch.tensor([[0., 1.]]), torch.tensor([1]))
    tensor(1.)
    """
    return aten.cosine_embedding_loss(input1, input2, target, margin, number(reduction, size_average, reduce))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin).

    >>> F.triplet_margin_loss(torch.tensor([[0., 0.]]), torch.tensor([[0., 3.]]), torch.tensor([[2., 0.]]))
    tensor(2.)
    """
    mode = number(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return aten.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, mode)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with any distance.

    >>> anchor, positive, negative = torch.tensor([[[0., 0.]], [[0., 3.]], [[2., 0.]]])
    >>> F.triplet_margin_with_distance_loss(anchor, positive, negative)
    tensor(2.)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = distance_function or aten.pairwise_distance
    to_positive, to_negative = distance(anchor, positive), distance(anchor, negative)
    if swap:
        to_negative = aten.minimum(to_negative, distance(positive, negative))
    return _reduce(aten.clamp_min(margin + to_positive - to_negative, 0), reduction)
