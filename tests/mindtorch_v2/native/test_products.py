"""Native kernels that multiply matrices through numpy's BLAS: attention, convolutions and LSTM steps, against plain
sums in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from mindtorch_v2 import _native
from mindtorch_v2._backends.cpu import attention, conv_arrays, rnn

from ...tolerances import rounding_of_sum

pytestmark = pytest.mark.skipif(not _native.load_blas(), reason="needs the native kernels and an OpenBLAS in numpy")
RNG = np.random.default_rng(0)


@pytest.fixture(params=[1, 3], autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = _native.get_num_threads()
    _native.set_num_threads(request.param)
    yield
    _native.set_num_threads(before)


def _refuse(*arguments: Any) -> None:
    raise AssertionError("the native kernel declined what it is made for")


# --- attention
def _attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, causal: bool, scale: float
) -> tuple[np.ndarray, ...]:
    """Probabilities, result and logarithms of the rows' sums, by the definition."""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    k, v = (np.repeat(a, q.shape[1] // k.shape[1], axis=1) for a in (k, v))
    scores = q @ k.swapaxes(-1, -2) * scale
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    p = e / np.where(total == 0, 1, total)
    return p, p @ v, (np.log(np.where(total == 0, 1, total)) + np.where(np.isneginf(top), 0, top))[..., 0]


