"""Convolutions.

Shapes: N batch, C channels, then one to three spatial dimensions; the batch may be missing.
"""

from __future__ import annotations

import math
from typing import Any

from ..._dispatch import aten
from ..._lazy_parts import lazy_parts as _lazy_parts
from ..._tensor import Parameter, Tensor
from .. import functional as F
from .. import init
from .module import Module
from .utils import _ntuple, _pair, _reverse_repeat_tuple, _single, _triple

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """What all convolutions share: their sizes, weights and how they are printed."""

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_sizes(in_channels, out_channels, groups, padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._padding_to_add()
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(aten.empty((first, second // groups, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(aten.empty((out_channels,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _padding_to_add(self) -> list[int]:
        """Amounts for `pad` before a convolution whose borders are not zeros."""
        if not isinstance(self.padding, str):
            return list(_reverse_repeat_tuple(self.padding, 2))
        amounts = [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            for i, (dilation, kernel) in enumerate(zip(reversed(self.dilation), reversed(self.kernel_size))):
                total = dilation * (kernel - 1)
                amounts[2 * i], amounts[2 * i + 1] = total // 2, total - total // 2
        return amounts

    def reset_parameters(self) -> None:
        """Draws new values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        n = len(self.kernel_size)
        if self.padding != (0,) * n:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * n:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * n:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check_sizes(
    in_channels: int, out_channels: int, groups: int, padding: Any, stride: tuple[int, ...], padding_mode: str
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {sorted(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")


class _Forward(_ConvNd):
    """A convolution (not transposed) over a fixed number of dimensions."""

    _n: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        expand = _ntuple(self._n)
        super().__init__(
            in_channels,
            out_channels,
            expand(kernel_size),
            expand(stride),
            padding if isinstance(padding, str) else expand(padding),
            expand(dilation),
            False,
            (0,) * self._n,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _pad_input(self, input: Tensor) -> Tensor:
        return F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)


class Conv1d(_Forward):
    """Cross-correlation of (N, C_in, L) with kernels over L, giving (N, C_out, L_out).

    L_out = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1).

    >>> nn.Conv1d(2, 4, 3, padding=1)(torch.ones(1, 2, 5)).shape
    torch.Size([1, 4, 5])
    """

    _n = 1

    def forward(self, input: Tensor) -> Tensor:
        if self.padding_mode != "zeros":
            return F.conv1d(
                self._pad_input(input), self.weight, self.bias, self.stride, _single(0), self.dilation, self.groups
            )
        return F.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Forward):
    """Cross-correlation of (N, C_in, H, W) with kernels over H and W, giving (N, C_out, H_out, W_out).

    out(n, j) = bias(j) + sum over k of weight(j, k) * input(n, k), where * slides the kernel over the image. Sizes
    follow H_out = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1). `padding` may be "valid" or
    "same"; `groups` splits the channels into independent convolutions.

        >>> nn.Conv2d(3, 16, 3, stride=2, padding=1)(torch.randn(8, 3, 32, 32)).shape
        torch.Size([8, 16, 16, 16])
    """

    _n = 2

    def forward(self, input: Tensor) -> Tensor:
        if self.padding_mode != "zeros":
            return F.conv2d(
                self._pad_input(input), self.weight, self.bias, self.stride, _pair(0), self.dilation, self.groups
            )
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d(_Forward):
    """Cross-correlation of (N, C_in, D, H, W) with kernels over D, H and W.

    >>> nn.Conv3d(2, 4, 3)(torch.ones(1, 2, 5, 5, 5)).shape
    torch.Size([1, 4, 3, 3, 3])
    """

    _n = 3

    def forward(self, input: Tensor) -> Tensor:
        if self.padding_mode != "zeros":
            return F.conv3d(
                self._pad_input(input), self.weight, self.bias, self.stride, _triple(0), self.dilation, self.groups
            )
        return F.conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    """The gradient of a convolution with respect to its input, as a layer."""

    _n: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        expand = _ntuple(self._n)
        super().__init__(
            in_channels,
            out_channels,
            expand(kernel_size),
            expand(stride),
            expand(padding),
            expand(dilation),
            True,
            expand(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """What must be added on one side to reach `output_size`."""
        if output_size is None:
            return self.output_padding
        n = self._n
        has_batch = input.dim() == n + 2
        leading = 2 if has_batch else 1
        if len(output_size) == leading + n:
            output_size = output_size[leading:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {leading + n} elements "
                f"(got {len(output_size)})"
            )
        smallest = [
            (size - 1) * s - 2 * p + d * (k - 1) + 1
            for size, s, p, d, k in zip(
                input.shape[leading:], self.stride, self.padding, self.dilation, self.kernel_size
            )
        ]
        largest = [low + s - 1 for low, s in zip(smallest, self.stride)]
        if any(not low <= size <= high for size, low, high in zip(output_size, smallest, largest)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} (for "
                f"an input of {input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(output_size, smallest))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        call = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._n - 1]
        return call(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of (N, C_in, L): L_out = (L - 1) stride - 2 padding + dilation (kernel_size - 1) +
    output_padding + 1.

    >>> nn.ConvTranspose1d(2, 4, 2, stride=2)(torch.ones(1, 2, 5)).shape
    torch.Size([1, 4, 10])
    """

    _n = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of (N, C_in, H, W): each size becomes (size - 1) stride - 2 padding +
    dilation (kernel_size - 1) + output_padding + 1.

    >>> nn.ConvTranspose2d(2, 4, 2, stride=2)(torch.ones(1, 2, 5, 5)).shape
    torch.Size([1, 4, 10, 10])
    """

    _n = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of (N, C_in, D, H, W); sizes as in ConvTranspose2d.

    >>> nn.ConvTranspose3d(2, 4, 2, stride=2)(torch.ones(1, 2, 3, 3, 3)).shape
    torch.Size([1, 4, 6, 6, 6])
    """

    _n = 3


# PyTorch has these here, and pickles of its modules say so.
_ELSEWHERE = (
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
)
__getattr__, __dir__ = _lazy_parts(__name__, names=dict.fromkeys(_ELSEWHERE, "nn.modules._lazy_layers"))
