"""Sizes of padded, resized and unrolled images, and the errors of those that do not fit.

Used by output rules and kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

Ints = Sequence[int]
_LETTERS = {1: ("W",), 2: ("H", "W"), 3: ("D", "H", "W")}


# --- padding
def pad_pairs(padding: Ints, rank: int) -> list[tuple[int, int]]:
    """(before, after) per spatial dimension, first dimension first; the argument lists the last one first."""
    if len(padding) != 2 * rank:
        raise RuntimeError(f"padding size is expected to be {2 * rank}, but got: {len(padding)}")
    return [(padding[2 * i], padding[2 * i + 1]) for i in reversed(range(rank))]


def edge_padded_shape(name: str, rank: int, shape: Ints, padding: Ints) -> tuple[int, ...]:
    """The output of reflection_pad and replication_pad; RuntimeError in PyTorch's words where it cannot be made."""
    pairs = pad_pairs(padding, rank)
    if len(shape) not in (rank + 1, rank + 2) or 0 in shape[-rank - 1 :]:
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    lead, space = shape[:-rank], shape[-rank:]
    if name == "reflection_pad":
        for i, (n, pair) in enumerate(reversed(list(zip(space, pairs)))):
            if max(pair) >= n:
                raise RuntimeError(
                    f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, but "
                    f"got: padding {pair} at dimension {len(shape) - 1 - i} of input {list(shape)}"
                )
    out = [n + a + b for n, (a, b) in zip(space, pairs)]
    if min(out) < 1:
        letters = _LETTERS[rank]
        have = " ".join(f"{c}: {n}" for c, n in zip(letters, space))
        raise RuntimeError(
            f"input ({have}) is too small. Calculated output " + " ".join(f"{c}: {n}" for c, n in zip(letters, out))
        )
    return (*lead, *out)


# --- resizing
def resized_shape(rank: int, shape: Ints, output_size: Ints) -> tuple[int, ...]:
    """The output of an upsampling."""
    if len(output_size) != rank:
        raise RuntimeError(f"It is expected output_size equals to {rank}, but got size {len(output_size)}")
    if len(shape) != rank + 2:
        raise RuntimeError(f"It is expected input_size equals to {rank + 2}, but got size {len(shape)}")
    space = shape[2:]
    if min(space) <= 0 or min(output_size) <= 0:
        letters = _LETTERS[rank]
        have = ", ".join(f"{c}: {n}" for c, n in zip(letters, space))
        want = ", ".join(f"{c}: {n}" for c, n in zip(letters, output_size))
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({have}) output ({want})")
    if shape[1] == 0:
        raise RuntimeError(f"Non-empty {rank + 2}D data tensor expected but got a tensor with sizes {list(shape)}")
    return (*shape[:2], *output_size)


# --- sliding blocks
def _check_blocks(kernel_size: Ints, dilation: Ints, stride: Ints) -> None:
    for word, values, low in (
        ("kernel size", kernel_size, "kernel"),
        ("dilation", dilation, "dilation"),
        ("stride", stride, "stride"),
    ):
        if min(values) <= 0:
            raise RuntimeError(
                f"{word} should be greater than zero, but got {low}_height: {values[0]} {low}_width: {values[1]}"
            )


def block_counts(size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> tuple[int, int]:
    """How many sliding blocks fit in each direction."""
    rows, columns = (
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel_size, dilation, padding, stride)
    )
    return rows, columns


def unfolded_shape(shape: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> tuple[int, ...]:
    """The output of im2col: (N, C * kernel, blocks)."""
    _check_blocks(kernel_size, dilation, stride)
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(shape)}"
        )
    rows, columns = block_counts(shape[-2:], kernel_size, dilation, padding, stride)
    if rows < 1 or columns < 1:
        raise RuntimeError(
            f"Given input with spatial size ({shape[-2]}, {shape[-1]}), kernel_size={_pair(kernel_size)}, "
            f"dilation={_pair(dilation)}, padding={_pair(padding)}, calculated shape of the array of sliding blocks as "
            f"({rows}, {columns}), but its components must be at least one."
        )
    return (*shape[:-3], shape[-3] * prod(kernel_size), rows * columns)


def folded_shape(
    shape: Ints, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> tuple[int, ...]:
    """The output of col2im: (N, C, *output_size)."""
    _check_blocks(kernel_size, dilation, stride)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    batched = len(shape) - 2
    if shape[-2] % prod(kernel_size):
        raise RuntimeError(
            f"Expected size of input's dimension {batched} to be divisible by the product of kernel_size, but got "
            f"input.size({batched})={shape[-2]} and kernel_size={_pair(kernel_size)}."
        )
    rows, columns = block_counts(output_size, kernel_size, dilation, padding, stride)
    if shape[-1] != rows * columns:
        raise RuntimeError(
            f"Given output_size={_pair(output_size)}, kernel_size={_pair(kernel_size)}, dilation={_pair(dilation)}, "
            f"padding={_pair(padding)}, stride={_pair(stride)}, expected size of input's dimension {batched + 1} to "
            f"match the calculated number of sliding blocks {rows} * {columns} = {rows * columns}, but got "
            f"input.size({batched + 1})={shape[-1]}."
        )
    return (*shape[:-2], shape[-2] // prod(kernel_size), *output_size)


def _pair(values: Ints) -> str:
    return f"({values[0]}, {values[1]})"


# --- shuffling
def shuffled_shape(shape: Ints, factor: int) -> tuple[int, ...]:
    """The output of pixel_shuffle."""
    _check_image("pixel_shuffle", shape, "upscale_factor", factor)
    *lead, c, h, w = shape
    if c % (factor * factor):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={c} is not divisible by {factor * factor}"
        )
    return (*lead, c // (factor * factor), h * factor, w * factor)


def unshuffled_shape(shape: Ints, factor: int) -> tuple[int, ...]:
    """The output of pixel_unshuffle."""
    _check_image("pixel_unshuffle", shape, "downscale_factor", factor)
    *lead, c, h, w = shape
    for word, dim, n in (("height", -2, h), ("width", -1, w)):
        if n % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but input.size({dim})={n} is "
                f"not divisible by {factor}"
            )
    return (*lead, c * factor * factor, h // factor, w // factor)


def _check_image(name: str, shape: Ints, word: str, factor: int) -> None:
    if len(shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {word}, but got {factor}")
