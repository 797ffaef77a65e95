"""Losses as layers. `reduction` is "mean", "sum" or "none"."""

from __future__ import annotations

from math import prod
from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from ._loss_base import Flag, _Loss, _WeightedLoss
from ._ranking_losses import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelMarginLoss,
    MultiMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from .linear import Linear
from .linear_cross_entropy_options import LinearCrossEntropyOptions
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]

for _layer in (
    _Loss,
    _WeightedLoss,
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelMarginLoss,
    MultiMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
):
    _layer.__module__ = __name__  # where PyTorch has it, and pickles look for it


# --- differences
class L1Loss(_Loss):
    """|input - target|.

    >>> nn.L1Loss()(torch.tensor([0., 2.]), torch.tensor([1., 4.]))
    tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """(input - target) ** 2.

    >>> nn.MSELoss()(torch.tensor([0., 2.]), torch.tensor([1., 4.]))
    tensor(2.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """d ** 2 / (2 beta) where d = |input - target| < beta, else d - beta / 2.

    >>> nn.SmoothL1Loss()(torch.tensor([0., 0.]), torch.tensor([0.5, 3.]))
    tensor(1.3125)
    """

    def __init__(
        self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """d ** 2 / 2 where d = |input - target| < delta, else delta (d - delta / 2).

    >>> nn.HuberLoss()(torch.tensor([0., 0.]), torch.tensor([0.5, 3.]))
    tensor(1.3125)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


# --- classification
class CrossEntropyLoss(_WeightedLoss):
    """-log(softmax(input)[target]).

    Shapes: input (N, C) or (N, C, d1, ...), target (N) or (N, d1, ...) of class numbers, or probabilities shaped like
    the input.

        >>> nn.CrossEntropyLoss()(torch.tensor([[2., 0.], [0., 2.]]), torch.tensor([0, 1]))
        tensor(0.1269)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Flag = None,
        ignore_index: int = -100,
        reduce: Flag = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class LinearCrossEntropyLoss(Module):
    """The cross entropy of a linear layer's outputs, without a tensor of logits in between in the program.

    Shapes: input (in_features) or (N, in_features); target (), (N) or (N, *out_features) of class numbers, or
    probabilities (C) or (N, C, *out_features), where C is num_classes.

        >>> nn.LinearCrossEntropyLoss(5, 10)(torch.randn(3, 5), torch.tensor([1, 0, 4])).shape
        torch.Size([])
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__()
        self.reduction = reduction
        self.register_buffer("weight", weight)
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.linear = Linear(in_features, num_classes * prod(out_features), bias=bias, device=device, dtype=dtype)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = None if self.linear.bias is None else self.linear.bias.reshape(shape)
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, -1),
            target,
            linear_bias=bias,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )


class NLLLoss(_WeightedLoss):
    """-input[target], for log-probabilities (N, C) or (N, C, d1, ...).

    >>> nn.NLLLoss()(torch.tensor([[-0.5, -1.]]), torch.tensor([1]))
    tensor(1.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Flag = None,
        ignore_index: int = -100,
        reduce: Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss for images.

    >>> nn.NLLLoss2d()(torch.zeros(1, 2, 3, 3), torch.zeros(1, 3, 3, dtype=torch.int64))
    tensor(0.)
    """


class BCELoss(_WeightedLoss):
    """-(target log(input) + (1 - target) log(1 - input)), for probabilities.

    >>> nn.BCELoss()(torch.tensor([0.9, 0.2]), torch.tensor([1., 0.]))
    tensor(0.1643)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """BCELoss of sigmoid(input), computed without overflow; `pos_weight` scales the positive term per class.

    >>> nn.BCEWithLogitsLoss()(torch.tensor([2., -1.]), torch.tensor([1., 0.]))
    tensor(0.2201)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Flag = None,
        reduce: Flag = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Mean over classes of the binary cross entropy of sigmoid(input).

    >>> nn.MultiLabelSoftMarginLoss()(torch.tensor([[2., -1.]]), torch.tensor([[1., 0.]]))
    tensor(0.2201)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)).

    >>> nn.SoftMarginLoss()(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


# --- likelihoods
class KLDivLoss(_Loss):
    """target * (log(target) - input), for log-probabilities; use "batchmean" for the divergence itself.

    >>> nn.KLDivLoss(reduction="sum")(torch.tensor([0.5, 0.5]).log(), torch.tensor([1., 0.]))
    tensor(0.6931)
    """

    def __init__(
        self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """exp(input) - target * input, or input - target * log(input + eps) if `log_input` is False.

    >>> nn.PoissonNLLLoss()(torch.tensor([0.]), torch.tensor([2.]))
    tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Flag = None,
        eps: float = 1e-8,
        reduce: Flag = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """(log(var) + (input - target) ** 2 / var) / 2, with var at least eps.

    >>> nn.GaussianNLLLoss()(torch.tensor([1.]), torch.tensor([2.]), torch.tensor([1.]))
    tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class CTCLoss(_Loss):
    """-log of the probability of all alignments of the targets with the (T, N, C) log-probabilities.

    >>> log_probs, targets = torch.randn(4, 1, 3).log_softmax(2), torch.tensor([[1, 2]])
    >>> nn.CTCLoss()(log_probs, targets, torch.tensor([4]), torch.tensor([2])).shape
    torch.Size([])
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
