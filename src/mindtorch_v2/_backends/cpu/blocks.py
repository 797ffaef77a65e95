"""Fused elementwise work in blocks that stay in the cache, and the type changes that go with it.

A formula of ten numpy calls over a large array would move it through memory ten times, and pay for fresh pages on
every temporary. Done block by block, only the first read and the last write leave the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BLOCK = 32768  # elements: 128 KB of float32, so that three or four arrays share a common L2 cache
FEW = 4096  # elements up to which the calls cost more than the work, and plain expressions are best


def constant(value: float) -> dict[str, np.ndarray]:
    """A number as arrays without dimensions, by type character: numpy takes them in half the time of Python numbers."""
    return {c: np.array(value, c) for c in "efdFD"}


ONE = constant(1)


def in_blocks(
    body: Callable[..., None], out: np.ndarray, inputs: tuple[np.ndarray, ...], scratch: int = 0
) -> np.ndarray:
    """Runs `body(out, *inputs, *scratch)`, which writes into `out`, and returns `out`.

    Large arrays of one shape that lie in one piece are cut into blocks. `out` may be one of the inputs if `body`
    reads an element of it before it writes that element. Scratch arrays have the type of `out`.
    """
    n = out.size
    if n > BLOCK and out.flags.c_contiguous and all(a.flags.c_contiguous and a.shape == out.shape for a in inputs):
        flat = out.reshape(-1)
        parts = [a.reshape(-1) for a in inputs]
        spare = [np.empty(BLOCK, out.dtype) for _ in range(scratch)]
        for start in range(0, n, BLOCK):
            here = slice(start, start + BLOCK)
            target = flat[here]
            size = target.size
            body(target, *[p[here] for p in parts], *[s[:size] for s in spare])
        return out
    body(out, *inputs, *[np.empty_like(out) for _ in range(scratch)])
    return out


def fused(body: Callable[..., None], *inputs: np.ndarray, scratch: int = 0) -> np.ndarray:
    """The result of `body` for inputs of one shape and type, in an array laid out like the first.

    float16 is computed in float32, as PyTorch does.
    """
    first = inputs[0]
    if first.dtype.char == "e":
        wide = tuple([a.astype(np.float32) for a in inputs])
        return in_blocks(body, np.empty_like(wide[0]), wide, scratch).astype(np.float16)
    return in_blocks(body, np.empty_like(first), inputs, scratch)


def horner(z: np.ndarray, coefficients: tuple[Any, ...], out: np.ndarray) -> None:
    """Writes the polynomial of `z` with these coefficients (constant first, two or more) into `out`."""
    np.multiply(z, coefficients[-1], out=out)
    for c in coefficients[-2:0:-1]:
        out += c
        out *= z
    out += coefficients[0]
