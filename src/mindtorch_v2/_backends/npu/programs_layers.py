"""Layers, activations, losses and optimizer steps that take several operators, or one whose operands must be
prepared.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._ops.convolution import conv_output_size, conv_transpose_output_size
from ..._tensor import wrap
from ..cpu.rnn import check_lengths
from . import row_helpers
from .boxing import empty_like_specs, launch_named, program, run
from .copies import cast, copy_, new_tensor, to_device
from .launcher import Rejected
from .programs import contiguous, view


# --- convolution
@program("_convolution")
def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *switches: bool,
) -> Any:
    """Of any rank and either direction: the device has one operator for all."""
    image, kernel = input._array.shape, weight._array.shape
    if transposed:
        channels = kernel[1] * groups
        sizes = conv_transpose_output_size(image[2:], kernel[2:], stride, padding, output_padding, dilation)
    else:
        channels, sizes = kernel[0], conv_output_size(image[2:], kernel[2:], stride, padding, dilation)
    if not input._array.size or not weight._array.size:
        raise Rejected("an input has no elements")
    out = new_tensor((image[0], channels, *sizes), input.dtype, input.device)
    launch_named(
        "Convolution",
        (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out, row_helpers.cube()),
        input.device.index,
    )
    return out


@program("_trilinear")
def trilinear(i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any, unroll_dim: int) -> Any:
    product = _spread(i1, expand1)
    for factor, dims in ((i2, expand2), (i3, expand3)):
        product = run("mul.Tensor", product, _spread(factor, dims))
    return run("sum.dim_IntList", product, tuple(sumdim), False, None) if sumdim else product


def _spread(t: Any, dims: Any) -> Any:
    """With dimensions of size one at these positions."""
    array = t._array
    for d in sorted(dims):
        array = array[(slice(None),) * d + (None,)]
    return view(t, array)


# --- activations
_TANH_SCALE, _CUBIC = sqrt(2 / pi), 0.044715


@program("gelu")
def gelu(self: Any, approximate: str) -> Any:
    out = new_tensor(self._array.shape, self.dtype, self.device)
    if self._array.size and approximate == "none":
        launch_named("Gelu", (self, out), self.device.index)
    elif self._array.size:
        launch_named("GeluV2", (self, 1, out), self.device.index)
    return out


@program("gelu_backward")
def gelu_backward(grad_output: Any, self: Any, approximate: str) -> Any:
    out = new_tensor(self._array.shape, self.dtype, self.device)
    if approximate == "none":
        if self._array.size:
            launch_named("GeluBackward", (grad_output, self, out), self.device.index)
        return out
    squared = run("mul.Tensor", self, self)
    inner = run(
        "mul.Tensor", run("mul.Tensor", self, run("add.Tensor", run("mul.Tensor", squared, _CUBIC), 1, 1)), _TANH_SCALE
    )
    bent = run("tanh", inner)
    left = run("mul.Tensor", run("add.Tensor", bent, 1, 1), 0.5)
    steepness = run("add.Tensor", run("mul.Tensor", squared, 3 * _CUBIC * _TANH_SCALE), _TANH_SCALE, 1)
    flatness = run("rsub.Scalar", run("mul.Tensor", bent, bent), 1, 1)
    right = run("mul.Tensor", run("mul.Tensor", run("mul.Tensor", self, flatness), steepness), 0.5)
    return run("mul.Tensor", grad_output, run("add.Tensor", left, right, 1))


@program("_prelu_kernel")
def prelu(self: Any, weight: Any) -> Any:
    return run("where.self", run("gt.Scalar", self, 0), self, run("mul.Tensor", self, weight))


@program("_prelu_kernel_backward")
def prelu_backward(grad_output: Any, self: Any, weight: Any) -> Any:
    above = run("gt.Scalar", self, 0)
    to_self = run("where.self", above, grad_output, run("mul.Tensor", grad_output, weight))
    return to_self, run("where.ScalarSelf", above, 0.0, run("mul.Tensor", grad_output, self))


@program("rrelu_with_noise")
def rrelu(self: Any, noise: Any, lower: Any, upper: Any, training: bool, generator: Any) -> Any:
    if not training:
        return run("leaky_relu", self, (lower + upper) / 2)
    slopes = run(
        "uniform_", new_tensor(self._array.shape, self.dtype, self.device), float(lower), float(upper), generator
    )
    copy_(noise, run("where.ScalarSelf", run("gt.Scalar", self, 0), 1.0, slopes), False)
    return run("mul.Tensor", self, noise)


@program("rrelu_with_noise_backward")
def rrelu_backward(
    grad_output: Any, self: Any, noise: Any, lower: Any, upper: Any, training: bool, self_is_result: bool
) -> Any:
    if training and upper - lower > 1e-6:
        return run("mul.Tensor", grad_output, noise)
    return run("leaky_relu_backward", grad_output, self, (lower + upper) / 2, self_is_result)


def _halves(t: Any, dim: int) -> tuple[Any, Any, tuple[Any, Any]]:
    axis = dim % t._array.ndim
    half = t._array.shape[axis] // 2
    if t._array.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {t._array.shape[axis]}")
    parts = tuple((slice(None),) * axis + (part,) for part in (slice(None, half), slice(half, None)))
    return view(t, t._array[parts[0]]), view(t, t._array[parts[1]]), parts  # type: ignore[return-value]


@program("glu")
def glu(self: Any, dim: int) -> Any:
    kept, gate, _ = _halves(self, dim)
    return run("mul.Tensor", kept, run("sigmoid", gate))


@program("glu_backward")
def glu_backward(grad_output: Any, self: Any, dim: int) -> Any:
    kept, gate, parts = _halves(self, dim)
    out = new_tensor(self._array.shape, self.dtype, self.device)
    opened = run("sigmoid", gate)
    copy_(view(out, out._array[parts[0]]), run("mul.Tensor", grad_output, opened), False)
    copy_(view(out, out._array[parts[1]]), run("sigmoid_backward", run("mul.Tensor", grad_output, kept), opened), False)
    return out


# --- losses
def _reduce_loss(values: Any, reduction: int) -> Any:
    if reduction == 0:
        return values
    total = run("sum", values, None)
    return run("div.Tensor", total, values._array.size) if reduction == 1 else total


@program("mse_loss")
def mse_loss(self: Any, target: Any, reduction: int) -> Any:
    difference = run("sub.Tensor", self, target, 1)
    return _reduce_loss(run("mul.Tensor", difference, difference), reduction)


@program("mse_loss_backward")
def mse_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    difference = run("sub.Tensor", self, target, 1)
    factor = 2.0 / difference._array.size if reduction == 1 else 2.0
    return run("mul.Tensor", run("mul.Tensor", difference, factor), grad_output)


@program("huber_loss")
def huber_loss(self: Any, target: Any, reduction: int, delta: float) -> Any:
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    distance = run("abs", run("sub.Tensor", self, target, 1))
    near = run("mul.Tensor", run("mul.Tensor", distance, distance), 0.5)
    far = run("mul.Tensor", run("sub.Tensor", distance, 0.5 * delta, 1), delta)
    return _reduce_loss(run("where.self", run("le.Scalar", distance, delta), near, far), reduction)


@program("huber_loss_backward")
def huber_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    slope = run("clamp", run("sub.Tensor", self, target, 1), -delta, delta)
    if reduction == 1:
        slope = run("mul.Tensor", slope, 1.0 / slope._array.size)
    return run("mul.Tensor", slope, grad_output)


@program("soft_margin_loss_backward")
def soft_margin_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    """Of log(1 + exp(-t x)): -t sigmoid(-t x)."""
    against = run("neg", target)
    slope = run("mul.Tensor", against, run("sigmoid", run("mul.Tensor", against, self)))
    if reduction == 1:
        slope = run("mul.Tensor", slope, 1.0 / slope._array.size)
    return run("mul.Tensor", slope, grad_output)


# --- pooling: the operators' indices are int32
def _with_indices(operator: str, op: str, self: Any, given: tuple[Any, ...], form: tuple[Any, ...]) -> Any:
    out, indices = empty_like_specs(op, self, *given)
    if not self._array.size:
        raise Rejected("an input has no elements")
    narrow = new_tensor(indices._array.shape, dt.int32, self.device)
    launch_named(operator, (self, *form, out, narrow), self.device.index)
    return out, cast(narrow, dt.int64)


def _from_indices(operator: str, grad_output: Any, self: Any, indices: Any, form: tuple[Any, ...]) -> Any:
    out = new_tensor(self._array.shape, self.dtype, self.device)
    launch_named(operator, (grad_output, self, cast(indices, dt.int32), *form, out), self.device.index)
    return out


def _max_pool(name: str, operator: str, operator_backward: str) -> None:
    @program(name)
    def forward(self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
        return _with_indices(
            operator,
            name,
            self,
            (kernel_size, stride, padding, dilation, ceil_mode),
            (kernel_size, stride or kernel_size, padding, dilation, ceil_mode),
        )

    @program(f"{name}_backward")
    def backward(
        grad_output: Any,
        self: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
        indices: Any,
    ) -> Any:
        return _from_indices(
            operator_backward,
            grad_output,
            self,
            indices,
            (kernel_size, stride or kernel_size, padding, dilation, ceil_mode),
        )


_max_pool("max_pool2d_with_indices", "MaxPool2dWithIndices", "MaxPool2dWithIndicesBackward")
_max_pool("max_pool3d_with_indices", "MaxPool3dWithArgmax", "MaxPool3dWithArgmaxBackward")


@program("adaptive_max_pool3d")
def adaptive_max_pool3d(self: Any, output_size: Any) -> Any:
    return _with_indices("AdaptiveMaxPool3d", "adaptive_max_pool3d", self, (output_size,), (output_size,))


@program("adaptive_max_pool3d_backward")
def adaptive_max_pool3d_backward(grad_output: Any, self: Any, indices: Any) -> Any:
    return _from_indices("AdaptiveMaxPool3dBackward", grad_output, self, indices, ())


# --- sequences: their lengths are on the host
def _packed_rows(sizes: np.ndarray, batch: int, device: Any) -> Any:
    """Which rows of (step, sequence) a packed sequence holds, when `sizes` sequences are left at each step."""
    rows = np.concatenate([step * batch + np.arange(size) for step, size in enumerate(sizes)])
    return to_device(rows.astype(np.int64), dt.int64, device)


@program("_pack_padded_sequence")
def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool) -> Any:
    padded = view(input, input._array.swapaxes(0, 1)) if batch_first else input
    check_lengths(padded._array, lengths._array)
    steps, batch, *rest = padded._array.shape
    sizes = (np.arange(lengths._array[0])[:, None] < lengths._array).sum(1)
    rows = contiguous(padded)._array.reshape(steps * batch, *rest)
    return run("index_select", view(input, rows), 0, _packed_rows(sizes, batch, input.device)), wrap(
        sizes.astype(np.int64), dt.int64
    )


@program("_pack_padded_sequence_backward")
def pack_padded_sequence_backward(grad: Any, input_size: Any, batch_sizes: Any, batch_first: bool) -> Any:
    batch, steps = input_size[:2] if batch_first else input_size[1::-1]
    out = run("zero_", new_tensor((steps * batch, *input_size[2:]), grad.dtype, grad.device))
    run("_index_put_impl_", out, [_packed_rows(batch_sizes._array, batch, grad.device)], grad, False, False)
    padded = view(out, out._array.reshape(steps, batch, *input_size[2:]))
    return view(out, padded._array.swapaxes(0, 1)) if batch_first else padded


# --- embeddings
@program("embedding_renorm_")
def embedding_renorm_(self: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Rows that are used and too long are scaled down. Rows used twice are computed twice, to the same."""
    rows = run("index_select", self, 0, row_helpers.flat(indices))
    norms = run("linalg_vector_norm", rows, norm_type, (1,), True, None)
    factors = run(
        "div.Tensor",
        run("fill_.Scalar", new_tensor(norms._array.shape, norms.dtype, norms.device), max_norm),
        run("add.Tensor", norms, 1e-7, 1),
    )
    scaled = run("where.self", run("gt.Scalar", norms, max_norm), run("mul.Tensor", rows, factors), rows)
    return run("_index_put_impl_", self, [row_helpers.flat(indices)], scaled, False, False)


