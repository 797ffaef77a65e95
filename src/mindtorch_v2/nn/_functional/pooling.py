"""Pooling functions whose arguments need preparation before the operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..._tensor import Tensor


def _tuple(value: Any, n: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * n


def _max_pool(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    stride = () if stride is None else stride
    if return_indices:
        call = (aten.max_pool1d_with_indices, aten.max_pool2d_with_indices, aten.max_pool3d_with_indices)[n - 1]
    else:
        call = (aten.max_pool1d, aten.max_pool2d, aten.max_pool3d)[n - 1]
    return call(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window of (N, C, L) or (C, L); with `return_indices` also where it was.

    >>> F.max_pool1d(torch.tensor([[1., 3., 5., 7.]]), 2)
    tensor([[3., 7.]])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window of (N, C, H, W) or (C, H, W); with `return_indices` also where it was.

    >>> F.max_pool2d(torch.arange(4.).reshape(1, 2, 2), 2)
    tensor([[[3.]]])
    """
    if not return_indices:
        return aten.max_pool2d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window of (N, C, D, H, W) or (C, D, H, W); with `return_indices` also where it was.

    >>> F.max_pool3d(torch.ones(1, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """max_pool1d that always returns the indices.

    >>> F.max_pool1d_with_indices(torch.tensor([[1., 3., 5., 7.]]), 2)[1]
    tensor([[1, 3]])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """max_pool2d that always returns the indices.

    >>> F.max_pool2d_with_indices(torch.arange(4.).reshape(1, 2, 2), 2)[1]
    tensor([[[3]]])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """max_pool3d that always returns the indices.

    >>> F.max_pool3d_with_indices(torch.ones(1, 4, 4, 4), 2)[1].shape
    torch.Size([1, 2, 2, 2])
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _output_sizes(output_size: Any, input: Tensor, n: int) -> Any:
    """An adaptive output size with None replaced by the input's size."""
    if isinstance(output_size, int):
        return output_size
    if input.dim() <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    return [have if wanted is None else wanted for wanted, have in zip(output_size, input.shape[-len(output_size) :])]


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of windows chosen so that the output has `output_size`.

    >>> F.adaptive_avg_pool2d(torch.arange(4.).reshape(1, 2, 2), 1)
    tensor([[[1.5000]]])
    """
    return aten.adaptive_avg_pool2d(input, _output_sizes(output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of windows chosen so that the output has `output_size`.

    >>> F.adaptive_avg_pool3d(torch.ones(1, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    return aten.adaptive_avg_pool3d(input, _output_sizes(output_size, input, 3))


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum of windows chosen so that the output has `output_size`.

    >>> F.adaptive_max_pool1d(torch.tensor([[1., 3., 5., 7.]]), 2)
    tensor([[3., 7.]])
    """
    made = aten.adaptive_max_pool1d(input, output_size)
    return made if return_indices else made[0]


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum of windows chosen so that the output has `output_size`.

    >>> F.adaptive_max_pool2d(torch.arange(4.).reshape(1, 2, 2), 1)
    tensor([[[3.]]])
    """
    made = aten.adaptive_max_pool2d(input, _output_sizes(output_size, input, 2))
    return made if return_indices else made[0]


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maximum of windows chosen so that the output has `output_size`.

    >>> F.adaptive_max_pool3d(torch.ones(1, 4, 4, 4), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    made = aten.adaptive_max_pool3d(input, _output_sizes(output_size, input, 3))
    return made if return_indices else made[0]


def _unpool_output_size(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_size: Sequence[int] | None,
) -> list[int]:
    """The size before pooling: computed, or the given one if it is near enough."""
    spatial = input.shape[-len(kernel_size) :]
    natural = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(spatial, kernel_size, stride, padding)]
    if output_size is None:
        return natural
    if len(output_size) == len(kernel_size) + 2:
        output_size = output_size[2:]
    if len(output_size) != len(kernel_size):
        raise ValueError(
            f"output_size should be a sequence containing {len(kernel_size)} or {len(kernel_size) + 2} elements, but "
            f"it has a length of '{len(output_size)}'"
        )
    for d, (size, s) in enumerate(zip(natural, stride)):
        if not size - s < output_size[d] < size + s:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {size - s} and {size + s})')
    return list(output_size)


def _unpool(
    n: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    kernel = _tuple(kernel_size, n)
    step = kernel if stride is None else _tuple(stride, n)
    pad = _tuple(padding, n)
    size = _unpool_output_size(input, kernel, step, pad, output_size)
    if n == 1:
        return aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)
    if n == 2:
        return aten.max_unpool2d(input, indices, size)
    return aten.max_unpool3d(input, indices, size, step, pad)


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Puts maxima back where max_pool1d found them; the rest is zero.

    >>> F.max_unpool1d(torch.tensor([[3., 7.]]), torch.tensor([[1, 3]]), 2)
    tensor([[0., 3., 0., 7.]])
    """
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Puts maxima back where max_pool2d found them; the rest is zero.

    >>> F.max_unpool2d(torch.tensor([[[3.]]]), torch.tensor([[[3]]]), 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Puts maxima back where max_pool3d found them; the rest is zero.

    >>> F.max_unpool3d(torch.ones(1, 1, 1, 1), torch.tensor([[[[3]]]]), 2).shape
    torch.Size([1, 2, 2, 2])
    """
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


def _lp_pool(n: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    kernel = _tuple(kernel_size, n)
    count = 1
    for k in kernel:
        count *= k
    average = (aten.avg_pool1d, aten.avg_pool2d, aten.avg_pool3d)[n - 1]
    mean = average(input.pow(norm_type), kernel, () if stride is None else stride, 0, ceil_mode)
    signed = aten.sign(mean) * aten.relu(aten.abs(mean))
    return signed.mul(count).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x ** p) ** (1 / p) of each window.

    >>> F.lp_pool1d(torch.tensor([[3., 4.]]), 2, 2)
    tensor([[5.]])
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x ** p) ** (1 / p) of each window.

    >>> F.lp_pool2d(torch.ones(1, 2, 2), 2, 2)
    tensor([[[2.]]])
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum of x ** p) ** (1 / p) of each window.

    >>> F.lp_pool3d(torch.ones(1, 4, 4, 4), 2, 2).shape
    torch.Size([1, 2, 2, 2])
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
