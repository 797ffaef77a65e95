"""The native kernels and the numpy kernels behind them give the same answers; both are tested the same way."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native
from mindtorch_v2._backends.cpu import (
    attention,
    conv_arrays,
    foreach,
    indexing,
    indexing_elements,
    linalg,
    movement_elements,
    pool_arrays,
    rnn,
    sorting,
    sums,
)
from mindtorch_v2._backends.onednn.library import native as onednn
from mindtorch_v2._dispatch.families import load_family
from mindtorch_v2._dispatch.registry import DIRECT, INPLACE, KERNELS
from mindtorch_v2._ops.pooling_shapes import pool_windows

for _family in ("elementwise", "activation", "normalization", "reduction", "embedding", "loss", "movement"):
    load_family(_family)

HELPERS: dict[str, Any] = {
    "sum_over": sums.sum_over,
    "contiguous_copy": movement_elements.contiguous_copy,
    "max_pool": pool_arrays.max_pool,
    "scatter_positions": pool_arrays.scatter_positions,
    "sgd_step": foreach._sgd,
    "adam_step": foreach._adam,
    "unroll": conv_arrays.unroll,
    "fold": conv_arrays.fold,
    "exp_rows": attention._exp_rows,
    "attention_forward": attention._forward,
    "attention_backward": attention._backward,
    "conv_forward": conv_arrays._correlate,
    "conv_input_gradient": conv_arrays._add_input_gradient,
    "conv_weight_gradient": conv_arrays._fill_weight_gradient,
    "lstm_forward": rnn._steps,
    "lstm_backward": rnn._steps_back,
    "sort_lines": sorting._sort_lines,
    "gather": indexing_elements.gather,
    "scatter_add_": indexing_elements._scatter_add_,
    "index_add_": indexing.index_add_,
    "matrix_product": linalg._dot,
    "batch_product": linalg._matmul,
}
Run = Callable[..., Any]
TYPES = ["float32", "float64"]
SIZES = [0, 1, 2, 7, 8, 31, 33, 1023, 1025, 5000]
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 88.8, -88.8, 104, -104, 750, -750, 1, -1])


def _registered(op: str) -> Any:
    base, dot, overload = op.partition(".")
    found: Any = KERNELS[op] if op in KERNELS else INPLACE[base.rstrip("_") + dot + overload]
    while onednn is not None and isinstance(found, onednn.Kernel):  # it stands before the native kernels
        found = found.__wrapped__
    return found


def _refuse(*args: Any) -> Any:
    raise AssertionError("the native kernel declined")


@pytest.fixture(params=["numpy", "native"])
def run(request: pytest.FixtureRequest) -> Run:
    """Calls a kernel by name: numpy's, or the native one, which must not decline."""
    if request.param == "native" and not _native.available():
        pytest.skip("no native kernels")

    def call(op: str, *args: Any) -> Any:
        if request.param == "native":
            return _native._kernels.Kernel(_native.OPS.get(op, op), _refuse)(*args)
        found = HELPERS.get(op) or _registered(op)
        with np.errstate(all="ignore"):
            return getattr(found, "__wrapped__", found)(*args)

    return call


def _random(shape: Any, dtype: str, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def _close(got: Any, want: Any, dtype: str, units: float = 16) -> None:
    eps = np.finfo(dtype).eps
    got = np.asarray(got)
    assert got.dtype == dtype and got.flags.c_contiguous
    np.testing.assert_allclose(got, np.asarray(want, np.float64), rtol=units * eps, atol=units * eps)


# --- activations
def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _phi(x: Any) -> Any:
    return np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), otypes=[float])(x)


def _tanh_gate(x: Any) -> Any:
    return 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _tanh_gelu_slope(x: Any) -> Any:
    s = _tanh_gate(x)
    return s + x * 2 * s * (1 - s) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)


