"""Which operator of the device computes which op: one row per op.

A row reads `"<aten name>": "<operator>: <operands>"`. Operands are expressions over the op's arguments, `out` (or `out0`,
`out1`, ...) and the helpers below; their kinds stand in the operator's code in `abi.OPERATORS`. A second row after `|` is
taken where an argument that may be a number is one. What has no row runs on the CPU.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtype as dt
from ..._tensor import wrap
from . import abi, random
from .copies import NPU, cast, dense, new_tensor
from .launcher import Rejected
from .runtime import runtime

_UNARY = {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "reciprocal": "Reciprocal", "sin": "Sin", "cos": "Cos",
          "erf": "Erf", "tanh": "Tanh", "sigmoid": "Sigmoid", "neg": "Neg", "abs": "Abs", "relu": "Relu", "silu": "Silu"}

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
    "maximum": "Maximum: self, other, out",
    "minimum": "Minimum: self, other, out",
    "clamp": "Clamp: self, min, max, out",
    "clamp_min": "Clamp: self, min, None, out",
    "clamp_max": "Clamp: self, None, max, out",
    "addcmul": "Addcmul: self, tensor1, tensor2, value, out",
    "addcdiv": "Addcdiv: self, tensor1, tensor2, value, out",
    # comparison and choice
    "eq.Tensor": "EqTensor: self, other, out", "eq.Scalar": "EqScalar: self, other, out",
    "ne.Tensor": "NeTensor: self, other, out", "ne.Scalar": "NeTensor: self, other, out",
    "lt.Tensor": "LtTensor: self, other, out", "lt.Scalar": "LtTensor: self, other, out",
    "gt.Tensor": "GtTensor: self, other, out", "gt.Scalar": "GtScalar: self, other, out",
    "logical_not": "EqScalar: self, 0, out",
    "isposinf": "EqScalar: self, float('inf'), out",
    "isneginf": "EqScalar: self, float('-inf'), out",
    "where.self": "SWhere: condition, self, other, out",
    "where.ScalarOther": "SWhere: condition, self, other, out",
    "where.ScalarSelf": "SWhere: condition, self, other, out",
    "masked_fill.Scalar": "SWhere: mask, as_type(value, self), self, out",
    "masked_fill.Tensor": "SWhere: mask, as_type(value, self), self, out",
    # activations
    "gelu": "Gelu: only(approximate == 'none', self), out",
    "gelu_backward": "GeluBackward: grad_output, only(approximate == 'none', self), out",
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
    # movement and creation
    "cat": "Cat: [as_type(t, out) for t in tensors if t._a.size], place(dim, out), out",
    "tril": "Tril: self, diagonal, out",
    "triu": "Triu: self, diagonal, out",
    "arange": "Arange: 0, end, 1, out",
    "arange.start": "Arange: start, end, 1, out",
    "arange.start_step": "Arange: start, end, step, out",
    "fill_.Scalar": "InplaceFillScalar: self, value",
    "zero_": "InplaceZero: self",
    "index_select": "IndexSelect: self, dim, index, out",
    "gather": "Gather: self, dim, index, out",
    "scatter_add": "ScatterAdd: self, dim, index, src, out",
    "embedding_dense_backward": "EmbeddingDenseBackward: grad_output, indices, num_weights, no_row(padding_idx), scale_grad_by_freq, out",
    # layers
    "native_layer_norm": "LayerNorm: input, normalized_shape, weight, bias, eps, out0, out1, out2",
    "native_layer_norm_backward": "LayerNormBackward: grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask, "
                                  "out0, out1, out2",
    "native_batch_norm": "BatchNorm: input, weight, bias, running_mean, running_var, training, momentum, eps, out0, "
                         "out1, out2",
    "native_batch_norm_backward": "BatchNormBackward: grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, "
                                  "train, eps, output_mask, out0, out1, out2",
    "mkldnn_convolution": "Convolution: self, weight, bias, stride, padding, dilation, False, zeros(stride), groups, out, cube()",
    "slow_conv_transpose2d": "Convolution: self, weight, bias, stride, padding, dilation, True, output_padding, 1, out, cube()",
    "slow_conv_transpose3d": "Convolution: self, weight, bias, stride, padding, dilation, True, output_padding, 1, out, cube()",
    "convolution_backward": "ConvolutionBackward: grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, "
                            "output_padding, groups, output_mask, cube(), out0, out1, out2",
    "nll_loss_forward": "NLLLoss: self, target, class_weights(weight, self), reduction, ignore_index, out0, out1",
    "nll_loss_backward": "NLLLossBackward: grad_output, self, target, class_weights(weight, self), reduction, ignore_index, "
                         "total_weight, out",
    # random numbers
    "uniform_": "InplaceUniform: self, from_, to, *draw(self, generator)",
    "normal_": "InplaceNormal: self, mean, std, *draw(self, generator)",
}


# --- what rows may say --------------------------------------------------------------------------------------------------
def only(fits: bool, operand: Any) -> Any:
    """The operand, where the device's operator has the meaning that is asked for."""
    if not fits:
        raise Rejected("the device's operator has no such form")
    return operand


def every(t: Any) -> tuple[int, ...]:
    """All dimensions."""
    return tuple(range(t._a.ndim))


def flat(t: Any) -> Any:
    """The elements in one dimension."""
    whole = t if t._a.flags.c_contiguous else dense(t)
    return wrap(whole._a.reshape(-1), t.dtype, NPU, t.device)


def place(dim: int, t: Any) -> int:
    return dim % t._a.ndim if t._a.ndim else 0


def zeros(like: Sequence[int]) -> tuple[int, ...]:
    return (0,) * len(like)


def no_row(padding_idx: int) -> int:
    """-1 stands for no padding; the operator takes an unsigned number that no row has."""
    return padding_idx & 0xFFFFFFFFFFFFFFFF


def cube() -> int:
    """How the matrix unit treats float32: kept as it is, except on devices that cannot."""
    global _cube
    if _cube is None:
        soc = (runtime().aclrtGetSocName() or b"").decode()
        _cube = abi.CUBE_ALLOW_FLOAT32_DOWN if soc.startswith(("Ascend910A", "Ascend910Pro", "Ascend310P")) else abi.CUBE_KEEP_DTYPE
    return _cube


_cube: int | None = None


def as_type(value: Any, like: Any) -> Any:
    """A tensor (made of a number if need be) in the type of another one."""
    if not hasattr(value, "_a"):
        return filled(value, like.dtype, like.device)
    return value if value.dtype is like.dtype else cast(value, like.dtype)


def filled(value: Any, kind: dt.dtype, device: Any) -> Any:
    """A 0-dim tensor on a device."""
    from .boxing import run
    return run("fill_.Scalar", new_tensor((), kind, device), value)


def class_weights(weight: Any, scores: Any) -> Any:
    """One weight per class: the operator wants them even where all are one."""
    if weight is not None:
        return weight
    from .boxing import run
    return run("fill_.Scalar", new_tensor((scores._a.shape[-1 if scores._a.ndim == 1 else 1],), scores.dtype, scores.device), 1)


def draw(t: Any, generator: Any) -> tuple[int, int]:
    """A seed and an offset, which move the generator on."""
    return random.draw(t, generator)


HELPERS = {"only": only, "flat": flat, "every": every, "place": place, "zeros": zeros, "no_row": no_row, "cube": cube, "as_type": as_type,
           "class_weights": class_weights, "draw": draw}


def unsafe_view(self: Any, size: Sequence[int]) -> Any:
    """Another shape over the same memory, as a tensor of its own."""
    return wrap(self._a.reshape(tuple(size)), self.dtype, NPU, self.device)
