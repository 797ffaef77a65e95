"""The native kernels and the numpy kernels behind them give the same answers; both are tested the same way."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native
from mindtorch_v2._dispatch.registry import DIRECT

from .kernel_runs import HELPERS, TYPES, Run, close, random_array, refuse, registered

SIZES = [0, 1, 2, 7, 8, 31, 33, 1023, 1025, 5000]
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 88.8, -88.8, 104, -104, 750, -750, 1, -1])


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
    "leaky_relu": ((0.1,), lambda x: np.where(x > 0, x, 0.1 * x)),
    "hardtanh": ((-0.5, 0.25), lambda x: np.clip(x, -0.5, 0.25)),
    "hardswish": ((), lambda x: x * np.clip(x + 3, 0, 6) / 6),
}
SLOPES: dict[str, tuple[tuple[Any, ...], Callable[[Any], Any]]] = {
    "threshold_backward": ((0.5,), lambda x: x > 0.5),
    "sigmoid_backward": ((), lambda y: y * (1 - y)),
    "tanh_backward": ((), lambda y: 1 - y * y),
    "silu_backward": ((), lambda x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x)))),
    "gelu_backward": (("none",), lambda x: _phi(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
    "leaky_relu_backward": ((0.1, False), lambda x: np.where(x > 0, 1, 0.1)),
    "hardtanh_backward": ((-0.5, 0.25), lambda x: (x > -0.5) & (x < 0.25)),
    "hardswish_backward": ((), lambda x: np.where(x <= -3, 0, np.where(x < 3, x / 3 + 0.5, 1))),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_activations(run: Run, dtype: str, n: int) -> None:
    x = random_array(n, dtype)
    wide = x.astype(np.float64)
    for op, (args, formula) in FORWARD.items():
        close(run(op, x, *args), formula(wide), dtype)
    close(run("gelu", x, "tanh"), wide * _tanh_gate(wide), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (5, 7), (3, 400)])
def test_gradients_of_activations(run: Run, dtype: str, shape: Any) -> None:
    x, g = random_array(shape, dtype), random_array(shape, dtype, 1)
    wide = x.astype(np.float64)
    for op, (args, slope) in SLOPES.items():
        close(run(op, g, x, *args), g * slope(wide), dtype)
    close(run("gelu_backward", g, x, "tanh"), g * _tanh_gelu_slope(wide), dtype, units=64)


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
    x = random_array((7, 33), dtype)
    y = x.copy()
    run(f"{op}_", y)
    np.testing.assert_allclose(y, run(op, x), rtol=1e-6)


# --- rows
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1,), (3, 10), (5, 33), (2, 3, 100), (4, 3000)])
def test_softmax(run: Run, dtype: str, shape: Any) -> None:
    x, g = random_array(shape, dtype) * 5, random_array(shape, dtype, 1)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    soft = e / e.sum(-1, keepdims=True)
    close(run("_softmax", x, -1, False), soft, dtype)
    close(run("_log_softmax", x, -1, False), np.log(soft), dtype, 40)
    y, log_y = soft.astype(dtype), np.log(soft).astype(dtype)
    close(
        run("_softmax_backward_data", g, y, -1, None), y * (g - (g * y.astype(float)).sum(-1, keepdims=True)), dtype, 40
    )
    close(
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
    x, g = random_array(shape, dtype) + 3, random_array(shape, dtype, 1)
    w = random_array(inner, dtype, 2) if affine != "none" else None
    b = random_array(inner, dtype, 3) if affine == "both" else None
    axes = tuple(range(-len(inner), 0))
    wide = x.astype(np.float64)
    mean, var = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    normal = (wide - mean) / np.sqrt(var + 1e-5)
    out, got_mean, rstd = run("native_layer_norm", x, inner, w, b, 1e-5)
    close(out, normal * (1 if w is None else w) + (0 if b is None else b), dtype, 100)
    close(got_mean, mean, dtype)
    close(rstd, 1 / np.sqrt(var + 1e-5), dtype, 40)
    gx, gw, gb = run("native_layer_norm_backward", g, x, inner, got_mean, rstd, w, b, (True, True, True))
    slope = g * (1.0 if w is None else w.astype(np.float64))
    along = slope - slope.mean(axes, keepdims=True) - normal * (slope * normal).mean(axes, keepdims=True)
    close(gx, along / np.sqrt(var + 1e-5), dtype, 200)
    lead = tuple(range(x.ndim - len(inner)))
    close(gw, (g * normal).sum(lead), dtype, 400)
    close(gb, g.astype(np.float64).sum(lead), dtype, 100)
    assert run("native_layer_norm_backward", g, x, inner, got_mean, rstd, w, b, (False, False, True))[:2] == (
        None,
        None,
    )


# --- sums
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 7, 31, 32, 1023, 1024, 1025, 70001, 300_000])
def test_sums_are_exact(run: Run, dtype: str, n: int) -> None:
    x = np.abs(random_array(n, dtype))
    want = math.fsum(x)
    assert float(run("sum_over", x, None, False)) == pytest.approx(want, rel=8 * float(np.finfo(dtype).eps))
    rows = np.stack([x, -x])
    np.testing.assert_allclose(np.ravel(run("sum_over", rows, -1, True)), [want, -want], rtol=8 * np.finfo(dtype).eps)
    x[n // 2] = np.inf
    assert float(run("sum_over", x, None, False)) == np.inf


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_cumsum(run: Run, dtype: str, dim: int) -> None:
    x = random_array((5, 70, 66), dtype)
    x[2, 3, 4] = np.inf
    with np.errstate(all="ignore"):
        close(run("cumsum", x, dim, None), np.cumsum(x.astype(np.float64), dim), dtype, 200)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("index_type", ["int64", "int32"])
def test_embedding_backward(run: Run, dtype: str, index_type: str) -> None:
    index = np.random.default_rng(1).integers(0, 200, (7, 30)).astype(index_type)
    g = random_array((7, 30, 12), dtype)
    want = np.zeros((200, 12))
    np.add.at(want, index.reshape(-1), g.reshape(-1, 12))
    want[3] = 0
    close(run("embedding_dense_backward", g, index, 200, 3, False), want, dtype)


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
    x, a, b = random_array(n, dtype), random_array(n, dtype, 1), np.abs(random_array(n, dtype, 2)) + 1
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
        close(y, want, dtype)


# --- what is declined, and threads
needs_native = pytest.mark.skipif(not _native._kernels, reason="no native kernels")


@needs_native
def test_every_name_in_the_table_exists() -> None:
    assert {*_native.OPS.values(), *_native.DIRECT.values(), *HELPERS} == set(_native._kernels.NAMES)
    for op in _native.OPS:
        assert isinstance(registered(op), _native._kernels.Kernel), op
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
    assert _native._kernels.Kernel("add_", refuse)(x, x, 2.0) is None
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
    x = torch.from_numpy(random_array((600, 700), "float32"))
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