FORWARD: dict[str, tuple[tuple[Any, ...], Callable[[Any], Any]]] = {
    "exp": ((), np.exp),
    "relu": ((), lambda x: np.maximum(x, 0)),
    "sigmoid": ((), _sigmoid),
    "silu": ((), lambda x: x * _sigmoid(x)),
    "gelu": (("none",), lambda x: x * _phi(x)),
}
SLOPES: dict[str, tuple[tuple[Any, ...], Callable[[Any], Any]]] = {
    "threshold_backward": ((0.5,), lambda x: x > 0.5),
    "sigmoid_backward": ((), lambda y: y * (1 - y)),
    "tanh_backward": ((), lambda y: 1 - y * y),
    "silu_backward": ((), lambda x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x)))),
    "gelu_backward": (("none",), lambda x: _phi(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_activations(run: Run, dtype: str, n: int) -> None:
    x = _random(n, dtype)
    wide = x.astype(np.float64)
    for op, (args, formula) in FORWARD.items():
        _close(run(op, x, *args), formula(wide), dtype)
    _close(run("gelu", x, "tanh"), wide * _tanh_gate(wide), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (5, 7), (3, 400)])
def test_gradients_of_activations(run: Run, dtype: str, shape: Any) -> None:
    x, g = _random(shape, dtype), _random(shape, dtype, 1)
    wide = x.astype(np.float64)
    for op, (args, slope) in SLOPES.items():
        _close(run(op, g, x, *args), g * slope(wide), dtype)
    _close(run("gelu_backward", g, x, "tanh"), g * _tanh_gelu_slope(wide), dtype, units=64)


@pytest.mark.parametrize("dtype", TYPES)
def test_special_values(run: Run, dtype: str) -> None:
    x = np.tile(SPECIAL.astype(dtype), 5)  # long enough for vectors and their remainder
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            run("exp", x), np.exp(x), rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).smallest_subnormal
        )
        np.testing.assert_allclose(run("sigmoid", x), _sigmoid(x), rtol=1e-6, atol=1e-37)
        np.testing.assert_allclose(run("silu", x), x / (1 + np.exp(-x)), rtol=1e-6, atol=1e-36)
    relu = run("relu", x)
    np.testing.assert_array_equal(relu, np.where(x < 0, 0, x))
    assert np.isnan(relu[0]) and np.isnan(run("threshold_backward", x, np.ones_like(x), 0.0)[0])
    assert run("threshold_backward", np.ones_like(x), x, 0.0)[0] == 1  # NaN is not below the threshold
    assert np.isnan(run("gelu", x, "none")[0]) and run("gelu", x, "tanh")[1] == np.inf


@pytest.mark.parametrize("dtype", TYPES)
def test_exp_is_exact_to_a_unit(run: Run, dtype: str) -> None:
    if np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps:
        pytest.skip("needs a type wider than float64")
    limit = 88 if dtype == "float32" else 709
    x = np.random.default_rng(3).uniform(-limit, limit, 20000).astype(dtype)
    want = np.exp(x.astype(np.longdouble))
    error = np.abs(run("exp", x).astype(np.longdouble) - want) / np.spacing(want.astype(dtype))
    assert error.max() < 2.5


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ["relu", "sigmoid", "silu"])
def test_in_place(run: Run, dtype: str, op: str) -> None:
    x = _random((7, 33), dtype)
    y = x.copy()
    run(f"{op}_", y)
    np.testing.assert_allclose(y, run(op, x), rtol=1e-6)


