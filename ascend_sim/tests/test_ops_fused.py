"""Fused operators, grids, CTC: values against numpy, gradients against differences of the same numpy functions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from simlib import BOOL, INT64, Buffer, Scalar, Sim, SimError


def normal(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def up(sim: Sim, array: np.ndarray) -> Buffer:
    return sim.upload(np.ascontiguousarray(array, np.float32))


def close(buffer: Buffer, expected: np.ndarray) -> None:
    np.testing.assert_allclose(buffer.read().reshape(np.shape(expected)), expected, rtol=1e-4, atol=1e-5)


def slope(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    result = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        ends = []
        for step in (1e-5, -1e-5):
            moved = x.copy()
            moved[at] += step
            ends.append(float((function(moved) * dy).sum()))
        result[at] = (ends[0] - ends[1]) / 2e-5
    return result


def rms(x: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gamma


def swiglu(x: np.ndarray) -> np.ndarray:
    a, b = np.split(x, 2, 1)
    return a / (1 + np.exp(-a)) * b


def fast_gelu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-1.702 * x))


def test_root_mean_square_norms(sim: Sim) -> None:
    x, other, gamma, dy = normal((2, 3, 4)), normal((2, 3, 4), 1), normal((4,), 2), normal((2, 3, 4), 3)
    y, rstd, total = sim.buffer((2, 3, 4)), sim.buffer((2, 3, 1)), sim.buffer((2, 3, 4))
    sim.run("AddRmsNorm", up(sim, x), up(sim, other), up(sim, gamma), 1e-6, y, rstd, total)
    close(y, rms(x + other, gamma))
    close(total, x + other)
    sim.run("RmsNorm", up(sim, x), up(sim, gamma), 1e-6, y, rstd)
    close(y, rms(x, gamma))
    dx, dgamma = sim.buffer((2, 3, 4)), sim.buffer((4,))
    sim.run("RmsNormGrad", up(sim, dy), up(sim, x), rstd, up(sim, gamma), dx, dgamma)
    close(dx, slope(lambda v: rms(v, gamma), x, dy))
    close(dgamma, slope(lambda v: rms(x, v), gamma, dy))
    with pytest.raises(SimError, match=r"gamma is \[3\]"):
        sim.run("RmsNorm", up(sim, x), up(sim, gamma[:3]), 1e-6, y, rstd)


def test_gated_units(sim: Sim) -> None:
    x, dy = normal((2, 6, 3)), normal((2, 3, 3), 1)
    y, dx = sim.buffer((2, 3, 3)), sim.buffer((2, 6, 3))
    sim.run("SwiGlu", up(sim, x), 1, y)
    close(y, swiglu(x))
    sim.run("SwiGluGrad", up(sim, dy), up(sim, x), 1, dx)
    close(dx, slope(swiglu, x, dy))
    with pytest.raises(SimError, match="has no halves"):
        sim.run("SwiGlu", up(sim, x), 2, y)
    sim.run("FastGelu", up(sim, dy), y)
    close(y, fast_gelu(dy))
    sim.run("FastGeluBackward", up(sim, np.ones_like(dy)), up(sim, dy), y)
    close(y, slope(fast_gelu, dy, np.ones_like(dy)))


@pytest.mark.parametrize("triangle", [False, True])
def test_masked_softmax(sim: Sim, triangle: bool) -> None:
    x, mask = normal((2, 2, 3, 3)), np.random.default_rng(1).random((2, 1, 3, 3)) > 0.6
    hidden = np.triu(np.ones((3, 3), bool), 1) if triangle else mask

    def function(v: np.ndarray) -> np.ndarray:
        z = np.where(hidden, -1e4, v * 0.5)
        e = np.exp(z - z.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    y, dx, dy = sim.buffer(x.shape), sim.buffer(x.shape), normal(x.shape, 2)
    sim.run("ScaledMaskedSoftmax", up(sim, x), sim.upload(mask, BOOL), 0.5, triangle, y)
    close(y, function(x))
    sim.run("ScaledMaskedSoftmaxBackward", up(sim, dy), y, sim.upload(mask, BOOL), 0.5, triangle, dx)
    close(dx, slope(function, x, dy))


def test_group_norm_with_silu(sim: Sim) -> None:
    x, gamma, beta = normal((2, 4, 3)), normal((4,), 1), normal((4,), 2)
    y, mean, rstd = sim.buffer(x.shape), sim.buffer((2, 2)), sim.buffer((2, 2))
    sim.run("GroupNormSilu", up(sim, x), up(sim, gamma), up(sim, beta), 2, 1e-5, y, mean, rstd)
    groups = x.reshape(2, 2, -1)
    z = ((groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    z = z * gamma[:, None] + beta[:, None]
    close(y, z / (1 + np.exp(-z)))
    close(mean, groups.mean(-1))


def test_grid_samples_between_pixels_and_their_gradients(sim: Sim) -> None:
    x, grid, dy = normal((1, 2, 3, 4)), normal((1, 2, 2, 2), 1) * 0.4, normal((1, 2, 2, 2), 2)

    def sample(v: np.ndarray, g: np.ndarray) -> np.ndarray:
        out = np.zeros((1, 2, 2, 2))
        for i, j in product(range(2), range(2)):
            px, py = ((g[0, i, j, 0] + 1) * 4 - 1) / 2, ((g[0, i, j, 1] + 1) * 3 - 1) / 2
            for cx, cy in product((np.floor(px), np.floor(px) + 1), (np.floor(py), np.floor(py) + 1)):
                if 0 <= cx < 4 and 0 <= cy < 3:
                    out[0, :, i, j] += v[0, :, int(cy), int(cx)] * (1 - abs(px - cx)) * (1 - abs(py - cy))
        return out

    y, dx, dgrid = sim.buffer((1, 2, 2, 2)), sim.buffer(x.shape), sim.buffer(grid.shape)
    sim.run("GridSampler2D", up(sim, x), up(sim, grid), 0, 0, False, y)
    close(y, sample(x, grid))
    sim.run("GridSampler2DBackward", up(sim, dy), up(sim, x), up(sim, grid), 0, 0, False, [True, True], dx, dgrid)
    close(dx, slope(lambda v: sample(v, grid), x, dy))
    close(dgrid, slope(lambda g: sample(x, g), grid, dy))
    with pytest.raises(SimError, match="interpolation 2 is not modelled"):
        sim.run("GridSampler2D", up(sim, x), up(sim, grid), 2, 0, False, y)


@pytest.mark.parametrize(("padding", "expected"), [(0, 0.0), (1, 3.0), (2, 2.0)])
def test_grid_samples_outside(sim: Sim, padding: int, expected: float) -> None:
    row, y = up(sim, np.arange(4.0).reshape(1, 1, 1, 4)), sim.buffer((1, 1, 1, 1))
    grid = np.array([[[[4 * 2 / 3 - 1, 0]]]])  # pixel 4 of 0..3 where corners are aligned
    sim.run("GridSampler2D", row, up(sim, grid), 1, padding, True, y)
    close(y, np.full((1, 1, 1, 1), expected))


def test_affine_grids(sim: Sim) -> None:
    theta, out = np.array([[[2.0, 0, 0.5], [0, 3.0, -0.5]]]), sim.buffer((1, 2, 2, 2))
    sim.run("AffineGrid", up(sim, theta), [1, 1, 2, 2], False, out)
    close(out, np.array([[[[-0.5, -2], [1.5, -2]], [[-0.5, 1], [1.5, 1]]]]))
    sim.run("AffineGrid", up(sim, theta), [1, 1, 2, 2], True, out)
    close(out, np.array([[[[-1.5, -3.5], [2.5, -3.5]], [[-1.5, 2.5], [2.5, 2.5]]]]))


def path_loss(p: np.ndarray, targets: list[list[int]], lengths: list[int]) -> np.ndarray:
    """Minus the log of the sum over all paths that collapse to the target: exact, and slow."""
    losses = []
    for b, (target, steps) in enumerate(zip(targets, lengths)):
        total = 0.0
        for path in product(range(p.shape[2]), repeat=steps):
            kept = [c for i, c in enumerate(path) if c and (i == 0 or path[i - 1] != c)]
            total += float(np.exp(sum(p[t, b, c] for t, c in enumerate(path)))) if kept == target else 0.0
        losses.append(-np.log(total))
    return np.array(losses)


def test_ctc_sums_over_all_paths(sim: Sim) -> None:
    x = normal((4, 2, 3))
    p = x - np.log(np.exp(x).sum(-1, keepdims=True))
    targets, lengths = [[1, 1], [2]], [4, 3]
    loss, alpha, grad, dy = sim.buffer((2,)), sim.buffer((2, 4, 5)), sim.buffer(p.shape), np.array([0.5, -2.0])
    labels = sim.upload(np.array([[1, 1], [2, 0]]), INT64)
    sim.run("CtcLoss", up(sim, p), labels, lengths, [2, 1], 0, False, loss, alpha)
    close(loss, path_loss(p, targets, lengths))
    sim.run("CtcLossBackward", up(sim, dy), up(sim, p), labels, lengths, [2, 1], loss, alpha, 0, False, grad)

    def of_scores(v: np.ndarray) -> np.ndarray:
        return path_loss(v - np.log(np.exp(v).sum(-1, keepdims=True)), targets, lengths)

    close(grad, slope(of_scores, x, dy))  # clients hand this on as the gradient of the scores before the softmax
    flat = sim.upload(np.array([1, 1, 2]), INT64)
    sim.run("CtcLoss", up(sim, p), flat, lengths, [2, 1], 0, False, loss, alpha)
    close(loss, path_loss(p, targets, lengths))


def test_ctc_of_a_target_that_does_not_fit(sim: Sim) -> None:
    p, labels = np.full((2, 1, 2), np.log(0.5)), sim.upload(np.array([[1, 1, 1]]), INT64)
    loss, alpha = sim.buffer((1,)), sim.buffer((1, 2, 7))
    sim.run("CtcLoss", up(sim, p), labels, [2], [3], 0, False, loss, alpha)
    assert loss.read().tolist() == [np.inf]
    sim.run("CtcLoss", up(sim, p), labels, [2], [3], 0, True, loss, alpha)
    assert loss.read().tolist() == [0.0]


def test_numbers(sim: Sim) -> None:
    out = sim.buffer((3,))
    sim.run("LogSpace", Scalar(0.0), Scalar(2.0), 3, 10.0, out)
    close(out, np.array([1.0, 10.0, 100.0]))
    sim.run("RoundDecimals", up(sim, np.array([1.25, -1.35, 12.0])), 1, out)
    close(out, np.array([1.2, -1.4, 12.0]))
    target = up(sim, np.array([149.0, -151.0]))
    sim.run("InplaceRoundDecimals", target, -2)
    close(target, np.array([100.0, -200.0]))