_SUM, _MEAN = 0, 1


@program("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    include_last_offset: bool,
    padding_idx: int,
) -> Any:
    """Sums or means of rows; also the bag of each index and how many rows each bag has."""
    if (
        mode not in (_SUM, _MEAN)
        or include_last_offset
        or padding_idx >= 0
        or not indices._array.size
        or indices.dtype is not offsets.dtype
    ):
        raise Rejected("maxima, padding or offsets of another form")
    count, bags = indices._array.shape[0], offsets._array.shape[0]
    numbers = run("arange", count, indices.dtype, None, indices.device, None)
    bag_of = run("sub.Tensor", run("searchsorted.Tensor", offsets, numbers, False, True, None, None), 1, 1)
    rows = run("index_select", weight, 0, indices)
    if per_sample_weights is not None:
        rows = run("mul.Tensor", rows, view(per_sample_weights, per_sample_weights._array[:, None]))
    empty = run("zero_", new_tensor((bags, weight._array.shape[1]), weight.dtype, weight.device))
    out = run("index_add", empty, 0, bag_of, rows, 1)
    ones = run("fill_.Scalar", new_tensor((count,), dt.int64, weight.device), 1)
    sizes = run("index_add", run("zero_", new_tensor((bags,), dt.int64, weight.device)), 0, bag_of, ones, 1)
    if mode == _MEAN:
        out = run("div.Tensor", out, _as_column(run("clamp_min", sizes, 1), out))
    return out, bag_of, sizes, sizes


@program("_embedding_bag_dense_backward")
def embedding_bag_backward(
    grad: Any,
    indices: Any,
    offset2bag: Any,
    bag_size: Any,
    maximum_indices: Any,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Any,
    padding_idx: int,
) -> Any:
    if mode not in (_SUM, _MEAN) or padding_idx >= 0 or not indices._array.size:
        raise Rejected("maxima, padding or no index")
    rows = run("index_select", grad, 0, offset2bag)
    if mode == _MEAN:
        rows = run("div.Tensor", rows, _as_column(run("index_select", bag_size, 0, offset2bag), rows))
    if per_sample_weights is not None:
        rows = run("mul.Tensor", rows, view(per_sample_weights, per_sample_weights._array[:, None]))
    return run("embedding_dense_backward", rows, indices, num_weights, -1, scale_grad_by_freq)


def _as_column(numbers: Any, like: Any) -> Any:
    column = view(numbers, numbers._array[:, None])
    return cast(column, like.dtype)


# --- optimizer steps
