"""Padding, resizing, shuffling and sampling in terms of other ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, prod
from typing import Any

from ... import _observer
from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._keys import CPU, DEVICES
from ..._ops.movement_shapes import format_strides, is_channels_last
from ..._ops.resampling import UPSAMPLINGS

Ints = Sequence[int]
_EDGE_MODES = {"reflect": "reflection_pad", "replicate": "replication_pad"}


# --- padding
@composite("pad")
def pad(self: Any, pad: Ints, mode: str, value: float | None) -> Any:
    dims, count = self.dim(), len(pad)
    if count % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if count > 2 * dims:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{count} and input of dimension {dims}"
        )
    if mode == "constant":
        return aten.constant_pad_nd(self, pad, float(value or 0))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    rank = count // 2
    if rank not in (1, 2, 3) or dims not in (rank + 1, rank + 2):
        raise NotImplementedError(f"Padding size {count} is not supported for {dims}D input tensor.")
    if mode == "circular":
        return aten._pad_circular(self, pad)
    if mode not in _EDGE_MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return getattr(aten, f"{_EDGE_MODES[mode]}{rank}d")(self, pad)


def _middle(shape: Sequence[int], pairs: Sequence[tuple[int, int, int]]) -> tuple[slice, ...]:
    """The index of what is left of a padded array without its padding."""
    index = [slice(None)] * len(shape)
    for dim, before, after in pairs:
        index[dim] = slice(max(before, 0), shape[dim] - max(after, 0))
    return tuple(index)


@composite("constant_pad_nd")
def constant_pad_nd(self: Any, pad: Ints, value: Any) -> Any:
    """Cuts where padding is negative, then copies into the middle of a filled tensor."""
    dims = self.dim()
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * dims:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {dims}dimensions."
        )
    pairs = [(dims - 1 - i, pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    kept = self
    for dim, before, after in reversed(pairs):
        if before < 0:
            kept = aten.narrow(kept, dim, -before, kept.shape[dim] + before)
        if after < 0:
            kept = aten.narrow(kept, dim, 0, kept.shape[dim] + after)
    if all(n <= 0 for n in pad):
        return aten.clone(kept)
    shape = list(kept._array.shape)
    for dim, before, after in pairs:
        shape[dim] += max(before, 0) + max(after, 0)
    last = is_channels_last(self._array.shape, self._array.strides)
    out = (
        aten.empty_strided(shape, format_strides(tuple(shape)), dtype=self.dtype, device=self.device)
        if last
        else aten.empty(shape, dtype=self.dtype, device=self.device)
    )
    aten.fill_(out, value)
    if _observer.active is None and self._keys & DEVICES == CPU:
        out._array[_middle(shape, pairs)] = kept._array
        return out
    middle = out
    for dim, before, after in reversed(pairs):
        if before > 0:
            middle = aten.narrow(middle, dim, before, middle.shape[dim] - before)
        if after > 0:
            middle = aten.narrow(middle, dim, 0, middle.shape[dim] - after)
    aten.copy_(middle, kept)
    return out


@composite("_pad_circular")
def _pad_circular(self: Any, pad: Ints) -> Any:
    """Copies the image into the middle, then in each dimension the far side before it and the near side after it."""
    rank = len(pad) // 2
    first = self.dim() - rank
    pairs = [(pad[2 * (rank - 1 - i)], pad[2 * (rank - 1 - i) + 1]) for i in range(rank)]
    shape = list(self.shape)
    for i, (before, after) in enumerate(pairs):
        size = shape[first + i]
        if before > size or after > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if before + after + size < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        shape[first + i] = size + before + after
    out = aten.new_empty(self, shape)
    target, source = out, self
    for i, (before, after) in enumerate(pairs):
        dim = first + i
        target = aten.slice(target, dim, max(before, 0), shape[dim] - max(after, 0))
        source = aten.slice(source, dim, max(-before, 0), self.shape[dim] - max(-after, 0))
    aten.copy_(target, source)
    for i in reversed(range(rank)):
        dim, (before, after) = first + i, pairs[i]
        if before > 0:
            end = shape[dim] - max(after, 0)
            aten.copy_(aten.slice(out, dim, 0, before), aten.slice(out, dim, end - before, end))
        if after > 0:
            start = max(before, 0)
            aten.copy_(aten.slice(out, dim, shape[dim] - after, shape[dim]), aten.slice(out, dim, start, start + after))
    return out


# --- resizing
def _by_scale(name: str, rank: int) -> Callable[..., Any]:
    """The form of an upsampling that takes a size or factors."""

    def upsample(input: Any, output_size: Ints | None, *rest: Any) -> Any:
        *corners, factors = rest
        if (output_size is None) == (factors is None):
            raise RuntimeError("Must specify exactly one of output_size and scale_factors")
        if output_size is None:
            if len(factors) != rank:
                raise RuntimeError(f"It is expected output_size equals to {rank}, but got size {len(factors)}")
            output_size = [floor(float(n) * f) for n, f in zip(input.shape[2:], factors)]
        scales = (None,) * rank if factors is None else tuple(factors)
        return aten.overload(name)(input, output_size, *corners, *scales)

    return upsample


for _name, _rank in UPSAMPLINGS.items():
    composite(f"{_name}.vec")(_by_scale(_name, _rank))


# --- shuffling
@composite("channel_shuffle")
def channel_shuffle(self: Any, groups: int) -> Any:
    shape = list(self.shape)
    if len(shape) <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {shape}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    return aten.native_channel_shuffle(self, groups)


# --- sampling
@composite("grid_sampler")
def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    x, grid_shape = list(input.shape), list(grid.shape)
    if x[0] != grid_shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {x} and grid "
            f"with sizes {grid_shape}"
        )
    if grid_shape[-1] != len(x) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(x) - 2} in last dimension, but got grid with sizes "
            f"{grid_shape}"
        )
    for i in range(2, len(x)):
        if x[i] <= 0:
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {x} with "
                f"dimension {i} being empty"
            )
    if len(x) not in (4, 5) or len(x) != len(grid_shape):
        raise RuntimeError(
            f"grid_sampler(): expected {'5D' if len(x) == 5 else '4D'} input and grid with same number of dimensions, "
            f"but got input with sizes {x} and grid with sizes {grid_shape}"
        )
    if len(x) == 5 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    sample = aten.grid_sampler_2d if len(x) == 4 else aten.grid_sampler_3d
    return sample(input, grid, interpolation_mode, padding_mode, align_corners)


def _axis_numbers(theta: Any, steps: int, align_corners: bool) -> Any:
    """Numbers from -1 to 1: corners of the pixels at the ends, or their middles."""
    if steps <= 1:
        return aten.zeros((steps,), dtype=theta.dtype, device=theta.device)
    numbers = aten.linspace(-1, 1, steps, dtype=theta.dtype, device=theta.device)
    return numbers if align_corners else aten.div(aten.mul(numbers, steps - 1), steps)


def _base_grid(theta: Any, size: Ints, align_corners: bool) -> Any:
    """(N, *space, rank + 1): the coordinates of every pixel, the last dimension of space first, and 1."""
    space = size[2:]
    rank = len(space)
    grid = aten.empty((size[0], *space, rank + 1), dtype=theta.dtype, device=theta.device)
    for i, steps in enumerate(reversed(space)):
        column = aten.select(grid, -1, i)
        numbers = _axis_numbers(theta, steps, align_corners)
        for _ in range(i):
            numbers = aten.unsqueeze_(numbers, -1)
        aten.copy_(column, numbers)
    aten.fill_(aten.select(grid, -1, rank), 1)
    return grid


@composite("affine_grid_generator")
def affine_grid_generator(theta: Any, size: Ints, align_corners: bool) -> Any:
    rank = len(size) - 2
    if rank not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    grid = aten.view(_base_grid(theta, size, align_corners), (size[0], prod(size[2:]), rank + 1))
    return aten.view(aten.bmm(grid, aten.transpose(theta, 1, 2)), (size[0], *size[2:], rank))


@composite("affine_grid_generator_backward")
def affine_grid_generator_backward(grad: Any, size: Ints, align_corners: bool) -> Any:
    rank = len(size) - 2
    grid = aten.view(_base_grid(grad, size, align_corners), (size[0], prod(size[2:]), rank + 1))
    made = aten.bmm(aten.transpose(grid, 1, 2), aten.reshape(grad, (size[0], prod(size[2:]), rank)))
    return aten.transpose(made, 1, 2)
