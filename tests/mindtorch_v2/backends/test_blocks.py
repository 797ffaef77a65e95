"""Blockwise kernels and choices by bits give what plain numpy gives, at sizes around the edges of a block."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2._backends.cpu import activation_smooth, select, softmax
from mindtorch_v2._backends.cpu.blocks import BLOCK, fused, in_blocks

SIZES = (0, 1, 511, 513, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5)
RNG = np.random.default_rng(3)


def _twice_plus(out: np.ndarray, a: np.ndarray, b: np.ndarray, t: np.ndarray) -> None:
    np.multiply(a, 2, out=t)
    np.add(t, b, out=out)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_fused_covers_every_element(n, dtype):
    a, b = RNG.uniform(-1, 1, (2, n)).astype(dtype)
    np.testing.assert_allclose(fused(_twice_plus, a, b, scratch=1), (a.astype("d") * 2 + b).astype(dtype), rtol=2e-3)


def test_in_blocks_may_write_into_an_input():
    a = RNG.uniform(-1, 1, 3 * BLOCK)
    want = a * 2 + 1
    in_blocks(_twice_plus, a, (a, np.ones_like(a)), 1)
    np.testing.assert_array_equal(a, want)


def test_in_blocks_takes_arrays_that_are_not_in_one_piece():
    a = RNG.uniform(-1, 1, (300, 400))[:, ::2]
    np.testing.assert_allclose(fused(_twice_plus, a, a, scratch=1), a * 3)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64", "complex64", "complex128"])
def test_choices_by_bits(n, dtype):
    mask = RNG.random(n) < 0.5
    a, b = (RNG.uniform(-9, 9, (2, n)) * 1.5).astype(dtype)
    np.testing.assert_array_equal(select.select(mask, a, b), np.where(mask, a, b))
    np.testing.assert_array_equal(select.keep(mask, a), np.where(mask, a, np.zeros_like(a)))
    np.testing.assert_array_equal(select.keep(mask, a, inverted=True), np.where(mask, np.zeros_like(a), a))
    written = a.copy()
    select.put(written, mask, a.dtype.type(1))
    np.testing.assert_array_equal(written, np.where(mask, np.ones_like(a), a))


def test_choices_keep_special_values():
    a = np.tile(np.array([np.nan, np.inf, -np.inf, -0.0], np.float32), 300)
    mask = np.arange(a.size) % 3 == 0
    got = select.select(mask, a, -a)
    np.testing.assert_array_equal(got.view(np.int32), np.where(mask, a, -a).view(np.int32))


@pytest.mark.parametrize("n", SIZES[1:])
def test_large_activations_agree_with_double_precision(n):
    x = RNG.uniform(-8, 8, n)
    for name in ("gelu", "gelu_tanh", "silu", "mish"):
        kernel = {
            "gelu": lambda v: activation_smooth.gelu(v, "none"),
            "gelu_tanh": lambda v: activation_smooth.gelu(v, "tanh"),
            "silu": activation_smooth.silu,
            "mish": activation_smooth.mish,
        }[name]
        # as where the dispatcher calls them: exp may overflow on the way to a finite result
        with np.errstate(all="ignore"):
            single, double = kernel(x.astype(np.float32)), kernel(x.astype(np.float32).astype(np.float64))
        np.testing.assert_allclose(single, double, atol=2e-6)


@pytest.mark.parametrize("shape, dim", [((70, 1000), 1), ((70, 1000), 0), ((3, 50000), -1), ((2, 3, 4), 1)])
def test_softmax_of_any_size(shape, dim):
    x = RNG.uniform(-5, 5, shape)
    e = np.exp(x - x.max(axis=dim, keepdims=True))
    want = e / e.sum(axis=dim, keepdims=True)
    np.testing.assert_allclose(softmax.softmax(x.astype(np.float32), dim, False), want, rtol=2e-5)
    np.testing.assert_allclose(
        softmax.log_softmax(x.astype(np.float32), dim, False), np.log(want), rtol=1e-5, atol=2e-6
    )
