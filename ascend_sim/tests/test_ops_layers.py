"""Convolution, pooling and normalization against direct numpy formulas."""

from __future__ import annotations

import numpy as np
import pytest
from simlib import BF16, FLOAT, FLOAT16, INT32, INT64, Sim


def normal(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def windows(x, kernel, stride, padding, dilation):
    """[N, C, *K, *O]: a strided view of the padded input."""
    dims = len(kernel)
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    sizes = [(x.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(dims)]
    s = x.strides
    strides = [*s[:2], *[s[2 + i] * dilation[i] for i in range(dims)], *[s[2 + i] * stride[i] for i in range(dims)]]
    return np.lib.stride_tricks.as_strided(x, [*x.shape[:2], *kernel, *sizes], strides)


def convolve(x, w, b, stride, padding, dilation, groups):
    dims, outs = w.ndim - 2, []
    v = windows(x.astype(np.float64), w.shape[2:], stride, padding, dilation)
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for g in range(groups):
        part = v[:, g * per_in : (g + 1) * per_in]
        weight = w[g * per_out : (g + 1) * per_out]
        axes = list(range(1, 2 + dims))
        outs.append(np.moveaxis(np.tensordot(part, weight, (axes, axes)), -1, 1))
    y = np.concatenate(outs, 1)
    return y if b is None else y + b.reshape(-1, *[1] * dims)


CASES = [
    ((2, 3, 8, 9), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 4, 7, 7), (6, 2, 3, 2), (2, 3), (1, 0), (2, 1), 2),
    ((1, 4, 6, 6), (4, 1, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    ((2, 3, 11), (5, 3, 4), (2,), (1,), (1,), 1),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), (1, 1, 2), (0, 1, 0), (1, 1, 1), 1),
]


@pytest.mark.parametrize("shape, kernel, stride, padding, dilation, groups", CASES)
def test_convolution(sim: Sim, shape, kernel, stride, padding, dilation, groups) -> None:
    x, w, b = normal(shape), normal(kernel, 1), normal((kernel[0],), 2)
    expected = convolve(x, w, b, stride, padding, dilation, groups)
    out = sim.buffer(expected.shape)
    options = (stride, padding, dilation, False, [0] * len(stride), groups)
    sim.run("Convolution", sim.upload(x), sim.upload(w), sim.upload(b), *options, out, 0)
    np.testing.assert_allclose(out.read(), expected, rtol=1e-4, atol=1e-4)
    sim.run("Convolution", sim.upload(x), sim.upload(w), None, *options, out, 0)
    np.testing.assert_allclose(
        out.read(), convolve(x, w, None, stride, padding, dilation, groups), rtol=1e-4, atol=1e-4
    )


def directional(f, x, direction, eps=1e-3):
    return (f(x + eps * direction) - f(x - eps * direction)) / (2 * eps)


@pytest.mark.parametrize("shape, kernel, stride, padding, dilation, groups", CASES)
def test_convolution_backward(sim: Sim, shape, kernel, stride, padding, dilation, groups) -> None:
    x, w, b = normal(shape), normal(kernel, 1), normal((kernel[0],), 2)
    g = normal(convolve(x, w, b, stride, padding, dilation, groups).shape, 3)
    outs = [sim.buffer(a.shape) for a in (x, w, b)]
    operands = (sim.upload(g), sim.upload(x), sim.upload(w), [kernel[0]])
    options = (stride, padding, dilation, False, [0] * len(stride), groups, [True] * 3, 0)
    sim.run("ConvolutionBackward", *operands, *options, *outs)

    def loss(x, w, b):
        return (convolve(x, w, b, stride, padding, dilation, groups) * g).sum()

    arrays = [x.astype(np.float64), w.astype(np.float64), b.astype(np.float64)]
    for index, name in enumerate("xwb"):
        direction = np.random.default_rng(9).normal(size=arrays[index].shape)
        slope = directional(lambda a, i=index: loss(*[*arrays[:i], a, *arrays[i + 1 :]]), arrays[index], direction)
        np.testing.assert_allclose((outs[index].read() * direction).sum(), slope, rtol=2e-4, atol=2e-3, err_msg=name)


def test_transposed_convolution_is_the_adjoint(sim: Sim) -> None:
    stride, padding, dilation, extra = (2, 1), (1, 0), (1, 2), (1, 0)
    x, w = normal((2, 4, 5, 6)), normal((4, 3, 3, 2), 1)
    height, width = (5 - 1) * 2 - 2 + 3 + 1, (6 - 1) - 0 + 2 + 1
    out = sim.buffer((2, 3, height, width))
    options = (stride, padding, dilation, True, extra, 1)
    sim.run("Convolution", sim.upload(x), sim.upload(w), None, *options, out, 0)
    image = normal((2, 3, height, width), 5)
    forward = convolve(image, w, None, stride, padding, dilation, 1)
    np.testing.assert_allclose((out.read() * image).sum(), (forward * x).sum(), rtol=1e-4)
    grads = [sim.buffer(x.shape), sim.buffer(w.shape), sim.buffer((3,))]
    back = (stride, padding, dilation, True, extra, 1, [True] * 3, 0)
    sim.run("ConvolutionBackward", sim.upload(image), sim.upload(x), sim.upload(w), [3], *back, *grads)
    np.testing.assert_allclose(grads[0].read(), forward, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose((grads[1].read() * w).sum(), (forward * x).sum(), rtol=1e-4)
    np.testing.assert_allclose(grads[2].read(), image.sum((0, 2, 3)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype, tolerance", [(FLOAT16, 2e-2), (BF16, 2e-1)])
def test_half_convolution(sim: Sim, dtype: int, tolerance: float) -> None:
    x, w = sim.upload(normal((1, 2, 5, 5)), dtype), sim.upload(normal((3, 2, 3, 3), 1), dtype)
    out = sim.buffer((1, 3, 3, 3), dtype)
    sim.run("Convolution", x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, out, 0)
    expected = convolve(x.read().astype("f8"), w.read().astype("f8"), None, (1, 1), (0, 0), (1, 1), 1)
    np.testing.assert_allclose(out.read(), expected, atol=tolerance)


@pytest.mark.parametrize("index_type", [INT32, INT64])
@pytest.mark.parametrize("kernel, stride, padding, dilation", [((2, 2), (2, 2), (0, 0), (1, 1)),
                                                              ((3, 2), (1, 2), (1, 1), (1, 2))])  # fmt: skip
def test_max_pool(sim: Sim, kernel, stride, padding, dilation, index_type: int) -> None:
    x = normal((2, 3, 8, 7))
    padded = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]], constant_values=-np.inf)
    view = windows(padded, kernel, stride, (0, 0), dilation)
    expected = view.max((2, 3))
    out, indices = sim.buffer(expected.shape), sim.buffer(expected.shape, index_type)
    options = (kernel, stride, padding, dilation, False)
    sim.run("MaxPool2dWithIndices", sim.upload(x), *options, out, indices)
    np.testing.assert_array_equal(out.read(), expected)
    flat = x.reshape(2, 3, -1)
    chosen = np.take_along_axis(flat, indices.read().astype(np.int64).reshape(2, 3, -1), 2)
    np.testing.assert_array_equal(chosen.reshape(expected.shape), expected)
    g, dx = normal(expected.shape, 1), sim.buffer(x.shape)
    sim.run("MaxPool2dWithIndicesBackward", sim.upload(g), sim.upload(x), indices, *options, dx)
    total = np.zeros((6, 56), np.float32)
    for plane in range(6):
        np.add.at(total[plane], indices.read().reshape(6, -1)[plane], g.reshape(6, -1)[plane])
    np.testing.assert_allclose(dx.read(), total.reshape(x.shape), rtol=1e-5, atol=1e-6)


def test_max_pool_ceil_mode(sim: Sim) -> None:
    x = normal((1, 1, 5, 5))
    out, indices = sim.buffer((1, 1, 3, 3)), sim.buffer((1, 1, 3, 3), INT64)
    sim.run("MaxPool2dWithIndices", sim.upload(x), (2, 2), (2, 2), (0, 0), (1, 1), True, out, indices)
    assert out.read()[0, 0, 2, 2] == x[0, 0, 4, 4]
    assert indices.read()[0, 0, 2, 2] == 24


@pytest.mark.parametrize("dtype, tolerance", [(FLOAT, 2e-5), (FLOAT16, 1e-2), (BF16, 6e-2)])
def test_layer_norm(sim: Sim, dtype: int, tolerance: float) -> None:
    x, w, b = (sim.upload(normal(s, i), dtype) for i, s in enumerate([(4, 3, 10), (10,), (10,)]))
    g = sim.upload(normal((4, 3, 10), 5), dtype)
    out = sim.buffer((4, 3, 10), dtype)
    mean, rstd = sim.buffer((4, 3, 1)), sim.buffer((4, 3, 1))
    sim.run("LayerNorm", x, [10], w, b, 1e-5, out, mean, rstd)
    X, W, B, G = (a.read().astype(np.float64) for a in (x, w, b, g))
    mu, sd = X.mean(-1, keepdims=True), np.sqrt(X.var(-1, keepdims=True) + 1e-5)
    hat = (X - mu) / sd
    np.testing.assert_allclose(out.read(), hat * W + B, atol=tolerance * 2)
    np.testing.assert_allclose(rstd.read(), 1 / sd, rtol=1e-5)
    grads = [sim.buffer((4, 3, 10), dtype), sim.buffer((10,), dtype), sim.buffer((10,), dtype)]
    sim.run("LayerNormBackward", g, x, [10], mean, rstd, w, b, [True] * 3, *grads)
    gw = G * W
    dx = (gw - gw.mean(-1, keepdims=True) - hat * (gw * hat).mean(-1, keepdims=True)) / sd
    for got, expected in zip(grads, (dx, (G * hat).sum((0, 1)), G.sum((0, 1)))):
        np.testing.assert_allclose(got.read(), expected, rtol=tolerance, atol=tolerance * 3)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(sim: Sim, shape, training: bool) -> None:
    x, w, b, g = normal(shape), normal((3,), 1), normal((3,), 2), normal(shape, 3)
    rm, rv = normal((3,), 4), np.abs(normal((3,), 5)) + 0.5
    axes = (0, *range(2, len(shape)))
    per = (1, 3, *[1] * (len(shape) - 2))
    n = x.size // 3
    mean, var = (x.mean(axes), x.var(axes)) if training else (rm, rv)
    sd = np.sqrt(var + 1e-5)
    hat = (x - mean.reshape(per)) / sd.reshape(per)
    bufs = [sim.upload(a) for a in (x, w, b, rm, rv)]
    out, save_mean, save_std = sim.buffer(shape), sim.buffer((3,)), sim.buffer((3,))
    sim.run("BatchNorm", *bufs, training, 0.1, 1e-5, out, save_mean, save_std)
    np.testing.assert_allclose(out.read(), hat * w.reshape(per) + b.reshape(per), rtol=1e-4, atol=1e-5)
    if training:
        np.testing.assert_allclose(save_mean.read(), mean, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(save_std.read(), 1 / sd, rtol=1e-4)
        np.testing.assert_allclose(bufs[3].read(), 0.9 * rm + 0.1 * mean, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(bufs[4].read(), 0.9 * rv + 0.1 * var * n / (n - 1), rtol=1e-4)
    grads = [sim.buffer(shape), sim.buffer((3,)), sim.buffer((3,))]
    operands = (sim.upload(g), bufs[0], bufs[1], bufs[3], bufs[4], save_mean, save_std)
    sim.run("BatchNormBackward", *operands, training, 1e-5, [True] * 3, *grads)
    gb, gw = g.sum(axes), (g * hat).sum(axes)
    scale = (w / sd).reshape(per)
    dx = scale * (g - (gb.reshape(per) + hat * gw.reshape(per)) / n) if training else scale * g
    for got, expected in zip(grads, (dx, gw, gb)):
        np.testing.assert_allclose(got.read(), expected, rtol=1e-3, atol=1e-4)