# --- rows
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1,), (3, 10), (5, 33), (2, 3, 100), (4, 3000)])
def test_softmax(run: Run, dtype: str, shape: Any) -> None:
    x, g = _random(shape, dtype) * 5, _random(shape, dtype, 1)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    soft = e / e.sum(-1, keepdims=True)
    _close(run("_softmax", x, -1, False), soft, dtype)
    _close(run("_log_softmax", x, -1, False), np.log(soft), dtype, 40)
    y, log_y = soft.astype(dtype), np.log(soft).astype(dtype)
    _close(
        run("_softmax_backward_data", g, y, -1, None), y * (g - (g * y.astype(float)).sum(-1, keepdims=True)), dtype, 40
    )
    _close(
        run("_log_softmax_backward_data", g, log_y, -1, None),
        g - soft * g.astype(float).sum(-1, keepdims=True),
        dtype,
        80,
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [3, 40])
def test_softmax_of_what_is_not_finite(run: Run, value: float, n: int) -> None:
    x = np.zeros((3, n), "f")
    x[1, 1] = value
    x[2] = value
    got, log = run("_softmax", x, 1, False), run("_log_softmax", x, 1, False)
    assert np.isfinite(got[0]).all() and np.isnan(got[2]).all() and np.isnan(log[2]).all()
    assert np.isfinite(got[1]).all() if value == -np.inf else np.isnan(got[1]).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("affine", ["both", "weight", "none"])
@pytest.mark.parametrize(
    "shape, inner", [((4, 5), (5,)), ((70, 33), (33,)), ((2, 3, 4, 8), (4, 8)), ((3, 2000), (2000,))]
)
def test_layer_norm(run: Run, dtype: str, affine: str, shape: Any, inner: Any) -> None:
    x, g = _random(shape, dtype) + 3, _random(shape, dtype, 1)
    w = _random(inner, dtype, 2) if affine != "none" else None
    b = _random(inner, dtype, 3) if affine == "both" else None
    axes = tuple(range(-len(inner), 0))
    wide = x.astype(np.float64)
    mean, var = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    normal = (wide - mean) / np.sqrt(var + 1e-5)
    out, got_mean, rstd = run("native_layer_norm", x, inner, w, b, 1e-5)
    _close(out, normal * (1 if w is None else w) + (0 if b is None else b), dtype, 100)
    _close(got_mean, mean, dtype)
    _close(rstd, 1 / np.sqrt(var + 1e-5), dtype, 40)
    gx, gw, gb = run("native_layer_norm_backward", g, x, inner, got_mean, rstd, w, b, (True, True, True))
    slope = g * (1.0 if w is None else w.astype(np.float64))
    along = slope - slope.mean(axes, keepdims=True) - normal * (slope * normal).mean(axes, keepdims=True)
    _close(gx, along / np.sqrt(var + 1e-5), dtype, 200)
    lead = tuple(range(x.ndim - len(inner)))
    _close(gw, (g * normal).sum(lead), dtype, 400)
    _close(gb, g.astype(np.float64).sum(lead), dtype, 100)
    assert run("native_layer_norm_backward", g, x, inner, got_mean, rstd, w, b, (False, False, True))[:2] == (
        None,
        None,
    )


