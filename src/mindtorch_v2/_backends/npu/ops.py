"""Which operator of the device computes which op: one row per op.

A row reads `"<aten name>": "<operator>: <operands>"`. Operands are expressions over the op's arguments, `out` (or
`out0`, `out1`, ...) and the helpers of `row_helpers`; their kinds stand in the operator's code in `abi.OPERATORS`. A
second row after `|` is taken where an argument that may be a number is one. What has no row runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import wrap
from .copies import NPU

_UNARY = {
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "rsqrt": "Rsqrt",
    "reciprocal": "Reciprocal",
    "sin": "Sin",
    "cos": "Cos",
    "erf": "Erf",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "neg": "Neg",
    "abs": "Abs",
    "relu": "Relu",
    "silu": "Silu",
    "bitwise_not": "BitwiseNot",
    "sgn": "Sign",
    **{
        name: name.capitalize()
        for name in (
            "floor",
            "ceil",
            "round",
            "trunc",
            "frac",
            "log1p",
            "expm1",
            "log2",
            "log10",
            "exp2",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "asinh",
            "acosh",
            "atanh",
            "erfc",
            "erfinv",
            "sign",
            "hardswish",
            "hardsigmoid",
            "mish",
        )
    },
}
_COMPARED = {"eq": "Eq", "ne": "Ne", "lt": "Lt", "le": "Le", "gt": "Gt", "ge": "Ge"}
_SCALES = {
    1: "scales or 0.0",
    2: "scales_h or 0.0, scales_w or 0.0",
    3: "scales_d or 0.0, scales_h or 0.0, scales_w or 0.0",
}
_WINDOW = "kernel_size, stride or kernel_size, padding, ceil_mode, count_include_pad, divisor_override or 0"

_SPREAD = {
    "": "self, every(self), int(unbiased), False",
    ".dim": "self, numbers(dim) or every(self), int(unbiased), keepdim",
    ".correction": "self, numbers(dim) or every(self), whole(1 if correction is None else correction), keepdim",
}


def _resizing(name: str, operator: str, rank: int, aligned: bool, forward: str = "") -> dict[str, str]:
    """The rows of a way to resize and of its gradient; `forward` names the operator where it is not the plain one."""
    form = f"{'align_corners, ' if aligned else ''}{_SCALES[rank]}, out"
    return {
        name: f"{forward or operator}: self, output_size, {form}",
        f"{name}_backward": f"{operator}Backward: grad_output, output_size, input_size, {form}",
    }


def _padding(kind: str) -> dict[str, str]:
    """The rows of a way to pad over one, two and three dimensions, and of the gradients."""
    operator = f"{kind.capitalize()}Pad"
    return {
        **{f"{kind}_pad{n}d": f"{operator}{n}d: self, padding, out" for n in (1, 2, 3)},
        **{f"{kind}_pad{n}d_backward": f"{operator}{n}dBackward: grad_output, self, padding, out" for n in (1, 2, 3)},
    }


ROWS: dict[str, str] = {
    **{name: f"{operator}: self, out" for name, operator in _UNARY.items()},
    # arithmetic
    "add.Tensor": "Add: self, other, alpha, out | Adds: self, other, alpha, out",
    "sub.Tensor": "Sub: self, other, alpha, out | Subs: self, other, alpha, out",
    "rsub.Tensor": "Sub: other, self, alpha, out",
    "rsub.Scalar": "Sub: other, self, alpha, out",
    "mul.Tensor": "Mul: self, other, out | Muls: self, other, out",
    "div.Tensor": "Div: self, other, out | Divs: self, other, out",
    "pow.Tensor_Scalar": "PowTensorScalar: self, exponent, out",
    "pow.Tensor_Tensor": "PowTensorTensor: self, exponent, out",
    "pow.Scalar": "PowScalarTensor: self, exponent, out",
    "atan2": "Atan2: self, other, out",
    "remainder.Tensor": "RemainderTensorTensor: self, other, out",
    "remainder.Scalar": "RemainderTensorScalar: self, other, out",
    "fmod.Tensor": "FmodTensor: self, other, out",
    "fmod.Scalar": "FmodScalar: self, other, out",
    "floor_divide": "FloorDivide: self, other, out | FloorDivides: self, other, out",
    "xlogy.Tensor": "XLogYTensor: self, other, out",
    "xlogy.Scalar_Other": "XLogYScalarOther: self, other, out",
    "xlogy.Scalar_Self": "XLogYScalarSelf: self, other, out",
    **{
        f"bitwise_{name}.{kind}": f"Bitwise{name.capitalize()}{kind}: self, other, out"
        for name in ("and", "or", "xor")
        for kind in ("Tensor", "Scalar")
    },
    "maximum": "Maximum: self, other, out",
    "minimum": "Minimum: self, other, out",
    "clamp": "Clamp: self, min, max, out",
    "clamp_min": "Clamp: self, min, None, out",
    "clamp_max": "Clamp: self, None, max, out",
    "clamp_min.Tensor": "ClampMinTensor: self, min, out",
    "clamp_max.Tensor": "ClampMaxTensor: self, max, out",
    "addcmul": "Addcmul: self, tensor1, tensor2, value, out",
    "addcdiv": "Addcdiv: self, tensor1, tensor2, value, out",
    # comparison and choice
    **{f"{name}.Tensor": f"{operator}Tensor: self, other, out" for name, operator in _COMPARED.items()},
    **{f"{name}.Scalar": f"{operator}Scalar: self, other, out" for name, operator in _COMPARED.items()},
    "logical_and": "LogicalAnd: self, other, out",
    "logical_or": "LogicalOr: self, other, out",
    "logical_xor": "LogicalXor: self, other, out",
    "logical_not": "EqScalar: self, 0, out",
    "isposinf": "EqScalar: self, float('inf'), out",
    "isneginf": "EqScalar: self, float('-inf'), out",
    "where.self": "SWhere: condition, self, other, out",
    "where.ScalarOther": "SWhere: condition, self, other, out",
    "where.ScalarSelf": "SWhere: condition, self, other, out",
    "masked_fill.Scalar": "SWhere: mask, as_type(value, self), self, out",
    "masked_fill.Tensor": "SWhere: mask, as_type(value, self), self, out",
    # activations
    "leaky_relu": "LeakyRelu: self, negative_slope, out",
    "leaky_relu_backward": "LeakyReluBackward: grad_output, self, negative_slope, self_is_result, out",
    "threshold": "Threshold: self, threshold, value, out",
    "hardtanh_backward": "HardtanhBackward: grad_output, self, min_val, max_val, out",
    "elu": "Elu: self, alpha, scale, input_scale, out",
    "elu_backward": "EluBackward: grad_output, alpha, scale, input_scale, is_result, self_or_result, out",
    "softplus": "Softplus: self, beta, threshold, out",
    "softplus_backward": "SoftplusBackward: grad_output, self, beta, threshold, out",
    "softshrink": "Softshrink: self, lambd, out",
    "softshrink_backward": "SoftshrinkBackward: grad_output, self, lambd, out",
    "hardshrink": "Hardshrink: self, lambd, out",
    "hardshrink_backward": "HardshrinkBackward: grad_out, self, lambd, out",
    "hardswish_backward": "HardswishBackward: grad_output, self, out",
    "hardsigmoid_backward": "HardsigmoidBackward: grad_output, self, out",
    "mish_backward": "MishBackward: grad_output, self, out",
    "silu_backward": "SiluBackward: grad_output, self, out",
    "tanh_backward": "TanhBackward: grad_output, output, out",
    "sigmoid_backward": "SigmoidBackward: grad_output, output, out",
    "threshold_backward": "ThresholdBackward: grad_output, self, threshold, out",
    "_softmax": "Softmax: only(not half_to_float, self), dim, out",
    "_log_softmax": "LogSoftmax: only(not half_to_float, self), dim, out",
    "_softmax_backward_data": "SoftmaxBackward: grad_output, output, dim, out",
    "_log_softmax_backward_data": "LogSoftmaxBackward: grad_output, output, dim, out",
    # products
    "mm": "Mm: self, mat2, out, cube()",
    "bmm": "BatchMatMul: self, mat2, out, cube()",
    "mv": "Matmul: self, vec, out, cube()",
    "dot": "Matmul: self, tensor, out, cube()",
    "addmm": "Addmm: self, mat1, mat2, beta, alpha, out, cube()",
    "baddbmm": "Baddbmm: self, batch1, batch2, beta, alpha, out, cube()",
    # reductions
    "sum": "ReduceSum: self, every(self), False, out.dtype, out",
    "sum.dim_IntList": "ReduceSum: self, dim or every(self), keepdim, out.dtype, out",
    "amax": "Amax: self, dim or every(self), keepdim, out",
    "max": "Amax: self, every(self), False, out",
    "max.dim": "MaxDim: self, dim, keepdim, out0, out1",
    "argmax": "ArgMax: flat(only(not keepdim, self)) if dim is None else self, dim or 0, keepdim, out",
    "amin": "Amin: self, dim or every(self), keepdim, out",
    "min": "Amin: self, every(self), False, out",
    "min.dim": "MinDim: self, dim, keepdim, out0, out1",
    "argmin": "ArgMin: flat(only(not keepdim, self)) if dim is None else self, dim or 0, keepdim, out",
    "any": "Any: self, every(self), False, out",
    "any.dim": "Any: self, (dim,), keepdim, out",
    "any.dims": "Any: self, dim or every(self), keepdim, out",
    "all": "All: self, every(self), False, out",
    "all.dim": "All: self, (dim,), keepdim, out",
    "all.dims": "All: self, dim or every(self), keepdim, out",
    "prod": "Prod: self, out.dtype, out",
    "prod.dim_int": "ProdDim: self, dim, keepdim, out.dtype, out",
    **{
        f"{name}{rest}": f"{operator}: {form}, out"
        for name, operator in (("var", "VarCorrection"), ("std", "Std"))
        for rest, form in _SPREAD.items()
    },
    **{
        f"{name}_mean{rest}": f"{operator}: {form}, out0, out1"
        for name, operator in (("var", "VarMean"), ("std", "StdMeanCorrection"))
        for rest, form in _SPREAD.items()
    },
    "cumsum": "Cumsum: self, dim, out.dtype, out",
    "cumprod": "Cumprod: self, dim, out.dtype, out",
    "sort": "Sort: self, False, dim, descending, out0, out1",
    "sort.stable": "Sort: self, bool(stable), dim, descending, out0, out1",
    "topk": "Topk: self, k, dim, largest, sorted, out0, out1",
    "searchsorted.Tensor": "SearchSorted: sorted_sequence, self, out_int32, right or side == 'right', only(sorter is "
    "None, None), out",
    "bucketize.Tensor": "SearchSorted: boundaries, self, out_int32, right, None, out",
    # movement and creation
    "cat": "Cat: [as_type(t, out) for t in tensors if t._array.size], dim_index(dim, out), out",
    "tril": "Tril: self, diagonal, out",
    "triu": "Triu: self, diagonal, out",
    "arange": "Arange: 0, end, 1, out",
    "arange.start": "Arange: start, end, 1, out",
    "arange.start_step": "Arange: start, end, step, out",
    "linspace": "Linspace: start, end, steps, only(out.dtype.is_floating_point, out)",
    "eye": "Eye: n, n, out",
    "eye.m": "Eye: n, m, out",
    "flip": "Flip: self, dims, out",
    "repeat": "Repeat: self, repeats, out",
    "fill_.Scalar": "InplaceFillScalar: self, value",
    "zero_": "InplaceZero: self",
    "index_select": "IndexSelect: self, dim, index, out",
    "gather": "Gather: self, dim, index, out",
    "scatter_add": "ScatterAdd: self, dim, index, src, out",
    "scatter.src": "Scatter: self, dim, index, src, 0, out",
    "scatter.value": "ScatterValue: self, dim, index, value, 0, out",
    "scatter.reduce": "Scatter: self, dim, index, src, accumulation(reduce), out",
    "scatter.value_reduce": "ScatterValue: self, dim, index, value, accumulation(reduce), out",
    "index_add": "IndexAdd: self, dim, index, source, alpha, out",
    "embedding_dense_backward": "EmbeddingDenseBackward: grad_output, indices, num_weights, no_row(padding_idx), "
    "scale_grad_by_freq, out",
    # layers
    "native_layer_norm": "LayerNorm: input, normalized_shape, weight, bias, eps, out0, out1, out2",
    "native_layer_norm_backward": "LayerNormBackward: grad_out, input, normalized_shape, mean, rstd, weight, bias, "
    "output_mask, "
    "out0, out1, out2",
    "native_batch_norm": "BatchNorm: input, weight, bias, running_mean, running_var, training, momentum, eps, out0, "
    "out1, out2",
    "native_batch_norm_backward": "BatchNormBackward: grad_out, input, weight, running_mean, running_var, "
    "filled_in(save_mean), "
    "filled_in(save_invstd), "
    "train, eps, output_mask, out0, out1, out2",
    "native_group_norm": "GroupNorm: input, weight, bias, N, C, HxW, group, eps, out0, out1, out2",
    "native_group_norm_backward": "GroupNormBackward: grad_out, input, mean, rstd, weight, N, C, HxW, group, "
    "output_mask, "
    "out0, out1, out2",
    "convolution_backward": "ConvolutionBackward: grad_output, input, weight, bias_sizes, stride, padding, dilation, "
    "transposed, "
    "output_padding, groups, output_mask, cube(), out0, out1, out2",
    "nll_loss_forward": "NLLLoss: self, target, class_weights(weight, self), reduction, ignore_index, out0, out1",
    "nll_loss_backward": "NLLLossBackward: grad_output, self, target, class_weights(weight, self), reduction, "
    "ignore_index, "
    "total_weight, out",
    "nll_loss2d_forward": "NLLLoss2d: self, target, class_weights(weight, self), reduction, ignore_index, out0, out1",
    "nll_loss2d_backward": "NLLLoss2dBackward: grad_output, self, target, class_weights(weight, self), reduction, "
    "ignore_index, "
    "total_weight, out",
    "smooth_l1_loss": "SmoothL1Loss: self, target, reduction, beta, out",
    "smooth_l1_loss_backward": "SmoothL1LossBackward: grad_output, self, target, reduction, beta, out",
    "binary_cross_entropy": "BinaryCrossEntropy: self, target, weight, reduction, out",
    "binary_cross_entropy_backward": "BinaryCrossEntropyBackward: grad_output, self, target, weight, reduction, out",
    # pooling, resizing, padding
    "avg_pool2d": f"AvgPool2d: self, {_WINDOW}, cube(), out",
    "avg_pool2d_backward": f"AvgPool2dBackward: grad_output, self, {_WINDOW}, cube(), out",
    "avg_pool3d": f"AvgPool3d: self, {_WINDOW}, out",
    "avg_pool3d_backward": f"AvgPool3dBackward: grad_output, self, {_WINDOW}, out",
    **{f"_adaptive_avg_pool{n}d": f"AdaptiveAvgPool{n}d: self, output_size, out" for n in (2, 3)},
    **{f"_adaptive_avg_pool{n}d_backward": f"AdaptiveAvgPool{n}dBackward: grad_output, self, out" for n in (2, 3)},
    "adaptive_max_pool2d": "AdaptiveMaxPool2d: self, output_size, out0, out1",
    "adaptive_max_pool2d_backward": "AdaptiveMaxPool2dBackward: grad_output, self, indices, out",
    **_resizing("upsample_nearest1d", "UpsampleNearest1d", 1, False, "UpsampleNearest1dV2"),
    **_resizing("upsample_nearest2d", "UpsampleNearest2d", 2, False, "UpsampleNearest2dV2"),
    **_resizing("upsample_nearest3d", "UpsampleNearest3d", 3, False),
    **_resizing("_upsample_nearest_exact2d", "UpsampleNearestExact2d", 2, False),
    **_resizing("upsample_linear1d", "UpsampleLinear1d", 1, True),
    **_resizing("upsample_bilinear2d", "UpsampleBilinear2d", 2, True),
    **_resizing("upsample_bicubic2d", "UpsampleBicubic2d", 2, True),
    **_resizing("upsample_trilinear3d", "UpsampleTrilinear3d", 3, True),
    **_padding("reflection"),
    **_padding("replication"),
    "im2col": "Im2col: self, kernel_size, dilation, padding, stride, out",
    "col2im": "Im2colBackward: self, output_size, kernel_size, dilation, padding, stride, out",
    # random numbers
    "randperm.generator": "Randperm: n, *draw(out, generator), out",
    "multinomial": "Multinomial: self, num_samples, replacement, *draw(out, generator), out",
    "uniform_": "InplaceUniform: self, from_, to, *draw(self, generator)",
    "normal_": "InplaceNormal: self, mean, std, *draw(self, generator)",
}


def unsafe_view(self: Any, size: Sequence[int]) -> Any:
    """Another shape over the same memory, as a tensor of its own."""
    return wrap(self._array.reshape(tuple(size)), self.dtype, NPU, self.device)
