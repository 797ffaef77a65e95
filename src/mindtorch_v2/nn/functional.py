# ruff: noqa: F401  - this module publishes what others define
"""The functions that layers call: `torch.nn.functional`.

Functions that only hand their arguments to an operator are the operators themselves, looked up when first used; those
that check, choose or combine stand in `_functional`, by family.
"""

from __future__ import annotations

from typing import Any

from .._dispatch.namespace import function_of as _function_of
from .._dispatch.overrides import overridable as _overridable
from . import _reduction as _Reduction
from ._functional.activation import (
    _get_softmax_dim,
    alpha_dropout,
    celu,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    elu,
    feature_alpha_dropout,
    glu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from ._functional.attention import (
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
)
from ._functional.embedding import embedding, embedding_bag
from ._functional.embedding_loss import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ._functional.fractional_pooling import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from ._functional.grouped import grouped_mm
from ._functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    l1_loss,
    linear_cross_entropy,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from ._functional.norm import (
    _verify_batch_size,
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from ._functional.pooling import (
    _unpool_output_size,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from ._functional.probability_loss import ctc_loss, gaussian_nll_loss, kl_div, poisson_nll_loss
from ._functional.vision import (
    GRID_SAMPLE_INTERPOLATION_MODES,
    GRID_SAMPLE_PADDING_MODES,
    affine_grid,
    fold,
    grid_sample,
    interpolate,
    pad,
    unfold,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)

_FAMILIES = f"{__package__}._functional"
# Names here -> operators.
_OPERATORS = {
    name: name
    for name in (
        "linear",
        "bilinear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "adaptive_avg_pool1d",
        "gelu",
        "prelu",
        "softplus",
        "softshrink",
        "hardshrink",
        "relu_",
        "rrelu_",
        "elu_",
        "selu_",
        "celu_",
        "leaky_relu_",
        "hardtanh_",
        "threshold_",
        "one_hot",
        "pdist",
        "cosine_similarity",
        "pairwise_distance",
        "pixel_shuffle",
        "pixel_unshuffle",
        "channel_shuffle",
        "native_channel_shuffle",
        "scaled_dot_product_attention",
    )
}
_OPERATORS["logsigmoid"] = "log_sigmoid"

# Classes and modes are asked before these functions, too. Their names lead here, for pickles.
for _name, _function in [
    (n, f) for n, f in globals().items() if n.islower() and getattr(f, "__module__", "").startswith(_FAMILIES)
]:
    globals()[_name] = _asked = _overridable(_function)
    _asked.__module__ = __name__

__all__ = [*(n for n in dir() if n.islower() and not n.startswith("_") and n != "annotations"), *_OPERATORS]


_OF_OVERRIDES = (
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
)


def __getattr__(name: str) -> Any:
    if name in _OF_OVERRIDES:
        from .. import overrides

        return getattr(overrides, name)
    if name not in _OPERATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _function_of(_OPERATORS[name], "function")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_OPERATORS})
