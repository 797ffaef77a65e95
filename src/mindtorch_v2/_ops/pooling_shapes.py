"""Sizes of pooling windows and outputs, and the errors of those that do not fit. Used by output rules and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

Ints = Sequence[int]
_COUNTS = {2: "two", 3: "three"}


class Windows(NamedTuple):
    """The windows of one pooling call; every field has one entry per spatial dimension."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    out: tuple[int, ...]


def _spread(name: str, word: str, values: Ints, rank: int, omittable: bool = False) -> tuple[int, ...]:
    if len(values) == rank:
        return tuple(values)
    if len(values) == 1:
        return (values[0],) * rank
    omitted = "be omitted, a single int" if omittable else "be a single int"
    raise RuntimeError(f"{name}: {word} must either {omitted}, or a tuple of {_COUNTS[rank]} ints")


def _output_size(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    if stride == 0:
        raise RuntimeError("stride should not be zero")
    if padding < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {padding}")
    if padding > ((kernel - 1) * dilation + 1) // 2:
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={padding}, kernel_size={kernel} and "
            f"dilation={dilation}"
        )
    out = (n + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (out - 1) * stride >= n + padding:
        out -= 1  # the last window would start in the padding after the image
    return out


def pool_windows(
    name: str, rank: int, shape: Ints, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> Windows:
    """The windows of `name` over an input of this shape; RuntimeError with PyTorch's words where there are none."""
    return _windows(
        name, rank, tuple(shape), tuple(kernel_size), tuple(stride), tuple(padding), tuple(dilation), ceil_mode
    )


@lru_cache(maxsize=256)
def _windows(
    name: str, rank: int, shape: Ints, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> Windows:
    kernel = _spread(name, "kernel_size", kernel_size, rank)
    steps = _spread(name, "stride", stride, rank, omittable=True) if len(stride) else kernel
    pads = _spread(name, "padding", padding, rank)
    gaps = _spread(name, "dilation", dilation, rank)
    if len(shape) not in (rank + 1, rank + 2):
        if name == "avg_pool2d" and len(shape) < 3:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}], but got -3)"
            )
        raise RuntimeError(f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input")
    if min(gaps) <= 0:
        words = "dilationH: {} dilationW: {}" if rank == 2 else "dilationT: {} dilationH: {} dilationW: {}"
        raise RuntimeError(f"dilation should be greater than zero, but got {words.format(*gaps)}")
    space = shape[-rank:]
    out = tuple(_output_size(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(space, kernel, steps, pads, gaps))
    if name == "max_pool3d" and 0 in shape[-rank - 1 :]:
        empty = space.index(0) if 0 in space else 0
        raise RuntimeError(
            "max_pool3d_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have positive "
            f"length, but input has a shape of {list(shape)} and non-batch dimension {empty} has length zero!"
        )
    if 0 in shape[-rank - 1 :]:
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(shape)}"
        )
    if name == "avg_pool3d" and any(n + 2 * p < k for n, p, k in zip(space, pads, kernel)):
        raise RuntimeError(
            "input image (T: {} H: {} W: {}) smaller than kernel size (kT: {} kH: {} kW: {})".format(*space, *kernel)
        )
    if min(out) < 1:
        channels = shape[-rank - 1]
        raise RuntimeError(
            f"Given input size: ({_by((channels, *space))}). Calculated output size: ({_by((channels, *out))}). "
            "Output size is too small"
        )
    return Windows(kernel, steps, pads, gaps, out)


def _by(sizes: Ints) -> str:
    return "x".join(map(str, sizes))


def adaptive_output(name: str, rank: int, shape: Ints, output_size: Ints) -> tuple[int, ...]:
    """The output shape of an adaptive pooling."""
    if len(output_size) != rank:
        raise RuntimeError(
            f"{name}: output_size must be {rank}"
            if "avg" in name
            else f"{name}(): internal error: output_size.size() must be {rank}"
        )
    if min(output_size) < 0 and "max" in name:
        sizes = [*shape[:-rank], *output_size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(output_size)}: {sizes}")
    if min(output_size) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, output_size))}}}"
        )
    if len(shape) not in (rank + 1, rank + 2):
        colon = ":" if "max" in name else ""
        raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got{colon} {list(shape)}")
    for i in range(len(shape) - rank - 1, len(shape)):
        if shape[i] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(shape)} with dimension {i} being empty"
            )
    return (*shape[:-rank], *output_size)


def adaptive_bounds(size: int, out: int) -> list[tuple[int, int]]:
    """Where each adaptive window starts and ends."""
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def fractional_output(name: str, rank: int, shape: Ints, kernel_size: Ints, output_size: Ints) -> tuple[int, ...]:
    """The shape of a fractional pooling's output; RuntimeError with PyTorch's words for sizes that do not fit."""
    for word, values in (("kernel_size", kernel_size), ("output_size", output_size)):
        if len(values) not in (1, rank):
            raise RuntimeError(f"{name}: {word} must either be a single Int or tuple of Ints")
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name}(): Expected {rank + 1}D or {rank + 2}D tensor, but got: {list(shape)}")
    for i in range(len(shape) - rank - 1, len(shape)):
        if shape[i] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got{list(shape)} with "
                f"dimension {i} being empty."
            )
    out = tuple(output_size) * (1 if len(output_size) == rank else rank)
    kernel = tuple(kernel_size) * (1 if len(kernel_size) == rank else rank)
    where = name if rank == 2 else f"{name}_out"
    for word, n, k, o in zip(("time", "height", "width")[-rank:], shape[-rank:], kernel, out):
        if o + k - 1 > n:
            raise RuntimeError(f"{where}(): pool {word} {k} too large relative to input {word} {n}")
    if min(out) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(out)}: {[*shape[:-rank], *out]}")
    return (*shape[:-rank], *out)
