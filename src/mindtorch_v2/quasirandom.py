"""Quasirandom numbers: points that fill a cube more evenly than random ones."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np

from . import _dtype as dt
from ._dispatch.namespace import public as torch
from ._python.random import Generator
from ._tensor import Tensor, wrap

__all__ = ["SobolEngine"]

_BITS = 30
_DIMENSIONS = 21201


class SobolEngine:
    """A Sobol sequence: draws points of the cube [0, 1)^dimension, each once.

    dimension  from 1 to 21201 (the direction numbers are those of Joe and Kuo).
    scramble   scrambles the sequence at random: a lower triangular matrix times every point's bits, plus a digital
    shift. seed       of the scrambling; None takes the numbers from the global generator.

        >>> engine = torch.quasirandom.SobolEngine(dimension=2)
        >>> engine.draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = _BITS
    MAXDIM = _DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        directions = direction_numbers(dimension)
        if scramble:
            directions, shift = self._scramble(directions)
        else:
            shift = np.zeros(dimension, np.int64)
        self.sobolstate: Tensor = wrap(directions)
        self.shift: Tensor = wrap(shift)
        self.quasi: Tensor = self.shift.clone()
        self._first_point: Tensor = (self.quasi / 2**_BITS).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scrambled direction numbers, and the shift that is added to every point bit by bit."""
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        shift = torch.randint(2, (self.dimension, _BITS), generator=generator).numpy()
        matrices = torch.randint(2, (self.dimension, _BITS, _BITS), generator=generator).numpy()
        shifts = np.arange(_BITS)
        lower = np.tril(matrices, -1) + np.eye(_BITS, dtype=np.int64)
        highest_first = (directions[:, :, None] >> shifts[::-1]) & 1  # dimension, number, bit
        scrambled = (
            np.matmul(highest_first.astype(np.float32), lower.transpose(0, 2, 1).astype(np.float32)).astype(np.int64)
            & 1
        )
        return (scrambled << shifts[::-1]).sum(-1), (shift << shifts).sum(-1)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: dt.dtype | None = None) -> Tensor:
        """The next `n` points, (n, dimension). The first point of an unscrambled sequence is 0."""
        wanted = dt.get_default_dtype() if dtype is None else dtype
        if wanted not in (dt.float32, dt.float64):
            raise NotImplementedError(f"SobolEngine draws float32 and float64, got dtype={wanted}")
        if n < 1:
            raise RuntimeError(f"expected n to be at least 1, got {n}")
        following = n - 1 if self.num_generated == 0 else n
        points = self._next_points(following)
        if self.num_generated == 0:
            points = np.concatenate([self.quasi.numpy()[None], points])
        self.quasi = wrap(points[-1].copy())
        self.num_generated += n
        made = wrap((points * 2.0**-_BITS).astype(wanted.np))
        if out is None:
            return made
        return out.resize_as_(made).copy_(made)

    def _next_points(self, n: int) -> np.ndarray:
        """The n points after the current one as integers: each differs by one direction number, in the order of the
        Gray code."""
        start = max(self.num_generated - 1, 0)
        indices = np.arange(start, start + n, dtype=np.int64)
        lowest_zero = np.log2(~indices & (indices + 1)).astype(np.int64) if n else indices
        if n and int(lowest_zero.max()) >= _BITS:
            raise RuntimeError(
                f"a Sobol sequence of {_BITS} bits has 2**{_BITS} points; asked for the points up to {start + n}"
            )
        steps = self.sobolstate.numpy()[:, lowest_zero].T
        return np.bitwise_xor.accumulate(np.concatenate([self.quasi.numpy()[None], steps]), axis=0)[1:]

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: dt.dtype | None = None) -> Tensor:
        """The next 2**m points. All points drawn so far must then be a power of two, for which the sequence is
        balanced."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do "
                "this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point, with the same scrambling."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out `n` points, without computing them."""
        reached = max(self.num_generated - 1, 0)
        target = self.num_generated + n - 1  # the index of the point that counts as drawn last
        gray = np.int64((target ^ (target >> 1)) ^ (reached ^ (reached >> 1)))
        chosen = ((gray >> np.arange(_BITS)) & 1).astype(bool)
        steps = self.sobolstate.numpy()[:, chosen]
        self.quasi = wrap(self.quasi.numpy() ^ np.bitwise_xor.reduce(steps, axis=1))
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts: list[Any] = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"


def direction_numbers(dimension: int) -> np.ndarray:
    """The direction numbers of the first dimensions, (dimension, 30), as integers of 30 bits.

    The first dimension has the powers of two. Every other one has a primitive polynomial of degree s over the field of
    two elements and s initial numbers; the others follow: v_i = v_(i-s) ^ (v_(i-s) >> s) ^ (those v_(i-k) for which
    the polynomial has x^(s-k)).
    """
    numbers = np.zeros((dimension, _BITS), np.int64)
    numbers[0] = 1 << np.arange(_BITS - 1, -1, -1)
    if dimension == 1:
        return numbers
    with (files("mindtorch_v2") / "_tables" / "sobol.npz").open("rb") as file, np.load(file) as table:
        degrees, inner = (table[key][: dimension - 1].astype(np.int64) for key in ("degrees", "inner"))
        packed = table["bits"]
    ends = np.cumsum(degrees * (degrees - 1) // 2)
    bits = np.unpackbits(packed[: (int(ends[-1]) + 7) // 8]).astype(np.int64)
    starts = np.concatenate([[0], ends[:-1]])
    below = numbers[1:]
    for s in range(1, int(degrees[-1]) + 1):  # dimensions of one degree together; degrees rise
        rows = np.flatnonzero(degrees == s)
        if not len(rows):
            continue
        block = np.zeros((len(rows), _BITS), np.int64)
        for i in range(s):
            position = starts[rows] + i * (i - 1) // 2
            value = np.ones(len(rows), np.int64)
            for k in range(i):
                value += bits[position + k] << (i - k)
            block[:, i] = value << (_BITS - 1 - i)
        for i in range(s, _BITS):
            value = block[:, i - s] ^ (block[:, i - s] >> s)
            for k in range(1, s):
                value ^= block[:, i - k] * ((inner[rows] >> (s - 1 - k)) & 1)
            block[:, i] = value
        below[rows] = block
    return numbers