# --- sums
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 7, 31, 32, 1023, 1024, 1025, 70001, 300_000])
def test_sums_are_exact(run: Run, dtype: str, n: int) -> None:
    x = np.abs(_random(n, dtype))
    want = math.fsum(x)
    assert float(run("sum_over", x, None, False)) == pytest.approx(want, rel=8 * float(np.finfo(dtype).eps))
    rows = np.stack([x, -x])
    np.testing.assert_allclose(np.ravel(run("sum_over", rows, -1, True)), [want, -want], rtol=8 * np.finfo(dtype).eps)
    x[n // 2] = np.inf
    assert float(run("sum_over", x, None, False)) == np.inf


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_cumsum(run: Run, dtype: str, dim: int) -> None:
    x = _random((5, 70, 66), dtype)
    x[2, 3, 4] = np.inf
    with np.errstate(all="ignore"):
        _close(run("cumsum", x, dim, None), np.cumsum(x.astype(np.float64), dim), dtype, 200)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("index_type", ["int64", "int32"])
def test_embedding_backward(run: Run, dtype: str, index_type: str) -> None:
    index = np.random.default_rng(1).integers(0, 200, (7, 30)).astype(index_type)
    g = _random((7, 30, 12), dtype)
    want = np.zeros((200, 12))
    np.add.at(want, index.reshape(-1), g.reshape(-1, 12))
    want[3] = 0
    _close(run("embedding_dense_backward", g, index, 200, 3, False), want, dtype)


# --- copies
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize(
    "shape, order",
    [
        ((100, 37), (1, 0)),
        ((16, 16), (1, 0)),
        ((3, 50, 20), (0, 2, 1)),
        ((5, 50, 20), (2, 1, 0)),
        ((4, 5, 6, 7), (1, 3, 0, 2)),
        ((2, 3, 33, 18), (0, 1, 3, 2)),
        ((257, 130), (1, 0)),
    ],
)
def test_transposed_copies(run: Run, dtype: str, shape: Any, order: Any) -> None:
    view = np.arange(math.prod(shape)).astype(dtype).reshape(shape).transpose(order)
    got = run("contiguous_copy", view)
    assert got.flags.c_contiguous and got.dtype == dtype
    np.testing.assert_array_equal(got, view)
    into = np.zeros(view.shape, dtype)
    run("copy_", into, view, False)
    np.testing.assert_array_equal(into, view)


def test_a_copy_onto_itself_is_right() -> None:
    x = torch.arange(400.0).reshape(20, 20)
    want = x.t().clone()
    x.copy_(x.t())
    assert torch.equal(x, want)


# --- optimizers
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 9, 1000])
def test_mixtures(run: Run, dtype: str, n: int) -> None:
    x, a, b = _random(n, dtype), _random(n, dtype, 1), np.abs(_random(n, dtype, 2)) + 1
    wide = x.astype(np.float64)
    for op, args, want in (
        ("add_.Tensor", (a, 0.3), wide + a * 0.3),
        ("sub_.Tensor", (a, 0.3), wide - a * 0.3),
        ("addcmul_", (a, b, -0.7), wide - 0.7 * a * b),
        ("addcdiv_", (a, b, 0.7), wide + 0.7 * a / b),
        ("lerp_.Scalar", (a, 0.1), wide + 0.1 * (a - wide)),
        ("lerp_.Scalar", (a, 0.9), wide + 0.9 * (a - wide)),
    ):
        y = x.copy()
        run(op, y, *args)
        _close(y, want, dtype)


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
    p, g, m = (_random(300, dtype, i) for i in range(3))
    s, most = np.abs(_random(300, dtype, 3)), np.abs(_random(300, dtype, 4)) if amsgrad else None
    want = _adam(*(None if a is None else a.astype(np.float64) for a in (p, g, m, s, most)), decoupled, maximize)
    run("adam_step", p, g, m, s, most, 0.01, 0.02, 0.5, 0.9, 0.99, 0.1, 1e-8, maximize, decoupled)
    for got, expected in zip((p, m, s, *((most,) if amsgrad else ())), want):
        _close(got, expected, dtype, 64)


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
    p, g = _random(300, dtype), _random(300, dtype, 1)
    buffer = _random(300, dtype, 2) if momentum else None
    step = -g.astype(np.float64) + decay * p
    if buffer is not None:
        kept = step if first else buffer * float(momentum) + step * (1 - dampening)
        step = step + momentum * kept if nesterov else kept
    want = p - 0.1 * step
    run("sgd_step", p, g, buffer, decay, momentum, 0.1, dampening, nesterov, True, first)
    _close(p, want, dtype)
    if buffer is not None:
        _close(buffer, kept, dtype)


def test_without_decay_infinite_parameters_do_not_spread(run: Run) -> None:
    p, g, buffer = np.array([np.inf, 1], "f"), np.ones(2, "f"), np.zeros(2, "f")
    run("sgd_step", p, g, buffer, 0, 0.9, 0.1, 0, False, False, False)
    np.testing.assert_array_equal(buffer, [1, 1])


