"""Layers over windows that are drawn at random (`FractionalMaxPool`), and the way back from maxima (`MaxUnpool`)."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple


class _MaxUnpoolNd(Module):
    _n: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        expand = _ntuple(self._n)
        self.kernel_size = expand(kernel_size)
        self.stride = expand(kernel_size if stride is None else stride)
        self.padding = expand(padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts maxima back where MaxPool1d found them.

    >>> values, indices = nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1., 3., 5., 7.]]))
    >>> nn.MaxUnpool1d(2)(values, indices)
    tensor([[0., 3., 0., 7.]])
    """

    _n = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts maxima back where MaxPool2d found them.

    >>> values, indices = nn.MaxPool2d(2, return_indices=True)(torch.arange(4.).reshape(1, 2, 2))
    >>> nn.MaxUnpool2d(2)(values, indices)
    tensor([[[0., 0.],
             [0., 3.]]])
    """

    _n = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts maxima back where MaxPool3d found them.

    >>> values, indices = nn.MaxPool3d(2, return_indices=True)(torch.ones(1, 2, 2, 2))
    >>> nn.MaxUnpool3d(2)(values, indices).sum()
    tensor(1.)
    """

    _n = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _FractionalMaxPoolNd(Module):
    """Maxima of windows at random distances. Give `output_size`, or `output_ratio`, its size relative to the input, in
    (0, 1)."""

    _rank: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.kernel_size = self._spread(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else self._spread(output_size)
        self.output_ratio = None if output_ratio is None else self._spread(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _spread(self, value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, (list, tuple)) else (value,) * self._rank


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maxima of windows of (N, C, H, W) at random distances, so that the output has `output_size`.

    >>> nn.FractionalMaxPool2d(2, output_size=3)(torch.ones(1, 1, 6, 6)).shape
    torch.Size([1, 1, 3, 3])
    """

    _rank = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maxima of windows of (N, C, D, H, W) at random distances, so that the output has `output_size`.

    >>> nn.FractionalMaxPool3d(2, output_size=3)(torch.ones(1, 1, 6, 6, 6)).shape
    torch.Size([1, 1, 3, 3, 3])
    """

    _rank = 3

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )
