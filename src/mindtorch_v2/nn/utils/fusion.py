"""Folding batch normalisation into the layer before it, for inference."""

from __future__ import annotations

import copy
from typing import Any

from ..._dispatch import aten
from ..._tensor import Parameter, Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fuse_batch_norm(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    bias = aten.zeros_like(mean) if bias is None else bias
    scale = aten.ones_like(mean) if scale is None else scale
    shift = aten.zeros_like(mean) if shift is None else shift
    factor = scale * aten.rsqrt(var + eps)
    fused_weight = (weight * factor.reshape(shape)).to(weight.dtype)
    fused_bias = ((bias - mean) * factor + shift).to(bias.dtype)
    return (
        Parameter(fused_weight.detach(), requires_grad=weight.requires_grad),
        Parameter(fused_bias.detach(), requires_grad=bias.requires_grad),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of one convolution that does what a convolution and a batch norm do.

    >>> one, zero = torch.ones(1), torch.zeros(1)
    >>> weight, bias = nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 2, 2), None, one, one, 0.0, 2 * one, zero)
    >>> weight.flatten().tolist(), bias.tolist()
    ([2.0, 2.0, 2.0, 2.0], [-2.0])
    """
    shape = [1, -1] if transpose else [-1, 1]
    return _fuse_batch_norm(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """The weight and bias of one linear layer that does what a linear layer and a batch norm do.

    >>> one, zero = torch.ones(1), torch.zeros(1)
    >>> weight, bias = nn.utils.fuse_linear_bn_weights(torch.ones(1, 2), None, one, one, 0.0, 2 * one, zero)
    >>> weight.tolist(), bias.tolist()
    ([[2.0, 2.0]], [-2.0])
    """
    return _fuse_batch_norm(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fused_copy(layer: Any, bn: Any, fuse: Any, **options: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(layer)
    made.weight, made.bias = fuse(
        made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, **options
    )
    return made


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what `conv` and `bn`, both in evaluation, do.

    >>> conv, bn, x = nn.Conv2d(2, 3, 3).eval(), nn.BatchNorm2d(3).eval(), torch.randn(1, 2, 8, 8)
    >>> torch.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    True
    """
    return _fused_copy(conv, bn, fuse_conv_bn_weights, transpose=transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what `linear` and `bn`, both in evaluation, do.

    >>> linear, bn, x = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval(), torch.randn(4, 2)
    >>> torch.allclose(nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-5)
    True
    """
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fused_copy(linear, bn, fuse_linear_bn_weights)
