"""Gradients of convolutions as functions of their own: with respect to the input, or to the weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch import aten
from .._tensor import Tensor

__all__ = [f"conv{n}d_{of}" for n in (1, 2, 3) for of in ("input", "weight")]
_Sizes = int | Sequence[int]


def _each(value: _Sizes, n: int) -> list[int]:
    return [value] * n if isinstance(value, int) else list(value)


def _gradient(
    which: int, n: int, grad_output: Tensor, input: Tensor, weight: Tensor, options: tuple[_Sizes, _Sizes, _Sizes, int]
) -> Any:
    """One of the gradients of a convolution over `n` dimensions: 0 is the input's, 1 the weight's."""
    stride, padding, dilation, groups = options
    form = (_each(stride, n), _each(padding, n), _each(dilation, n), False, [0] * n, groups)
    wanted = (which == 0, which == 1, False)
    return aten.convolution_backward(grad_output, input, weight, None, *form, wanted)[which]


def _to_input(n: int, size: Sequence[int] | None, weight: Tensor, grad_output: Tensor, *options: Any) -> Any:
    if size is None:
        raise ValueError(f"grad.conv{n}d_input requires specifying an input_size")
    empty = aten.expand(aten.new_empty(grad_output, [1]), list(size))
    return _gradient(0, n, grad_output, empty, weight, options)  # type: ignore[arg-type]


def _to_weight(n: int, input: Tensor, size: Sequence[int], grad_output: Tensor, *options: Any) -> Any:
    empty = aten.expand(aten.new_empty(grad_output, [1]), list(size))
    return _gradient(1, n, grad_output, input, empty, options)  # type: ignore[arg-type]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` with respect to an input of `input_size`.

    >>> nn.grad.conv1d_input([1, 1, 3], torch.ones(1, 1, 2), torch.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return _to_input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` with respect to a weight of `weight_size`.

    >>> nn.grad.conv1d_weight(torch.ones(1, 1, 3), [1, 1, 2], torch.ones(1, 1, 2))
    tensor([[[2., 2.]]])
    """
    return _to_weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` with respect to an input of `input_size`.

    >>> nn.grad.conv2d_input([1, 1, 2, 2], torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    return _to_input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` with respect to a weight of `weight_size`.

    >>> nn.grad.conv2d_weight(torch.ones(1, 1, 2, 2), [1, 1, 1, 1], torch.ones(1, 1, 2, 2))
    tensor([[[[4.]]]])
    """
    return _to_weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` with respect to an input of `input_size`.

    >>> nn.grad.conv3d_input([1, 1, 1, 1, 2], torch.ones(1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 1))
    tensor([[[[[1., 1.]]]]])
    """
    return _to_input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: _Sizes = 1,
    padding: _Sizes = 0,
    dilation: _Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` with respect to a weight of `weight_size`.

    >>> nn.grad.conv3d_weight(torch.ones(1, 1, 1, 1, 2), [1, 1, 1, 1, 1], torch.ones(1, 1, 1, 1, 2))
    tensor([[[[[2.]]]]])
    """
    return _to_weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)
