"""Losses. `reduction` is 0 (none), 1 (mean) or 2 (sum), as everywhere in PyTorch's operators."""

from __future__ import annotations

from typing import Any

from .._shape import broadcast_shapes
from .rules import Rule, Spec, like, result_type
from .table import op

PAIR = Rule("promote", "cast", ("self", "target"))  # both are brought to their common type, which is also the loss's


def _nn(text: str, meta: Any = None, out: bool = False, rule: Rule | None = None) -> None:
    op(text, rule, meta=meta, namespace="nn", method=False, out=out)


def _backward(text: str, meta: Any = None, rule: Rule | None = None) -> None:
    op(text, rule, meta=meta or like(1), function=False, method=False)


# --- classification -------------------------------------------------------------------------------------------------


def _nll(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Spec, Spec]:
    return Spec(() if reduction or self.dim() == 1 else tuple(target.shape), self.dtype), Spec((), self.dtype)


op(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, int ignore_index=-100, "
    "float label_smoothing=0.0) -> Tensor",
    function=False,
    method=False,
)
for _name in ("nll_loss", "nll_loss_nd", "nll_loss2d"):
    op(
        f"{_name}(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, int ignore_index=-100) -> "
        "Tensor",
        function=False,
        method=False,
    )
for _name in ("nll_loss", "nll_loss2d"):
    op(
        f"{_name}_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> "
        "(Tensor output, Tensor total_weight)",
        meta=_nll,
        function=False,
        method=False,
    )
    _backward(
        f"{_name}_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, "
        "int ignore_index, Tensor total_weight) -> Tensor"
    )


def _per_sample(self: Any, target: Any, *rest: Any) -> Spec:
    reduction = rest[-1]
    return Spec(() if reduction or not self.dim() else tuple(target.shape), self.dtype)


def _multilabel(self: Any, target: Any, reduction: int) -> tuple[Spec, Spec]:
    per_sample = Spec(() if reduction or self.dim() < 2 else (self.shape[0],), self.dtype)
    return per_sample, Spec(tuple(target.shape), self.dtype)


_nn(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
    "reduction=Mean) -> Tensor",
    _per_sample,
    out=True,
)
_backward(
    "multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, "
    "Tensor? weight=None, int reduction=Mean) -> Tensor"
)
_nn("multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", out=True)
op(
    "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)",
    meta=_multilabel,
    function=False,
    method=False,
)
_backward(
    "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) "
    "-> Tensor"
)


# --- elementwise differences ----------------------------------------------------------------------------------------


def _pair(self: Any, target: Any, reduction: int = 1, *rest: Any) -> Spec:
    return Spec(() if reduction else broadcast_shapes(self.shape, target.shape), result_type(self, target))


def _pair_backward(grad_output: Any, self: Any, target: Any, *rest: Any) -> Spec:
    return Spec(broadcast_shapes(grad_output.shape, self.shape, target.shape), result_type(self, target))


_nn("mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", _pair, out=True, rule=PAIR)
_backward(
    "mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", _pair_backward, PAIR
)
_nn("l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor")
_nn(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor",
    _pair,
    out=True,
    rule=PAIR,
)
_backward(
    "smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor",
    _pair_backward,
    PAIR,
)
_nn("huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor", _pair, out=True, rule=PAIR)
_backward(
    "huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor",
    _pair_backward,
    PAIR,
)
_nn("soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", _pair, out=True, rule=PAIR)
_backward(
    "soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
    _pair_backward,
    PAIR,
)


# --- likelihoods ----------------------------------------------------------------------------------------------------


def _bce(self: Any, target: Any, weight: Any = None, reduction: int = 1) -> Spec:
    return Spec(() if reduction else tuple(self.shape), self.dtype)


def _bce_logits(self: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1) -> Spec:
    given = [t for t in (self, target, weight, pos_weight) if t is not None]
    return Spec(() if reduction else broadcast_shapes(*(t.shape for t in given)), result_type(*given))


_nn(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor",
    _bce,
    out=True,
)
_backward(
    "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, "
    "int reduction=Mean) -> Tensor"
)
op(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, "
    "int reduction=Mean) -> Tensor",
    meta=_bce_logits,
    method=False,
)
op("kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor", method=False)
op(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
    method=False,
)


# --- distances between embeddings -----------------------------------------------------------------------------------

op(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
    method=False,
)
op("hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) -> Tensor", method=False)
op(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> "
    "Tensor",
    method=False,
)
op(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float "
    "eps=1e-06, bool swap=False, int reduction=Mean) -> Tensor",
    method=False,
)
op("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", method=False)
op("pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor", method=False)


# --- sequences ------------------------------------------------------------------------------------------------------


def _ctc(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, zero_infinity: bool = False
) -> tuple[Spec, Spec]:
    steps, batch = log_probs.shape[:2]
    longest = max(target_lengths, default=0)
    return Spec((batch,), log_probs.dtype), Spec((batch, steps, 2 * longest + 1), log_probs.dtype)


op(
    "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, "
    "int reduction=Mean, bool zero_infinity=False) -> Tensor",
    method=False,
)
op(
    "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, "
    "int reduction=Mean, bool zero_infinity=False) -> Tensor",
    method=False,
)
op(
    "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, "
    "bool zero_infinity=False) -> (Tensor, Tensor)",
    meta=_ctc,
    method=False,
)
_backward(
    "_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
    "Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor"
)
