"""Poolings in terms of others: one dimension as two of which one is 1, indices dropped, global means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._ops.pooling_shapes import adaptive_output

Ints = Sequence[int]


def _one_int(name: str, word: str, values: Ints) -> int:
    if len(values) != 1:
        raise RuntimeError(
            f"{name}() {word} must be an int, list of ints or tuple of ints of size 1 but got size {len(values)}"
        )
    return values[0]


def _check_rank(name: str, self: Any) -> None:
    if self.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {self.dim()}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )


def _one_size(name: str, output_size: Ints) -> tuple[int, int]:
    if len(output_size) != 1:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")
    return (1, output_size[0])


# --- maximum
def _check_max_pool1d(
    self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> None:
    name = "max_pool1d"
    shape = list(self.shape)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
        )
    k, p, d = (
        _one_int(name, w, v) for w, v in (("kernel_size", kernel_size), ("padding", padding), ("dilation", dilation))
    )
    s = _one_int(name, "stride", stride) if len(stride) else k
    for word, value in (("kernel_size", k), ("stride", s)):
        if value <= 0:
            raise RuntimeError(f"{name}() {word} must be greater than zero, but got {value}")
    if p < 0:
        raise RuntimeError(f"{name}() padding must be non-negative, but got {p}")
    if p > k // 2:
        raise RuntimeError(
            f"{name}() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
        )
    if d <= 0:
        raise RuntimeError(f"{name}() dilation must be greater than zero, but got {d}")
    out = (shape[-1] + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
    if out <= 0:
        raise RuntimeError(f"{name}() Invalid computed output size: {out}")


@composite("max_pool1d")
def max_pool1d(self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Any:
    _check_max_pool1d(self, kernel_size, stride, padding, dilation, ceil_mode)
    return aten.max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


@composite("max_pool1d_with_indices")
def max_pool1d_with_indices(
    self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> Any:
    _check_rank("max_pool1d", self)
    steps = stride if len(stride) else kernel_size
    values, indices = aten.max_pool2d_with_indices(
        aten.unsqueeze(self, -2), (1, *kernel_size), (1, *steps), (0, *padding), (1, *dilation), ceil_mode
    )
    return aten.squeeze(values, -2), aten.squeeze(indices, -2)


def _without_indices(name: str) -> Callable[..., Any]:
    def pool(self: Any, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Any:
        return getattr(aten, name)(self, kernel_size, stride, padding, dilation, ceil_mode)[0]

    return pool


composite("max_pool2d")(_without_indices("max_pool2d_with_indices"))
composite("max_pool3d")(_without_indices("max_pool3d_with_indices"))


# --- mean
@composite("avg_pool1d")
def avg_pool1d(
    self: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool
) -> Any:
    _check_rank("avg_pool1d", self)
    steps = stride if len(stride) else kernel_size
    made = aten.avg_pool2d(
        aten.unsqueeze(self, -2), (1, *kernel_size), (1, *steps), (0, *padding), ceil_mode, count_include_pad
    )
    return aten.squeeze(made, -2)


# --- adapted windows
@composite("adaptive_avg_pool1d")
def adaptive_avg_pool1d(self: Any, output_size: Ints) -> Any:
    _check_rank("adaptive_avg_pool1d", self)
    size = _one_size("adaptive_avg_pool1d", output_size)
    return aten.squeeze(aten.adaptive_avg_pool2d(aten.unsqueeze(self, -2), size), -2)


@composite("adaptive_max_pool1d")
def adaptive_max_pool1d(self: Any, output_size: Ints) -> Any:
    _check_rank("adaptive_max_pool1d", self)
    size = _one_size("adaptive_max_pool1d", output_size)
    values, indices = aten.adaptive_max_pool2d(aten.unsqueeze(self, -2), size)
    return aten.squeeze(values, -2), aten.squeeze(indices, -2)


def _declare_adaptive_avg(rank: int) -> None:
    name = f"adaptive_avg_pool{rank}d"
    dims = list(range(-rank, 0))

    def pool(self: Any, output_size: Ints) -> Any:
        adaptive_output(name, rank, self.shape, output_size)
        if all(n == 1 for n in output_size):
            return aten.mean(self, dims, keepdim=True)
        return getattr(aten, f"_{name}")(self, output_size)

    composite(name)(pool)


for _rank in (2, 3):
    _declare_adaptive_avg(_rank)
