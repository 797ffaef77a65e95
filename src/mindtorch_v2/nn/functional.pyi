"""Written by scripts/stubs/write.py from the op table; do not edit."""
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc, override"

from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import overload as _overload

from .._tensor import Tensor
from .._typing import _bool, _float, _Generator, _int, _Number, _str
from ._functional.activation import _get_softmax_dim as _get_softmax_dim
from ._functional.activation import alpha_dropout as alpha_dropout
from ._functional.activation import celu as celu
from ._functional.activation import dropout as dropout
from ._functional.activation import dropout1d as dropout1d
from ._functional.activation import dropout2d as dropout2d
from ._functional.activation import dropout3d as dropout3d
from ._functional.activation import elu as elu
from ._functional.activation import feature_alpha_dropout as feature_alpha_dropout
from ._functional.activation import glu as glu
from ._functional.activation import gumbel_softmax as gumbel_softmax
from ._functional.activation import hardsigmoid as hardsigmoid
from ._functional.activation import hardswish as hardswish
from ._functional.activation import hardtanh as hardtanh
from ._functional.activation import leaky_relu as leaky_relu
from ._functional.activation import log_softmax as log_softmax
from ._functional.activation import mish as mish
from ._functional.activation import relu as relu
from ._functional.activation import relu6 as relu6
from ._functional.activation import rrelu as rrelu
from ._functional.activation import selu as selu
from ._functional.activation import sigmoid as sigmoid
from ._functional.activation import silu as silu
from ._functional.activation import softmax as softmax
from ._functional.activation import softmin as softmin
from ._functional.activation import softsign as softsign
from ._functional.activation import tanh as tanh
from ._functional.activation import tanhshrink as tanhshrink
from ._functional.activation import threshold as threshold
from ._functional.attention import _canonical_mask as _canonical_mask
from ._functional.attention import _in_projection as _in_projection
from ._functional.attention import _in_projection_packed as _in_projection_packed
from ._functional.attention import _mha_shape_check as _mha_shape_check
from ._functional.attention import _none_or_dtype as _none_or_dtype
from ._functional.attention import multi_head_attention_forward as multi_head_attention_forward
from ._functional.embedding import embedding as embedding
from ._functional.embedding import embedding_bag as embedding_bag
from ._functional.embedding_loss import cosine_embedding_loss as cosine_embedding_loss
from ._functional.embedding_loss import hinge_embedding_loss as hinge_embedding_loss
from ._functional.embedding_loss import margin_ranking_loss as margin_ranking_loss
from ._functional.embedding_loss import triplet_margin_loss as triplet_margin_loss
from ._functional.embedding_loss import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from ._functional.fractional_pooling import fractional_max_pool2d as fractional_max_pool2d
from ._functional.fractional_pooling import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
from ._functional.fractional_pooling import fractional_max_pool3d as fractional_max_pool3d
from ._functional.fractional_pooling import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
from ._functional.grouped import grouped_mm as grouped_mm
from ._functional.loss import binary_cross_entropy as binary_cross_entropy
from ._functional.loss import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from ._functional.loss import cross_entropy as cross_entropy
from ._functional.loss import huber_loss as huber_loss
from ._functional.loss import l1_loss as l1_loss
from ._functional.loss import linear_cross_entropy as linear_cross_entropy
from ._functional.loss import mse_loss as mse_loss
from ._functional.loss import multi_margin_loss as multi_margin_loss
from ._functional.loss import multilabel_margin_loss as multilabel_margin_loss
from ._functional.loss import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from ._functional.loss import nll_loss as nll_loss
from ._functional.loss import smooth_l1_loss as smooth_l1_loss
from ._functional.loss import soft_margin_loss as soft_margin_loss
from ._functional.norm import _verify_batch_size as _verify_batch_size
from ._functional.norm import batch_norm as batch_norm
from ._functional.norm import group_norm as group_norm
from ._functional.norm import instance_norm as instance_norm
from ._functional.norm import layer_norm as layer_norm
from ._functional.norm import local_response_norm as local_response_norm
from ._functional.norm import normalize as normalize
from ._functional.norm import rms_norm as rms_norm
from ._functional.pooling import _unpool_output_size as _unpool_output_size
from ._functional.pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from ._functional.pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from ._functional.pooling import adaptive_max_pool1d as adaptive_max_pool1d
from ._functional.pooling import adaptive_max_pool2d as adaptive_max_pool2d
from ._functional.pooling import adaptive_max_pool3d as adaptive_max_pool3d
from ._functional.pooling import lp_pool1d as lp_pool1d
from ._functional.pooling import lp_pool2d as lp_pool2d
from ._functional.pooling import lp_pool3d as lp_pool3d
from ._functional.pooling import max_pool1d as max_pool1d
from ._functional.pooling import max_pool1d_with_indices as max_pool1d_with_indices
from ._functional.pooling import max_pool2d as max_pool2d
from ._functional.pooling import max_pool2d_with_indices as max_pool2d_with_indices
from ._functional.pooling import max_pool3d as max_pool3d
from ._functional.pooling import max_pool3d_with_indices as max_pool3d_with_indices
from ._functional.pooling import max_unpool1d as max_unpool1d
from ._functional.pooling import max_unpool2d as max_unpool2d
from ._functional.pooling import max_unpool3d as max_unpool3d
from ._functional.probability_loss import ctc_loss as ctc_loss
from ._functional.probability_loss import gaussian_nll_loss as gaussian_nll_loss
from ._functional.probability_loss import kl_div as kl_div
from ._functional.probability_loss import poisson_nll_loss as poisson_nll_loss
from ._functional.vision import affine_grid as affine_grid
from ._functional.vision import fold as fold
from ._functional.vision import grid_sample as grid_sample
from ._functional.vision import interpolate as interpolate
from ._functional.vision import pad as pad
from ._functional.vision import unfold as unfold
from ._functional.vision import upsample as upsample
from ._functional.vision import upsample_bilinear as upsample_bilinear
from ._functional.vision import upsample_nearest as upsample_nearest

GRID_SAMPLE_INTERPOLATION_MODES: dict[_str, _Any]
GRID_SAMPLE_PADDING_MODES: dict[_str, _Any]
def adaptive_avg_pool1d(input: Tensor, output_size: _int | _Sequence[_int]) -> Tensor: ...
def avg_pool1d(input: Tensor, kernel_size: _int | _Sequence[_int], stride: _int | _Sequence[_int] = (), padding: _int | _Sequence[_int] = (0,), ceil_mode: _bool = False, count_include_pad: _bool = True) -> Tensor: ...
def avg_pool2d(input: Tensor, kernel_size: _int | _Sequence[_int], stride: _int | _Sequence[_int] = (), padding: _int | _Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor: ...
def avg_pool3d(input: Tensor, kernel_size: _int | _Sequence[_int], stride: _int | _Sequence[_int] = (), padding: _int | _Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor: ...
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor: ...
def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor: ...
def channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
@_overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Sequence[_int] = (1,), padding: _int | _Sequence[_int] = (0,), dilation: _int | _Sequence[_int] = (1,), groups: _int = 1) -> Tensor: ...
@_overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Sequence[_int] = (1,), padding: _str = 'valid', dilation: _int | _Sequence[_int] = (1,), groups: _int = 1) -> Tensor: ...
@_overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Sequence[_int] = (1, 1), padding: _int | _Sequence[_int] = (0, 0), dilation: _int | _Sequence[_int] = (1, 1), groups: _int = 1) -> Tensor: ...
@_overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Sequence[_int] = (1, 1), padding: _str = 'valid', dilation: _int | _Sequence[_int] = (1, 1), groups: _int = 1) -> Tensor: ...
@_overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Sequence[_int] = (1, 1, 1), padding: _int | _Sequence[_int] = (0, 0, 0), dilation: _int | _Sequence[_int] = (1, 1, 1), groups: _int = 1) -> Tensor: ...
@_overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Sequence[_int] = (1, 1, 1), padding: _str = 'valid', dilation: _int | _Sequence[_int] = (1, 1, 1), groups: _int = 1) -> Tensor: ...
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Sequence[_int] = (1,), padding: _int | _Sequence[_int] = (0,), output_padding: _int | _Sequence[_int] = (0,), groups: _int = 1, dilation: _int | _Sequence[_int] = (1,)) -> Tensor: ...
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Sequence[_int] = (1, 1), padding: _int | _Sequence[_int] = (0, 0), output_padding: _int | _Sequence[_int] = (0, 0), groups: _int = 1, dilation: _int | _Sequence[_int] = (1, 1)) -> Tensor: ...
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | _Sequence[_int] = (1, 1, 1), padding: _int | _Sequence[_int] = (0, 0, 0), output_padding: _int | _Sequence[_int] = (0, 0, 0), groups: _int = 1, dilation: _int | _Sequence[_int] = (1, 1, 1)) -> Tensor: ...
@_overload
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor: ...
@_overload
def cosine_similarity(x1: Tensor, x2: Tensor, *, eps: _float = 1e-08, axis: _int = 1) -> Tensor: ...
def elu_(input: Tensor, alpha: _Number = 1, scale: _Number = 1, input_scale: _Number = 1) -> Tensor: ...
def gelu(input: Tensor, *, approximate: _str = 'none', out: Tensor | None = None) -> Tensor: ...
def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor: ...
def hardtanh_(input: Tensor, min_val: _Number = -1, max_val: _Number = 1) -> Tensor: ...
def leaky_relu_(input: Tensor, negative_slope: _Number = 0.01) -> Tensor: ...
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor: ...
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def one_hot(input: Tensor, num_classes: _int = -1) -> Tensor: ...
@_overload
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor: ...
@_overload
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2, eps: _float = 1e-06, *, keepdims: _bool = False) -> Tensor: ...
def pdist(input: Tensor, p: _float = 2) -> Tensor: ...
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor: ...
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor: ...
def prelu(input: Tensor, weight: Tensor) -> Tensor: ...
def relu_(input: Tensor) -> Tensor: ...
def rrelu_(input: Tensor, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: _bool = False, generator: _Generator | None = None) -> Tensor: ...
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: _float = 0.0, is_causal: _bool = False, *, scale: _float | None = None, enable_gqa: _bool = False) -> Tensor: ...
def selu_(input: Tensor) -> Tensor: ...
def softplus(input: Tensor, beta: _Number = 1, threshold: _Number = 20, *, out: Tensor | None = None) -> Tensor: ...
def softshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor: ...
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor: ...
