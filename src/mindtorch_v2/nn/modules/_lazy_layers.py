"""The layers whose number of input features or channels is taken from the first input: `LazyLinear`, `LazyConv2d`,
..."""

from __future__ import annotations

from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._tensor import Tensor
from .._uninitialized import UninitializedBuffer, UninitializedParameter
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm, _NormBase
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, _InstanceNorm
from .lazy import LazyModuleMixin
from .linear import Linear

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose `in_features` is the last size of the first input.

    >>> layer = nn.LazyLinear(2)
    >>> layer(torch.ones(5, 3)).shape, layer
    (torch.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear
    weight: Any
    bias: Any

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new values, if there are parameters yet."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        """Takes `in_features` from the input."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the parameters came from a state dict
            self.in_features = self.weight.shape[-1]


class _LazyConv(LazyModuleMixin):
    """What lazy convolutions share; the first base after it is the convolution."""

    weight: Any
    bias: Any
    in_channels: int
    out_channels: int
    groups: int
    transposed: bool
    kernel_size: tuple[int, ...]

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        *args: Any,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(0, 0, kernel_size, *args, bias=False, **kwargs)
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new values, if there are parameters yet."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Takes `in_channels` from the input."""
        if self.has_uninitialized_params():
            self.in_channels = self._channels_of(input)
            if self.in_channels % self.groups != 0:
                raise ValueError("in_channels must be divisible by groups")
            first, second = (
                (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
            )
            self.weight.materialize((first, second // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()
        elif self.in_channels == 0:  # the parameters came from a state dict
            self.in_channels = self.weight.shape[0] if self.transposed else self.weight.shape[1] * self.groups

    def _channels_of(self, input: Tensor) -> int:
        spatial = len(self.kernel_size)
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(
                f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {type(self).__name__}, but "
                f"got input of size: {input.shape}"
            )
        return input.shape[1] if input.dim() == spatial + 2 else input.shape[0]


class _LazyForward(_LazyConv):
    def __init__(
        self,
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
        super().__init__(
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias=bias,
            padding_mode=padding_mode,
            device=device,
            dtype=dtype,
        )


class _LazyTransposed(_LazyConv):
    def __init__(
        self,
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
        super().__init__(
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias=bias,
            dilation=dilation,
            padding_mode=padding_mode,
            device=device,
            dtype=dtype,
        )


class LazyConv1d(_LazyForward, Conv1d):  # type: ignore[misc]
    """A Conv1d whose `in_channels` is taken from the first input.

    >>> layer = nn.LazyConv1d(4, kernel_size=3)
    >>> layer(torch.ones(1, 2, 8)).shape, layer.in_channels
    (torch.Size([1, 4, 6]), 2)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):  # type: ignore[misc]
    """A Conv2d whose `in_channels` is taken from the first input.

    >>> layer = nn.LazyConv2d(4, kernel_size=3)
    >>> layer(torch.ones(1, 2, 8, 8)).shape, layer.in_channels
    (torch.Size([1, 4, 6, 6]), 2)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):  # type: ignore[misc]
    """A Conv3d whose `in_channels` is taken from the first input.

    >>> layer = nn.LazyConv3d(4, kernel_size=3)
    >>> layer(torch.ones(1, 2, 8, 8, 8)).shape, layer.in_channels
    (torch.Size([1, 4, 6, 6, 6]), 2)
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):  # type: ignore[misc]
    """A ConvTranspose1d whose `in_channels` is taken from the first input.

    >>> layer = nn.LazyConvTranspose1d(4, kernel_size=3)
    >>> layer(torch.ones(1, 2, 8)).shape, layer.in_channels
    (torch.Size([1, 4, 10]), 2)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):  # type: ignore[misc]
    """A ConvTranspose2d whose `in_channels` is taken from the first input.

    >>> layer = nn.LazyConvTranspose2d(4, kernel_size=3)
    >>> layer(torch.ones(1, 2, 8, 8)).shape, layer.in_channels
    (torch.Size([1, 4, 10, 10]), 2)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):  # type: ignore[misc]
    """A ConvTranspose3d whose `in_channels` is taken from the first input.

    >>> layer = nn.LazyConvTranspose3d(4, kernel_size=3)
    >>> layer(torch.ones(1, 2, 8, 8, 8)).shape, layer.in_channels
    (torch.Size([1, 4, 10, 10, 10]), 2)
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin, _NormBase):
    """What lazy normalisations share: `num_features` is the second size of the first input."""

    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            from ... import _dtype as dt
            from ..._python.creation import tensor

            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=dt.int64, device=device)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0 and no statistics, if there are parameters yet."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        """Takes `num_features` from the input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for t in (self.weight, self.bias, self.running_mean, self.running_var):
                if t is not None:
                    t.materialize((self.num_features,))
            self.reset_parameters()
        elif self.num_features == 0:  # the parameters came from a state dict
            known = [t for t in (self.weight, self.running_mean) if t is not None]
            self.num_features = known[0].shape[0] if known else input.shape[1]


class LazyBatchNorm1d(_LazyNorm, _BatchNorm):
    """A BatchNorm1d whose `num_features` is taken from the first input.

    >>> layer = nn.LazyBatchNorm1d()
    >>> layer(torch.ones(5, 3)).shape, layer.num_features
    (torch.Size([5, 3]), 3)
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, _BatchNorm):
    """A BatchNorm2d whose `num_features` is taken from the first input.

    >>> layer = nn.LazyBatchNorm2d()
    >>> layer(torch.ones(5, 3, 4, 4)).shape, layer.num_features
    (torch.Size([5, 3, 4, 4]), 3)
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, _BatchNorm):
    """A BatchNorm3d whose `num_features` is taken from the first input.

    >>> layer = nn.LazyBatchNorm3d()
    >>> layer(torch.ones(5, 3, 4, 4, 4)).shape, layer.num_features
    (torch.Size([5, 3, 4, 4, 4]), 3)
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, _InstanceNorm):
    """An InstanceNorm1d whose `num_features` is taken from the first input.

    >>> layer = nn.LazyInstanceNorm1d()
    >>> layer(torch.ones(5, 3, 4)).shape, layer.num_features
    (torch.Size([5, 3, 4]), 3)
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, _InstanceNorm):
    """An InstanceNorm2d whose `num_features` is taken from the first input.

    >>> layer = nn.LazyInstanceNorm2d()
    >>> layer(torch.ones(5, 3, 4, 4)).shape, layer.num_features
    (torch.Size([5, 3, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, _InstanceNorm):
    """An InstanceNorm3d whose `num_features` is taken from the first input.

    >>> layer = nn.LazyInstanceNorm3d()
    >>> layer(torch.ones(5, 3, 4, 4, 4)).shape, layer.num_features
    (torch.Size([5, 3, 4, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm3d