CASES = {
    "one row": (1, 1, 1, 1, 3, 2),
    "tiles": (2, 3, 3, 130, 70, 8),
    "many keys": (1, 2, 2, 65, 1100, 4),
    "shared heads": (2, 6, 2, 33, 40, 16),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sizes", CASES.values(), ids=CASES)
def test_attention(sizes: tuple[int, ...], masked: bool, causal: bool, dtype: str) -> None:
    b, heads, sources, rows, keys, width = sizes
    # as views of (B, L, H, E)
    q, grad = (RNG.normal(size=(b, rows, heads, width)).astype(dtype).swapaxes(1, 2) for _ in range(2))
    k, v = (RNG.normal(size=(b, sources, keys, width)).astype(dtype) for _ in range(2))
    mask = None
    if masked:
        mask = np.broadcast_to(
            np.where(RNG.random((rows, keys)) < 0.3, -np.inf, RNG.normal(size=(rows, keys))).astype(dtype),
            (b, heads, rows, keys),
        )
        mask = mask.copy() if rows % 2 else mask
    out, lse = np.full_like(q, np.nan), np.full((b, rows, heads), np.nan, dtype).transpose(0, 2, 1)
    with np.errstate(all="ignore"):
        p, want, want_lse = _attention(q, k, v, mask, causal, 0.3)
    _native._kernels.Kernel("attention_forward", _refuse)(q, k, v, mask, causal, 0.3, out, lse)
    bound = rounding_of_sum(keys + width + 16, 16 * float(np.abs(v).max()), dtype)
    np.testing.assert_allclose(out, want, rtol=0, atol=float(bound))
    np.testing.assert_allclose(lse, want_lse, rtol=0, atol=float(rounding_of_sum(keys + width, 32, dtype)))

    dq, dk, dv = np.full(q.shape, np.nan, dtype), np.zeros_like(k), np.zeros_like(v)
    _native._kernels.Kernel("attention_backward", _refuse)(q, k, v, mask, causal, 0.3, out, lse, grad, dq, dk, dv)
    full_k, full_v = (np.repeat(a.astype(np.float64), heads // sources, axis=1) for a in (k, v))
    dp = grad @ full_v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * 0.3
    group = (b, sources, heads // sources, keys, width)
    wide = float(rounding_of_sum(rows * heads + keys + width, 64 * float(np.abs(dp).max()), dtype))
    np.testing.assert_allclose(dq, ds @ full_k, rtol=0, atol=wide)
    np.testing.assert_allclose(dk, (ds.swapaxes(-1, -2) @ q).reshape(group).sum(2), rtol=0, atol=wide)
    np.testing.assert_allclose(dv, (p.swapaxes(-1, -2) @ grad).reshape(group).sum(2), rtol=0, atol=wide)


def test_a_query_that_sees_no_key_gives_zeros() -> None:
    q = np.ones((1, 1, 2, 4), "f")
    mask = np.array([[0, 0], [-np.inf, -np.inf]], "f").reshape(1, 1, 2, 2)
    out, lse = np.empty_like(q), np.empty((1, 1, 2), "f")
    attention._forward(q, q, q, mask, False, 1.0, out, lse)
    assert out[0, 0, 1].tolist() == [0] * 4 and lse[0, 0, 1] == 0
    np.testing.assert_allclose(out[0, 0, 0], 1, rtol=1e-6)


# --- convolutions
def _sizes() -> Iterator[tuple[Any, ...]]:
    """(batch, channels, height, width, out channels, kernel, stride, padding, dilation, groups)"""
    yield (3, 4, 9, 20, 6, (3, 3), (1, 1), (1, 1), (1, 1), 1)
    yield (2, 4, 9, 11, 6, (2, 3), (2, 3), (0, 2), (2, 1), 2)
    yield (5, 8, 3, 3, 4, (3, 3), (1, 1), (1, 1), (1, 1), 1)  # few positions: the batch at once
    yield (1, 3, 30, 40, 5, (1, 1), (1, 1), (0, 0), (1, 1), 1)  # no columns
    yield (2, 3, 8, 9, 5, (1, 1), (2, 2), (0, 0), (1, 1), 1)
    yield (1, 300, 17, 16, 2, (3, 3), (1, 1), (1, 1), (1, 1), 1)  # several blocks of channels
    for stride, dilation in product((1, 2, 3), (1, 2)):  # one channel per group
        yield (2, 3, 12, 19, 6, (3, 2), (stride, stride), (2, 1), (dilation, 1), 3)
    yield (1, 2, 4, 3, 2, (5, 5), (1, 1), (3, 3), (1, 1), 2)  # the kernel is larger than the image
    yield (2, 3, 7, 7, 3, (2, 2), (3, 3), (0, 0), (1, 1), 3)  # the last rows and columns are not read


def _taps(x: np.ndarray, kernel: Any, out: Any, stride: Any, padding: Any, dilation: Any) -> np.ndarray:
    """(N, C, kernel, out): what every tap reads, by index."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    rows = np.arange(kernel[0])[:, None] * dilation[0] + np.arange(out[0]) * stride[0]
    columns = np.arange(kernel[1])[:, None] * dilation[1] + np.arange(out[1]) * stride[1]
    return padded[:, :, rows[:, None, :, None], columns[None, :, None, :]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", list(_sizes()), ids=str)
def test_convolution(sizes: tuple[Any, ...], dtype: str) -> None:
    n, c, h, w, o, kernel, stride, padding, dilation, groups = sizes
    out = tuple(
        (s + 2 * p - d * (k - 1) - 1) // t + 1 for s, p, d, k, t in zip((h, w), padding, dilation, kernel, stride)
    )
    x, weight = RNG.normal(size=(n, c, h, w)).astype(dtype), RNG.normal(size=(o, c // groups, *kernel)).astype(dtype)
    bias, grad = RNG.normal(size=o).astype(dtype), RNG.normal(size=(n, o, *out)).astype(dtype)
    taps = _taps(x.astype(np.float64), kernel, out, stride, padding, dilation).reshape(
        n, groups, c // groups, *kernel, *out
    )
    by_group = weight.astype(np.float64).reshape(groups, o // groups, c // groups, *kernel)
    wide = grad.astype(np.float64).reshape(n, groups, o // groups, *out)
    want = np.einsum("ngcabhw,gocab->ngohw", taps, by_group).reshape(n, o, *out) + bias[:, None, None]
    want_weight = np.einsum("ngcabhw,ngohw->gocab", taps, wide).reshape(weight.shape)
    index = _taps(np.arange(n * c * h * w).reshape(n, c, h, w) + 1.0, kernel, out, stride, padding, dilation).astype(
        int
    )
    want_x = np.bincount(index.ravel(), np.einsum("ngohw,gocab->ngcabhw", wide, by_group).ravel(), n * c * h * w + 1)[
        1:
    ].reshape(x.shape)

    def close(got: np.ndarray, exact: np.ndarray, terms: int) -> None:
        assert got.dtype == dtype
        np.testing.assert_allclose(got, exact, rtol=0, atol=float(rounding_of_sum(terms, 4 * terms, dtype)))

    depth = c // groups * kernel[0] * kernel[1]
    close(conv_arrays.correlate(x, weight, out, stride, padding, dilation, groups, bias), want, depth + 1)
    close(
        conv_arrays.weight_gradient(grad, x, weight.shape, stride, padding, dilation, groups),
        want_weight,
        n * out[0] * out[1],
    )
    close(
        conv_arrays.input_gradient(grad, weight, (h, w), stride, padding, dilation, groups),
        want_x,
        o // groups * kernel[0] * kernel[1],
    )


def test_the_native_kernels_take_common_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kernel in (
        ("_correlate", "conv_forward"),
        ("_add_input_gradient", "conv_input_gradient"),
        ("_fill_weight_gradient", "conv_weight_gradient"),
    ):
        monkeypatch.setattr(conv_arrays, name, _native._kernels.Kernel(kernel, _refuse))
    for shape, kernel_size in (((2, 4, 9, 9), (3, 3)), ((2, 4, 9), (3,))):
        x, weight = np.ones(shape, "f"), np.ones((4, 4, *kernel_size), "f")
        ones, zeros = (1,) * len(kernel_size), (0,) * len(kernel_size)
        out = tuple(s - 2 for s in shape[2:])
        made = conv_arrays.correlate(x, weight, out, ones, zeros, ones, 1)
        assert made.shape == (2, 4, *out) and made.min() == made.max() == 4 * np.prod(kernel_size)
        conv_arrays.weight_gradient(made, x, weight.shape, ones, zeros, ones, 1)
        conv_arrays.input_gradient(made, weight, shape[2:], ones, zeros, ones, 1)


# --- LSTM
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 4), (7, 2, 33)], ids=str)
def test_lstm_steps(sizes: tuple[int, int, int], reverse: bool, dtype: str) -> None:
    """The native steps and their numpy fallback, which the recorded answers of PyTorch cover, agree to rounding."""
    steps, batch, n = sizes
    gates, grad = RNG.normal(size=(steps, batch, 4 * n)).astype(dtype), RNG.normal(size=(steps, batch, n)).astype(dtype)
    weight, (h, c) = (RNG.normal(size=(4 * n, n)) / n).astype(dtype), RNG.normal(size=(2, batch, n)).astype(dtype)
    bound = float(rounding_of_sum(steps * (n + 8), 8 * steps, dtype))
    made = []
    for forward, backward in (
        (_native._kernels.Kernel("lstm_forward", _refuse), _native._kernels.Kernel("lstm_backward", _refuse)),
        (rnn._steps.__wrapped__, rnn._steps_back.__wrapped__),
    ):
        out, work = np.full((steps, batch, n), np.nan, dtype), np.full((steps, batch, 6 * n), np.nan, dtype)
        forward(gates.copy(), weight, h, c, out, work, reverse)
        dz, dh, dc = np.full_like(gates, np.nan), h.copy(), c.copy()
        backward(dz, weight, dh, c, dc, work, grad, reverse)
        made.append((out, work, dz, dh, dc))
    for native, fallback in zip(*made):
        np.testing.assert_allclose(native, fallback, rtol=0, atol=bound)