# --- losses and pooling
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", [1, 2])
def test_nll_loss(run: Run, dtype: str, weighted: bool, reduction: int) -> None:
    x, target = _random((50, 6), dtype), np.random.default_rng(2).integers(0, 6, 50)
    weight = np.abs(_random(6, dtype, 1)) if weighted else None
    each = np.where(target == 2, 0, 1.0 if weight is None else weight[target].astype(np.float64))
    total = each.sum() if reduction == 1 else 1
    loss, got_total = run("nll_loss_forward", x, target, weight, reduction, 2)
    assert float(loss) == pytest.approx(-(x[np.arange(50), target] * each).sum() / total, rel=1e-5)
    assert float(got_total) == pytest.approx(each.sum(), rel=1e-5)
    want = np.zeros((50, 6))
    want[np.arange(50), target] = -3 * each / total
    _close(
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
    x = np.round(_random((2, 3, 11, 13), dtype), 1)
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
    g = _random(values.shape, dtype, 1)
    want = np.zeros((6, 143))
    np.add.at(want, (np.arange(6)[:, None], positions.reshape(6, -1)), g.reshape(6, -1))
    _close(run("scatter_positions", g, positions, (2, 3, 11, 13), 2, True), want.reshape(x.shape), dtype)


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
    x = _random((2, 3, 9, 7), dtype)
    out = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip((9, 7), kernel, stride, padding, dilation)
    )
    (ph, pw), want = padding, np.zeros((2, 3, *kernel, *out))
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    for kh, kw, oh, ow in np.ndindex(*kernel, *out):
        want[:, :, kh, kw, oh, ow] = padded[:, :, oh * stride[0] + kh * dilation[0], ow * stride[1] + kw * dilation[1]]
    columns = run("unroll", x, kernel, out, stride, padding, dilation, batch_inside)
    np.testing.assert_array_equal(columns, want.transpose(1, 2, 3, 0, 4, 5) if batch_inside else want)
    g = _random((2, 3, math.prod(kernel), math.prod(out)), dtype, 1)
    spread = np.zeros(padded.shape)
    for (kh, kw, oh, ow), share in zip(np.ndindex(*kernel, *out), g.reshape(2, 3, -1).transpose(2, 0, 1)):
        spread[:, :, oh * stride[0] + kh * dilation[0], ow * stride[1] + kw * dilation[1]] += share
    _close(
        run("fold", g, (9, 7), kernel, out, stride, padding, dilation), spread[:, :, ph : ph + 9, pw : pw + 7], dtype
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_of_attention(run: Run, dtype: str) -> None:
    x = _random((3, 5, 40), dtype)
    x[1, 2], x[0, 0, 3] = -np.inf, -np.inf
    got = x.copy()
    sums, tops = run("exp_rows", got)
    want_tops = np.where(np.isneginf(x).all(-1, keepdims=True), 0, x.max(-1, keepdims=True))
    np.testing.assert_array_equal(tops, want_tops)
    want = np.exp(x.astype(np.float64) - want_tops)
    _close(got, want, dtype)
    _close(sums, np.where(want.sum(-1, keepdims=True) == 0, 1, want.sum(-1, keepdims=True)), dtype)


# --- what is declined, and threads
needs_native = pytest.mark.skipif(not _native._kernels, reason="no native kernels")


@needs_native
def test_every_name_in_the_table_exists() -> None:
    assert {*_native.OPS.values(), *_native.DIRECT.values(), *HELPERS} == set(_native._kernels.NAMES)
    for op in _native.OPS:
        assert isinstance(_registered(op), _native._kernels.Kernel), op
    assert all(isinstance(f, _native._kernels.Kernel) for f in HELPERS.values())
    assert all(isinstance(DIRECT[op], _native._kernels.Kernel) for op in _native.DIRECT)


@needs_native
@pytest.mark.parametrize(
    "array",
    [
        np.ones((4, 4), "f")[:, ::2],
        np.ones(4, "e"),
        np.ones(4, ">f4"),
        np.ones(4, "i"),
        1.0,
        [1.0],
        None,
        np.ones(4, "f").view(np.recarray),
        np.frombuffer(b"\0" * 9, "f", 2, 1),
    ],
    ids=str,
)
def test_declines(array: Any) -> None:
    kernel = _native._kernels.Kernel
    for name in _native._kernels.NAMES:
        arguments = [array] * 14
        assert kernel(name, lambda *a: "declined")(*arguments) == "declined", name
    assert kernel("relu", lambda *a, **k: "declined")(self=array) == "declined"
    assert kernel("relu_", lambda a: "declined")(np.frombuffer(b"\0" * 8, "f")) == "declined"  # cannot be written


@needs_native
def test_overlapping_operands_are_declined() -> None:
    x = np.arange(9, dtype="f")
    assert _native._kernels.Kernel("add_", lambda *a: "declined")(x[1:], x[:-1], 2.0) == "declined"
    assert _native._kernels.Kernel("add_", _refuse)(x, x, 2.0) is None
    np.testing.assert_array_equal(x, np.arange(9) * 3)


@needs_native
def test_kernel_objects() -> None:
    kernel = _native._kernels.Kernel("relu", abs)
    assert kernel.__wrapped__ is abs and kernel.__name__ == "relu" and "relu" in repr(kernel)
    with pytest.raises(LookupError, match="no native kernel nothing"):
        _native._kernels.Kernel("nothing", abs)
    with pytest.raises(TypeError):
        _native._kernels.Kernel("relu", 1)
    with pytest.raises(ValueError, match="positive"):
        _native._kernels.set_num_threads(0)


@pytest.fixture
def threads() -> Any:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def _much() -> list[Any]:
    x = torch.from_numpy(_random((600, 700), "float32"))
    w = torch.ones(700)
    return [
        torch.nn.functional.gelu(x),
        x.softmax(-1),
        x.sum(),
        x.sum(-1),
        x.cumsum(0),
        x.t().contiguous(),
        *torch.native_layer_norm(x, [700], w, w, 1e-5),
        torch.nn.functional.max_pool2d(x[None], 2),
        *_adam_steps(x),
    ]


def _adam_steps(start: Any) -> list[Any]:
    parameter = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([parameter], fused=True, weight_decay=0.1)
    for _ in range(2):
        parameter.grad = parameter.detach() * 2
        optimizer.step()
    return [parameter.detach(), *(v for v in optimizer.state[parameter].values())]


@pytest.mark.skipif(
    not _native.available(), reason="without native kernels sums are BLAS's, which rounds by its number of threads"
)
def test_results_do_not_depend_on_threads(threads: Any) -> None:
    threads(1)
    alone = _much()
    for count in (2, 3, 7):
        threads(count)
        assert all(torch.equal(a, b) for a, b in zip(alone, _much()))


def test_many_python_threads_at_once(threads: Any) -> None:
    threads(2)
    want, wrong = _much(), []

    def work() -> None:
        for _ in range(5):
            if not all(torch.equal(a, b) for a, b in zip(want, _much())):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


# --- sorting
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("shape", [(1,), (3, 7), (2, 48), (2, 49), (1, 5000), (3, 2, 300)], ids=str)
def test_sort_lines(run: Run, shape: tuple[int, ...], falling: bool, dtype: str) -> None:
    """By hand: equal elements stay in their order, both zeros are equal, NaN is the greatest."""
    x = (_random(shape, "float64") * 40).astype(dtype)  # whole numbers come more than once
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
    part = _random((5, 30), dtype)[:, 10:20]
    rest = [_random((5, 30), dtype, 1)[:, 20:]] if op.endswith("backward") else []
    got = run(op, part, *rest)
    np.testing.assert_array_equal(got, run(op, part.copy(), *(r.copy() for r in rest)))
    assert got.flags.c_contiguous


@pytest.mark.parametrize("op", ["relu_", "sigmoid_", "silu_"])
def test_columns_of_a_matrix_in_place(run: Run, op: str) -> None:
    whole = _random((5, 30), "float32")
    want = whole.copy()
    part = want[:, 10:20].copy()
    run(op, part)
    want[:, 10:20] = part
    run(op, whole[:, 10:20])
    np.testing.assert_array_equal(whole, want)
