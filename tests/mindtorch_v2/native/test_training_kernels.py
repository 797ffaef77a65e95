"""Native kernels of optimizers, losses, pooling, convolutions, attention and sorting against other formulas."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from mindtorch_v2._ops.pooling_shapes import pool_windows

from .kernel_runs import TYPES, Run, close, random_array


def _adam(p: Any, g: Any, m: Any, s: Any, most: Any, decoupled: bool, maximize: bool) -> Any:
    g = -g if maximize else g
    if decoupled:
        p = p * (1 - 0.01 * 0.1)
    else:
        g = g + 0.1 * p
    m, s = m + (g - m) * (1 - 0.9), s * 0.99 + g * g * (1 - 0.99)
    top = s if most is None else np.maximum(most, s)
    return p - 0.02 * m / (np.sqrt(top) / 0.5 + 1e-8), m, s, top


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("decoupled, maximize", [(False, False), (True, False), (True, True)])
def test_adam(run: Run, dtype: str, amsgrad: bool, decoupled: bool, maximize: bool) -> None:
    p, g, m = (random_array(300, dtype, i) for i in range(3))
    s, most = np.abs(random_array(300, dtype, 3)), np.abs(random_array(300, dtype, 4)) if amsgrad else None
    want = _adam(*(None if a is None else a.astype(np.float64) for a in (p, g, m, s, most)), decoupled, maximize)
    run("adam_step", p, g, m, s, most, 0.01, 0.02, 0.5, 0.9, 0.99, 0.1, 1e-8, maximize, decoupled)
    for got, expected in zip((p, m, s, *((most,) if amsgrad else ())), want):
        close(got, expected, dtype, 64)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "decay, momentum, dampening, nesterov, first",
    [
        (0, 0, 0, False, False),
        (0.1, 0, 0, False, False),
        (0.1, 0.9, 0.2, False, False),
        (0, 0.9, 0, True, False),
        (0.1, 0.9, 0, True, True),
    ],
)
def test_sgd(
    run: Run, dtype: str, decay: float, momentum: float, dampening: float, nesterov: bool, first: bool
) -> None:
    p, g = random_array(300, dtype), random_array(300, dtype, 1)
    buffer = random_array(300, dtype, 2) if momentum else None
    step = -g.astype(np.float64) + decay * p
    if buffer is not None:
        kept = step if first else buffer * float(momentum) + step * (1 - dampening)
        step = step + momentum * kept if nesterov else kept
    want = p - 0.1 * step
    run("sgd_step", p, g, buffer, decay, momentum, 0.1, dampening, nesterov, True, first)
    close(p, want, dtype)
    if buffer is not None:
        close(buffer, kept, dtype)


def test_without_decay_infinite_parameters_do_not_spread(run: Run) -> None:
    p, g, buffer = np.array([np.inf, 1], "f"), np.ones(2, "f"), np.zeros(2, "f")
    run("sgd_step", p, g, buffer, 0, 0.9, 0.1, 0, False, False, False)
    np.testing.assert_array_equal(buffer, [1, 1])


# --- losses and pooling
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", [1, 2])
def test_nll_loss(run: Run, dtype: str, weighted: bool, reduction: int) -> None:
    x, target = random_array((50, 6), dtype), np.random.default_rng(2).integers(0, 6, 50)
    weight = np.abs(random_array(6, dtype, 1)) if weighted else None
    each = np.where(target == 2, 0, 1.0 if weight is None else weight[target].astype(np.float64))
    total = each.sum() if reduction == 1 else 1
    loss, got_total = run("nll_loss_forward", x, target, weight, reduction, 2)
    assert float(loss) == pytest.approx(-(x[np.arange(50), target] * each).sum() / total, rel=1e-5)
    assert float(got_total) == pytest.approx(each.sum(), rel=1e-5)
    want = np.zeros((50, 6))
    want[np.arange(50), target] = -3 * each / total
    close(
        run("nll_loss_backward", np.array(3, dtype), x, target, weight, reduction, 2, np.asarray(got_total, dtype)),
        want,
        dtype,
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "kernel, stride, padding, dilation, ceil",
    [
        ((2, 2), (), 0, 1, False),
        ((3, 2), (2, 1), 1, 1, False),
        ((3, 3), (2, 2), 1, 2, True),
        ((2, 2), (2, 2), 0, 1, True),
    ],
)
def test_max_pool(run: Run, dtype: str, kernel: Any, stride: Any, padding: int, dilation: int, ceil: bool) -> None:
    x = np.round(random_array((2, 3, 11, 13), dtype), 1)
    x[0, 0, 3:5, 3:5] = np.nan
    x[1, 1] = -np.inf
    windows = pool_windows("max_pool2d", 2, x.shape, kernel, stride, (padding,), (dilation,), ceil)
    values, positions = run("max_pool", x, windows)
    padded = np.full((2, 3, 40, 40), -np.inf)
    padded[:, :, padding : padding + 11, padding : padding + 13] = x
    (sh, sw), (kh, kw) = windows.stride, windows.kernel
    for oh, ow in np.ndindex(*windows.out):
        part = padded[
            :,
            :,
            oh * sh : oh * sh + dilation * (kh - 1) + 1 : dilation,
            ow * sw : ow * sw + dilation * (kw - 1) + 1 : dilation,
        ]
        np.testing.assert_array_equal(values[:, :, oh, ow], part.max((-2, -1)))
    found = np.take_along_axis(x.reshape(2, 3, -1), positions.reshape(2, 3, -1), 2).reshape(values.shape)
    np.testing.assert_array_equal(found, values)
    g = random_array(values.shape, dtype, 1)
    want = np.zeros((6, 143))
    np.add.at(want, (np.arange(6)[:, None], positions.reshape(6, -1)), g.reshape(6, -1))
    close(run("scatter_positions", g, positions, (2, 3, 11, 13), 2, True), want.reshape(x.shape), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "kernel, stride, padding, dilation",
    [
        ((3, 3), (1, 1), (1, 1), (1, 1)),
        ((2, 3), (2, 1), (0, 2), (1, 2)),
        ((1, 5), (1, 3), (2, 4), (2, 1)),
        ((3, 1), (3, 2), (0, 0), (2, 3)),
    ],
)
@pytest.mark.parametrize("batch_inside", [False, True])
def test_columns_of_images(
    run: Run, dtype: str, kernel: Any, stride: Any, padding: Any, dilation: Any, batch_inside: bool
) -> None:
    x = random_array((2, 3, 9, 7), dtype)
    out = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip((9, 7), kernel, stride, padding, dilation)
    )
    (ph, pw), want = padding, np.zeros((2, 3, *kernel, *out))
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    for kh, kw, oh, ow in np.ndindex(*kernel, *out):
        want[:, :, kh, kw, oh, ow] = padded[:, :, oh * stride[0] + kh * dilation[0], ow * stride[1] + kw * dilation[1]]
    columns = run("unroll", x, kernel, out, stride, padding, dilation, batch_inside)
    np.testing.assert_array_equal(columns, want.transpose(1, 2, 3, 0, 4, 5) if batch_inside else want)
    g = random_array((2, 3, math.prod(kernel), math.prod(out)), dtype, 1)
    spread = np.zeros(padded.shape)
    for (kh, kw, oh, ow), share in zip(np.ndindex(*kernel, *out), g.reshape(2, 3, -1).transpose(2, 0, 1)):
        spread[:, :, oh * stride[0] + kh * dilation[0], ow * stride[1] + kw * dilation[1]] += share
    close(run("fold", g, (9, 7), kernel, out, stride, padding, dilation), spread[:, :, ph : ph + 9, pw : pw + 7], dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_of_attention(run: Run, dtype: str) -> None:
    x = random_array((3, 5, 40), dtype)
    x[1, 2], x[0, 0, 3] = -np.inf, -np.inf
    got = x.copy()
    sums, tops = run("exp_rows", got)
    want_tops = np.where(np.isneginf(x).all(-1, keepdims=True), 0, x.max(-1, keepdims=True))
    np.testing.assert_array_equal(tops, want_tops)
    want = np.exp(x.astype(np.float64) - want_tops)
    close(got, want, dtype)
    close(sums, np.where(want.sum(-1, keepdims=True) == 0, 1, want.sum(-1, keepdims=True)), dtype)


# --- sorting
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("shape", [(1,), (3, 7), (2, 48), (2, 49), (1, 5000), (3, 2, 300)], ids=str)
def test_sort_lines(run: Run, shape: tuple[int, ...], falling: bool, dtype: str) -> None:
    """By hand: equal elements stay in their order, both zeros are equal, NaN is the greatest."""
    x = (random_array(shape, "float64") * 40).astype(dtype)  # whole numbers come more than once
    if dtype.startswith("float") and x.size > 20:
        x.reshape(-1)[:7] = np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, -np.nan, 0.0])
    elif x.size > 20:
        x.reshape(-1)[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    values, indices = np.empty_like(x), np.empty(x.shape, np.int64)
    run("sort_lines", x, falling, values, indices)
    for row, got, order in zip(x.reshape(-1, shape[-1]), values.reshape(-1, shape[-1]), indices.reshape(-1, shape[-1])):
        rank = [(1, 0) if v != v else (0, v) for v in row.tolist()]
        want = sorted(range(len(row)), key=lambda i: rank[i])
        if falling:
            want = [i for _, group in itertools.groupby(reversed(want), key=lambda i: rank[i]) for i in sorted(group)]
        assert order.tolist() == want
        np.testing.assert_array_equal(got, row[want])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ["exp", "relu", "sigmoid", "silu", "sigmoid_backward", "tanh_backward", "silu_backward"])
def test_columns_of_a_matrix(run: Run, op: str, dtype: str) -> None:
    """What `chunk` gives: rows that lie apart.

    The result is the one of a contiguous copy, bit by bit, and contiguous.
    """
    part = random_array((5, 30), dtype)[:, 10:20]
    rest = [random_array((5, 30), dtype, 1)[:, 20:]] if op.endswith("backward") else []
    got = run(op, part, *rest)
    np.testing.assert_array_equal(got, run(op, part.copy(), *(r.copy() for r in rest)))
    assert got.flags.c_contiguous


@pytest.mark.parametrize("op", ["relu_", "sigmoid_", "silu_"])
def test_columns_of_a_matrix_in_place(run: Run, op: str) -> None:
    whole = random_array((5, 30), "float32")
    want = whole.copy()
    part = want[:, 10:20].copy()
    run(op, part)
    want[:, 10:20] = part
    run(op, whole[:, 10:20])
    np.testing.assert_array_equal(whole, want)
