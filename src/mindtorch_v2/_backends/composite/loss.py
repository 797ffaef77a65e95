"""Losses made of other ops, and the steps of the fused ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from typing import Any

import numpy as np

from ..._autograd.grad_mode import no_grad
from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._dispatch.registry import composite, stepwise
from ..._ops.rules import result_type
from ..._shape import broadcast_shapes
from ..._tensor import wrap

Kernel = Callable[..., Any]
MEAN, SUM = 1, 2


def reduce_loss(loss: Any, reduction: int) -> Any:
    """The losses themselves, their mean or their sum."""
    if reduction == MEAN:
        return aten.mean(loss)
    return aten.sum(loss) if reduction == SUM else loss


def sizes(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]"


# --- fused losses, as a profile shows them ----------------------------------------------------------------------------


@stepwise("mse_loss")
def mse_loss(kernel: Kernel, self: Any, target: Any, reduction: int) -> Any:
    return reduce_loss(kernel(self, target, 0), reduction)


@stepwise("smooth_l1_loss", "huber_loss")
def smooth_loss(kernel: Kernel, self: Any, target: Any, reduction: int, knee: float) -> Any:
    return reduce_loss(kernel(self, target, 0, knee), reduction)


@stepwise("binary_cross_entropy")
def binary_cross_entropy(kernel: Kernel, self: Any, target: Any, weight: Any, reduction: int) -> Any:
    loss = kernel(self, target, None, 0)
    if weight is not None:
        loss = aten.mul_(loss, weight)
    return reduce_loss(loss, reduction)


@stepwise("soft_margin_loss")
def soft_margin_loss(kernel: Kernel, self: Any, target: Any, reduction: int) -> Any:
    if not self.dtype.is_floating_point:
        return kernel(self, target, reduction)
    return reduce_loss(aten.log1p_(aten.exp_(aten.mul_(aten.neg(self), target))), reduction)


def _times(t: Any, other: Any) -> Any:
    """`t * other`, written into `t` where its type can hold the result."""
    return aten.mul_(t, other) if t.dtype is result_type(t, other) else aten.mul(t, other)


@stepwise("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    kernel: Kernel, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int
) -> Any:
    log_p = aten.log_sigmoid(self)
    if pos_weight is not None:
        log_p = _times(log_p, aten.add_(aten.mul(aten.sub(pos_weight, 1), target), 1))
    rest = aten.sub_(aten.fill_(aten.empty_like(target), 1), target)
    loss = aten.sub_(_times(rest, self), log_p)
    if weight is not None:
        loss = aten.mul_(loss, weight)
    return reduce_loss(loss, reduction)


# --- classification


@composite("nll_loss")
def nll_loss(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    return aten.nll_loss_forward(self, target, weight, reduction, ignore_index)[0]


@composite("nll_loss2d")
def nll_loss2d(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    return aten.nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0]


@composite("nll_loss_nd")
def nll_loss_nd(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    shape, wanted = self._array.shape, target._array.shape
    n = len(shape)
    if n < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {n})")
    if n != 1 and shape[0] != (wanted[0] if wanted else 0):
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({wanted[0] if wanted else 0})."
        )
    if n == 1 and len(wanted) == 1 and wanted[0] != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {wanted[0]}")
    if n <= 2:
        return aten.nll_loss(self, target, weight, reduction, ignore_index)
    if n == 4:
        return aten.nll_loss2d(self, target, weight, reduction, ignore_index)
    outer = (shape[0], *shape[2:])
    if wanted[1:] != shape[2:]:
        raise RuntimeError(f"Expected target size {sizes(outer)}, got {sizes(wanted)}")
    # Whatever comes after the classes becomes one row of an image.
    image = aten.view(aten.contiguous(self), (shape[0], shape[1], 1, -1 if self.numel() else 0))
    labels = aten.view(aten.contiguous(target), (shape[0], 1, -1 if target.numel() else 0))
    loss = aten.nll_loss2d(image, labels, weight, reduction, ignore_index)
    return loss if reduction else aten.view(loss, outer)


@composite("cross_entropy_loss")
def cross_entropy_loss(
    self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, label_smoothing: float
) -> Any:
    if self._array.shape == target._array.shape:
        return _with_probabilities(self, target, weight, reduction, ignore_index, label_smoothing)
    if label_smoothing > 0:
        return _label_smoothing_loss(self, target, weight, reduction, ignore_index, label_smoothing)
    scores = aten.log_softmax(self, 0 if self._array.ndim == 1 else 1, self.dtype)
    return aten.nll_loss_nd(scores, target, weight, reduction, ignore_index)


def _check_smoothing(label_smoothing: float) -> None:
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _per_class(weight: Any, self: Any, class_dim: int) -> Any:
    """The weights of the classes, shaped to multiply the input."""
    shape = [1] * self.dim()
    shape[class_dim] = weight.shape[0]
    return aten.view(weight, shape)


def _with_probabilities(
    self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, label_smoothing: float
) -> Any:
    class_dim = 0 if self.dim() == 1 else 1
    if not target.dtype.is_floating_point:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {type_word(target.dtype)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    _check_smoothing(label_smoothing)
    classes = self.shape[class_dim]
    if weight is not None and (weight.dim() != 1 or weight.shape[0] != classes):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {sizes(weight.shape)}"
        )
    scores = aten.log_softmax(self, class_dim, self.dtype)
    if label_smoothing > 0:
        target = aten.add(aten.mul(target, 1 - label_smoothing), label_smoothing / classes)
    if weight is not None:
        factor = _per_class(weight, scores, class_dim)
        each = aten.mul(aten.mul(scores, target), factor)
    else:
        each = aten.mul(scores, target)
    if not reduction:
        return aten.neg(aten.sum(each, [class_dim]))
    total = aten.neg(aten.sum(each))
    return aten.div(total, scores.numel() / classes) if reduction == MEAN else total


def _label_smoothing_loss(
    self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, label_smoothing: float
) -> Any:
    """The usual loss, mixed with the mean over all classes."""
    _check_smoothing(label_smoothing)
    class_dim = 0 if self.dim() == 1 else 1
    classes = self.shape[class_dim]
    scores = aten.log_softmax(self, class_dim, self.dtype)
    usual = aten.nll_loss_nd(scores, target, weight, reduction, ignore_index)
    weighted = scores if weight is None else aten.mul(scores, _per_class(weight, scores, class_dim))
    even = aten.neg(aten.sum(weighted, [class_dim]))
    ignored = aten.eq(target, ignore_index)
    even = aten.masked_fill_(even, ignored, 0.0)
    if reduction == MEAN:
        kept = aten.bitwise_not(ignored)
        if weight is not None:
            chosen = aten.flatten(aten.masked_select(target, kept))
            count = aten.sum(aten.gather(weight, 0, chosen))
        else:
            count = aten.sum(kept)
        even = aten.div(aten.sum(even), count)
    elif reduction == SUM:
        even = aten.sum(even)
    return aten.add(aten.mul(usual, 1 - label_smoothing), aten.mul(even, label_smoothing / classes))


@composite("multilabel_margin_loss")
def multilabel_margin_loss(self: Any, target: Any, reduction: int) -> Any:
    return aten.multilabel_margin_loss_forward(self, target, reduction)[0]


# --- regression and likelihoods


@composite("l1_loss")
def l1_loss(self: Any, target: Any, reduction: int) -> Any:
    return reduce_loss(aten.abs(aten.sub(self, target)), reduction)


@composite("kl_div")
def kl_div(self: Any, target: Any, reduction: int, log_target: bool) -> Any:
    for t in (self, target):
        if t.dtype.category < 2:
            raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        each = aten.mul(aten.sub(target, self), aten.exp(target))
    else:
        crossed = aten.mul(target, self)
        each = aten.sub(aten.xlogy(target, target), crossed)
    return reduce_loss(each, reduction)


@composite("poisson_nll_loss")
def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    if log_input:
        crossed = aten.mul(target, input)
        loss = aten.sub(aten.exp(input), crossed)
    else:
        crossed = aten.mul(target, aten.log(aten.add(input, eps)))
        loss = aten.sub(input, crossed)
    if full:  # Stirling's approximation of log(target!)
        half = aten.mul(aten.log(aten.mul(target, 2 * pi)), 0.5)
        stirling = aten.add(aten.sub(aten.mul(target, aten.log(target)), target), half)
        loss = aten.add_(loss, aten.masked_fill(stirling, aten.le(target, 1), 0))
    return reduce_loss(loss, reduction)


# --- embeddings

_TINY = 1e-12


@composite("margin_ranking_loss")
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float, reduction: int) -> Any:
    difference = aten.sub(input1, input2)
    return reduce_loss(aten.clamp_min_(aten.add(aten.mul(aten.neg(target), difference), float(margin)), 0), reduction)


def _less(number: float, t: Any) -> Any:
    """number - t, as PyTorch computes it inside losses."""
    return aten.sub_(aten.fill_(aten.empty_like(t), number), t)


@composite("hinge_embedding_loss")
def hinge_embedding_loss(self: Any, target: Any, margin: float, reduction: int) -> Any:
    zeros = aten.zeros_like(self)
    beyond = aten.clamp_min_(_less(margin, self), 0)
    apart = aten.where(aten.ne(target, 1), beyond, zeros)
    together = aten.where(aten.ne(target, -1), self, zeros)
    return reduce_loss(aten.add(apart, together), reduction)


@composite("cosine_embedding_loss")
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float, reduction: int) -> Any:
    n = target.dim()
    if n not in (0, 1):
        raise RuntimeError(
            f"0D or 1D target tensor expected, multi-target not supported, got shape {sizes(target.shape)}"
        )
    if input1.dim() != n + 1 or input2.dim() != n + 1:
        raise RuntimeError(
            f"{n}D target tensor expects {n + 1}D input tensors, but found inputs with sizes {sizes(input1.shape)} "
            f"and {sizes(input2.shape)}."
        )
    crossed = aten.sum(aten.mul(input1, input2), [n])
    length1 = aten.add(aten.sum(aten.mul(input1, input1), [n]), _TINY)
    length2 = aten.add(aten.sum(aten.mul(input2, input2), [n]), _TINY)
    cosine = aten.div(crossed, aten.sqrt_(aten.mul(length1, length2)))
    zeros = aten.zeros_like(cosine)
    together = _less(1.0, cosine)
    apart = aten.clamp_min_(aten.sub(cosine, margin), 0)
    positive = aten.where(aten.eq(target, 1), together, zeros)
    negative = aten.where(aten.eq(target, -1), apart, zeros)
    return reduce_loss(aten.add(positive, negative), reduction)


@composite("triplet_margin_loss")
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float, p: float, eps: float, swap: bool, reduction: int
) -> Any:
    dims = [t.dim() for t in (anchor, positive, negative)]
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
            f"got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    near = aten.pairwise_distance(anchor, positive, p, eps)
    far = aten.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = aten.min(far, aten.pairwise_distance(positive, negative, p, eps))
    return reduce_loss(aten.clamp_min(aten.sub(aten.add(near, margin), far), 0), reduction)


@composite("pairwise_distance")
def pairwise_distance(x1: Any, x2: Any, p: float, eps: float, keepdim: bool) -> Any:
    last = max(x1.dim(), x2.dim()) - 1
    return aten.overload("norm.ScalarOpt_dim")(aten.add(aten.sub(x1, x2), eps), p, [last], keepdim)


@composite("cosine_similarity")
def cosine_similarity(x1: Any, x2: Any, dim: int, eps: float) -> Any:
    common = result_type(x1, x2)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {type_word(common)}")
    whole = broadcast_shapes(x1.shape, x2.shape)
    if x1.shape != x2.shape:
        x1, x2 = aten.expand(x1, whole), aten.expand(x2, whole)
    x1, x2 = (t if t.dtype is common else aten.to(t, common) for t in (x1, x2))
    length1 = aten.clone(aten.linalg_vector_norm(x1, 2, [dim], True))
    length2 = aten.clone(aten.linalg_vector_norm(x2, 2, [dim], True))
    with no_grad():  # the floor does not take part in the gradient
        aten.clamp_min_(length1, eps)
        aten.clamp_min_(length2, eps)
    return aten.sum(aten.mul(aten.div(x1, length1), aten.div(x2, length2)), [dim])


# --- sequences


@composite("ctc_loss.IntList")
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Any:
    batched = log_probs.dim() == 3
    log_probs = log_probs if batched else aten.unsqueeze(log_probs, 1)
    loss = aten._ctc_loss(log_probs, targets, list(input_lengths), list(target_lengths), blank, zero_infinity)[0]
    if zero_infinity:
        zero = aten.zeros([], dtype=loss.dtype, device=loss.device)
        loss = aten.where(aten.eq(loss, float("inf")), zero, loss)
    if reduction == MEAN:
        lengths = wrap(np.array(target_lengths, np.int64).reshape(loss.shape))
        lengths = aten.clamp_min(aten.to(lengths, loss.device, loss.dtype), 1)
        return aten.mean(aten.div(loss, lengths))
    if reduction == SUM:
        return aten.sum(loss)
    return loss if batched else aten.squeeze(loss, 0)


@composite("ctc_loss.Tensor")
def ctc_loss_tensor(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Any:
    for name, t in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if t.dtype.category > 1:
            raise RuntimeError(f"{name} must be integral")
    inputs, labels = (n if isinstance(n, list) else [n] for n in (input_lengths.tolist(), target_lengths.tolist()))
    return ctc_loss(log_probs, targets, inputs, labels, blank, reduction, zero_infinity)
