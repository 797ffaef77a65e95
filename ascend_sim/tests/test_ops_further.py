"""Operators of recurrent, convolutional and other models beyond the minimal table: values against numpy, and what
they refuse.
"""

from __future__ import annotations

import ctypes as C
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from simlib import BOOL, FLOAT, FLOAT16, INT32, INT64, INVALID_PARAM, NULL_PARAM, OK, Sim


def normal(shape: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def result(sim: Sim, name: str, *before: Any, shape: Any, dtype: int = FLOAT) -> np.ndarray:
    """Runs an operator whose last argument is its only output."""
    out = sim.buffer(tuple(shape), dtype)
    sim.run(name, *before, out)
    return out.read()


# --- elementwise ----------------------------------------------------------------------------------------------------
UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Round": np.rint, "Trunc": np.trunc, "Frac": lambda x: x - np.trunc(x), "Exp2": np.exp2, "Tan": np.tan, "Sinh": np.sinh,
    "Cosh": np.cosh, "Asinh": np.arcsinh, "Atan": np.arctan, "Hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "Hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6, "Mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "Erfc": lambda x: 1 - np.vectorize(math.erf)(x),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary(sim: Sim, name: str) -> None:
    x = normal((6, 5)) * 2
    np.testing.assert_allclose(result(sim, name, sim.upload(x), shape=x.shape), UNARY[name](x), rtol=2e-5, atol=1e-6)


def test_functions_of_the_unit_interval(sim: Sim) -> None:
    x = np.linspace(-0.999, 0.999, 41, dtype=np.float32)
    for name, function in (("Asin", np.arcsin), ("Acos", np.arccos), ("Atanh", np.arctanh)):
        np.testing.assert_allclose(result(sim, name, sim.upload(x), shape=x.shape), function(x), rtol=1e-5, atol=1e-6)
    inverse = result(sim, "Erfinv", sim.upload(x), shape=x.shape)
    np.testing.assert_allclose(np.vectorize(math.erf)(inverse.astype(np.float64)), x, rtol=1e-5, atol=1e-6)
    edges = result(sim, "Erfinv", sim.upload(np.array([-1, 1, 2], np.float32)), shape=(3,))
    assert edges[0] == -np.inf and edges[1] == np.inf and np.isnan(edges[2])


def test_divisions(sim: Sim) -> None:
    a, b = np.array([7, -7, 7, -7, 6]), np.array([2, 2, -2, -2, 0])
    left, right = sim.upload(a), sim.upload(b)
    floored = result(sim, "FloorDivide", left, right, shape=(5,), dtype=INT64)
    np.testing.assert_array_equal(floored[:4], a[:4] // b[:4])
    np.testing.assert_array_equal(
        result(sim, "RemainderTensorTensor", left, right, shape=(5,), dtype=INT64)[:4], a[:4] % b[:4]
    )
    np.testing.assert_array_equal(
        result(sim, "FmodTensor", left, right, shape=(5,), dtype=INT64)[:4], np.fmod(a[:4], b[:4])
    )
    np.testing.assert_array_equal(result(sim, "DivMod", left, right, 1, shape=(5,), dtype=INT64)[:4], [3, -3, -3, 3])
    x = normal((9,)) * 5
    np.testing.assert_allclose(
        result(sim, "RemainderTensorScalar", sim.upload(x), 0.7, shape=(9,)), np.mod(x, np.float32(0.7)), atol=1e-5
    )
    np.testing.assert_allclose(
        result(sim, "DivMods", sim.upload(x), 0.7, 2, shape=(9,)), np.floor_divide(x, np.float32(0.7))
    )


def test_activations_with_scalars_and_their_gradients(sim: Sim) -> None:
    x, g = normal((5, 4)) * 2, normal((5, 4), 1)
    given, grad = sim.upload(x), sim.upload(g)
    soft = np.where(x * 2 > 3, x, np.log1p(np.exp(2 * x)) / 2)
    np.testing.assert_allclose(result(sim, "Softplus", given, 2.0, 3.0, shape=x.shape), soft, rtol=1e-5, atol=1e-6)
    slope = np.where(x * 2 > 3, g, g / (1 + np.exp(-2 * x)))
    np.testing.assert_allclose(
        result(sim, "SoftplusBackward", grad, given, 2.0, 3.0, shape=x.shape), slope, rtol=1e-5, atol=1e-6
    )
    bent = np.where(x > 0, x * 3, 3 * 0.5 * np.expm1(2 * x))
    np.testing.assert_allclose(result(sim, "Elu", given, 0.5, 3.0, 2.0, shape=x.shape), bent, rtol=1e-5, atol=1e-5)
    of_result = np.where(bent > 0, g * 3, g * 2 * (bent + 0.5 * 3))
    for is_result, operand, expected in (
        (True, bent, of_result),
        (False, x, np.where(x > 0, g * 3, g * 3 * np.exp(2 * x))),
    ):
        found = result(sim, "EluBackward", grad, 0.5, 3.0, 2.0, is_result, sim.upload(operand), shape=x.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        result(sim, "HardtanhBackward", grad, given, -1.0, 1.0, shape=x.shape), np.where(abs(x) < 1, g, 0)
    )
    np.testing.assert_array_equal(
        result(sim, "Threshold", given, 0.1, 20.0, shape=x.shape), np.where(x <= np.float32(0.1), 20, x)
    )


# --- reductions, order, selection -----------------------------------------------------------------------------------
def test_statistics(sim: Sim) -> None:
    x = normal((4, 5, 3))
    given = sim.upload(x)
    np.testing.assert_allclose(
        result(sim, "VarCorrection", given, [1], 1, False, shape=(4, 3)), x.var(1, ddof=1), rtol=1e-5
    )
    np.testing.assert_allclose(
        result(sim, "Std", given, [0, 2], 0, True, shape=(1, 5, 1)), x.std((0, 2), keepdims=True), rtol=1e-5
    )
    spread, mean = sim.buffer((5, 3)), sim.buffer((5, 3))
    sim.run("VarMean", given, [0], 1, False, spread, mean)
    np.testing.assert_allclose(spread.read(), x.var(0, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(mean.read(), x.mean(0), rtol=1e-5, atol=1e-6)
    for order in (0, 1, 2, 3, np.inf, -np.inf):
        found = result(sim, "LinalgVectorNorm", given, float(order), [1], False, FLOAT, shape=(4, 3))
        np.testing.assert_allclose(found, np.linalg.norm(x, order, 1), rtol=1e-4)
    np.testing.assert_allclose(result(sim, "ProdDim", given, 1, False, FLOAT, shape=(4, 3)), x.prod(1), rtol=1e-5)
    np.testing.assert_allclose(result(sim, "Cumprod", given, 2, FLOAT, shape=x.shape), x.cumprod(2), rtol=1e-5)


def test_sorting(sim: Sim) -> None:
    x = np.array([[3.0, np.nan, -1.0, 3.0], [0.0, 2.0, 2.0, -5.0]], np.float32)
    values, places = sim.buffer((2, 4)), sim.buffer((2, 4), INT64)
    sim.run("Sort", sim.upload(x), True, 1, False, values, places)
    np.testing.assert_array_equal(values.read(), np.sort(x, 1))
    np.testing.assert_array_equal(places.read(), [[2, 0, 3, 1], [3, 0, 1, 2]])
    sim.run("Sort", sim.upload(x), True, -1, True, values, places)
    np.testing.assert_array_equal(places.read(), [[1, 0, 3, 2], [1, 2, 0, 3]])
    top, where = sim.buffer((1, 4)), sim.buffer((1, 4), INT64)
    sim.run("Topk", sim.upload(x), 1, 0, False, True, top, where)
    np.testing.assert_array_equal(top.read(), [[0, 2, -1, -5]])
    sequence = sim.upload(np.array([1.0, 2.0, 2.0, 5.0], np.float32))
    wanted = sim.upload(np.array([[0.0, 2.0], [9.0, 3.0]], np.float32))
    np.testing.assert_array_equal(result(sim, "SearchSorted", sequence, wanted, False, False, None, shape=(2, 2), dtype=INT64),
                                  [[0, 1], [4, 3]])  # fmt: skip
    np.testing.assert_array_equal(result(sim, "SearchSorted", sequence, wanted, True, True, None, shape=(2, 2), dtype=INT32),
                                  [[0, 3], [4, 3]])  # fmt: skip


def test_results_of_unknown_size_tell_the_client_their_shape(sim: Sim) -> None:
    x = np.array([[0, 5, 0], [7, 0, 8]])
    given, room = sim.upload(x), sim.buffer((6, 2), INT64)
    tensor, out = sim.tensor(given), sim.tensor(room)
    size, executor, dims, rank = C.c_uint64(), C.c_void_p(), C.POINTER(C.c_int64)(), C.c_uint64()
    assert (
        sim.lib.aclnnNonzeroGetWorkspaceSize(C.c_void_p(tensor), C.c_void_p(out), C.byref(size), C.byref(executor))
        == OK
    )
    sim.check(sim.lib.aclnnNonzero(None, C.c_uint64(0), executor, None))
    sim.sync()
    sim.check(sim.lib.aclGetViewShape(C.c_void_p(out), C.byref(dims), C.byref(rank)))
    assert [dims[i] for i in range(rank.value)] == [3, 2]
    np.testing.assert_array_equal(room.read()[:3], [[0, 1], [1, 0], [1, 2]])
    for handle in (tensor, out):
        sim.check(sim.lib.aclDestroyTensor(C.c_void_p(handle)))
    turned = result(sim, "NonzeroV2", given, shape=(2, 6), dtype=INT64).reshape(-1)[:6]
    np.testing.assert_array_equal(turned.reshape(2, 3), np.nonzero(x))
    chosen = result(sim, "MaskedSelect", given, sim.upload(x > 5), shape=(6,), dtype=INT64)
    np.testing.assert_array_equal(chosen[:2], [7, 8])


def test_masked_scatter_and_index_add(sim: Sim) -> None:
    target, mask = sim.upload(np.zeros((2, 3), np.float32)), sim.upload(np.array([True, False, True]))
    sim.run("InplaceMaskedScatter", target, mask, sim.upload(np.arange(1.0, 5.0, dtype=np.float32)))
    np.testing.assert_array_equal(target.read(), [[1, 0, 2], [3, 0, 4]])
    x, extra = normal((4, 3)), normal((2, 3), 1)
    expected = x.copy()
    np.add.at(expected, [1, 1], 2 * extra)
    found = result(
        sim, "IndexAdd", sim.upload(x), 0, sim.upload(np.array([1, 1])), sim.upload(extra), 2.0, shape=(4, 3)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_too_few_values_and_bad_places_are_faults_of_the_kernel(sim: Sim) -> None:
    cases: list[tuple[str, Callable[[], tuple[Any, ...]]]] = [
        ("InplaceMaskedScatter", lambda: (sim.buffer((4,)), sim.upload(np.ones(4, bool)), sim.upload(np.ones(2, np.float32)))),
        ("IndexAdd", lambda: (sim.buffer((3,)), 0, sim.upload(np.array([3])), sim.buffer((1,)), 1.0, sim.buffer((3,)))),
        ("AdaptiveMaxPool2dBackward", lambda: (sim.buffer((1, 1, 1)), sim.buffer((1, 2, 2)), sim.upload(np.full((1, 1, 1), 4)),
                                               sim.buffer((1, 2, 2)))),
    ]  # fmt: skip
    for name, values in cases:
        sim.launch(name, *values())
        assert sim.lib.aclrtSynchronizeStream(None) == 507015, name
        sim.lib.aclrtResetDevice(0)
        sim.check(sim.lib.aclrtSetDevice(0))
        sim.message()


# --- creation -------------------------------------------------------------------------------------------------------
def test_creation(sim: Sim) -> None:
    np.testing.assert_allclose(
        result(sim, "Linspace", -1.0, 2.0, 7, shape=(7,)), np.linspace(-1, 2, 7), rtol=1e-6, atol=1e-7
    )
    np.testing.assert_array_equal(result(sim, "Eye", 2, 3, shape=(2, 3), dtype=FLOAT16), np.eye(2, 3))
    order = result(sim, "Randperm", 50, 3, 0, shape=(50,), dtype=INT64)
    assert sorted(order) == list(range(50))
    np.testing.assert_array_equal(order, result(sim, "Randperm", 50, 3, 0, shape=(50,), dtype=INT64))
    drawn = sim.buffer((400,), INT64)
    sim.run("InplaceRandom", drawn, -2, 3, 5, 0)
    assert set(drawn.read()) == {-2, -1, 0, 1, 2}
    chosen = result(
        sim, "Multinomial", sim.upload(np.array([0, 1, 2, 0, 3], np.float32)), 3, False, 1, 0, shape=(3,), dtype=INT64
    )
    assert sorted(chosen) == [1, 2, 4]


# --- pooling, resizing, padding -------------------------------------------------------------------------------------
def test_average_pooling(sim: Sim) -> None:
    x = normal((2, 4, 6))
    windows = x.reshape(2, 2, 2, 3, 2)
    pooled = result(sim, "AvgPool2d", sim.upload(x), [2, 2], [], [0, 0], False, True, 0, 0, shape=(2, 2, 3))
    np.testing.assert_allclose(pooled, windows.mean((2, 4)), rtol=1e-5, atol=1e-6)
    ones = sim.upload(np.ones((1, 3, 3), np.float32))
    padded = result(sim, "AvgPool2d", ones, [3], [2], [1], False, True, 0, 0, shape=(1, 2, 2))
    np.testing.assert_allclose(padded, np.full((1, 2, 2), 4 / 9), rtol=1e-6)
    inside = result(sim, "AvgPool2d", ones, [3], [2], [1], False, False, 0, 0, shape=(1, 2, 2))
    np.testing.assert_allclose(inside, np.ones((1, 2, 2)))
    back = result(sim, "AvgPool2dBackward", sim.upload(np.ones((1, 2, 2), np.float32)), ones, [3], [2], [1], False, False, 0, 0,
                  shape=(1, 3, 3))  # fmt: skip
    np.testing.assert_allclose(back, np.array([[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]) / 4)
    adaptive = result(sim, "AdaptiveAvgPool2d", sim.upload(x), [2, 4], shape=(2, 2, 4))
    np.testing.assert_allclose(adaptive[:, 0, 1], x[:, :2, 1:3].mean((1, 2)), rtol=1e-5, atol=1e-6)
    largest, places = sim.buffer((2, 1, 1)), sim.buffer((2, 1, 1), INT64)
    sim.run("AdaptiveMaxPool2d", sim.upload(x), [1, 1], largest, places)
    np.testing.assert_array_equal(places.read().ravel(), x.reshape(2, -1).argmax(1))


def test_resizing_and_padding(sim: Sim) -> None:
    row = sim.upload(np.array([[[0.0, 1.0, 4.0]]], np.float32))
    np.testing.assert_array_equal(
        result(sim, "UpsampleNearest1dV2", row, [6], 2.0, shape=(1, 1, 6)).ravel(), [0, 0, 1, 1, 4, 4]
    )
    np.testing.assert_allclose(
        result(sim, "UpsampleLinear1d", row, [5], True, 0.0, shape=(1, 1, 5)).ravel(), [0, 0.5, 1, 2.5, 4]
    )
    halves = result(sim, "UpsampleLinear1d", row, [6], False, 2.0, shape=(1, 1, 6)).ravel()
    np.testing.assert_allclose(halves, [0, 0.25, 0.75, 1.75, 3.25, 4])
    grad = sim.upload(np.ones((1, 1, 6), np.float32))
    back = result(sim, "UpsampleLinear1dBackward", grad, [6], [1, 1, 3], False, 2.0, shape=(1, 1, 3)).ravel()
    np.testing.assert_allclose(back, [2, 2, 2])
    x = normal((2, 3, 4, 5))
    padded = np.pad(x, ((0, 0), (0, 0), (2, 1), (1, 2)), mode="reflect")
    np.testing.assert_array_equal(
        result(sim, "ReflectionPad2d", sim.upload(x), [1, 2, 2, 1], shape=padded.shape), padded
    )
    edges = np.pad(x, ((0, 0), (0, 0), (2, 1), (1, 2)), mode="edge")
    np.testing.assert_array_equal(
        result(sim, "ReplicationPad2d", sim.upload(x), [1, 2, 2, 1], shape=edges.shape), edges
    )
    counts = result(
        sim,
        "ReplicationPad1dBackward",
        sim.upload(np.ones((1, 6), np.float32)),
        sim.buffer((1, 3)),
        [1, 2],
        shape=(1, 3),
    )
    np.testing.assert_array_equal(counts, [[2, 1, 3]])
    columns = result(sim, "Im2col", sim.upload(x), [2, 2], [1, 1], [0, 0], [2, 3], shape=(2, 12, 4))
    np.testing.assert_array_equal(columns[1, 4:8, 3], x[1, 1, 2:4, 3:5].ravel())
    again = result(sim, "Im2colBackward", sim.upload(columns), [4, 5], [2, 2], [1, 1], [0, 0], [2, 3], shape=x.shape)
    np.testing.assert_array_equal(again[..., [0, 1, 3, 4]], x[..., [0, 1, 3, 4]])


# --- normalization and losses ---------------------------------------------------------------------------------------
def test_group_norm(sim: Sim) -> None:
    x, gamma, beta, g = normal((2, 6, 5)), normal((6,), 1), normal((6,), 2), normal((2, 6, 5), 3)
    rows = x.reshape(2, 3, 10)
    mean, rstd = rows.mean(2), 1 / np.sqrt(rows.var(2) + 1e-5)
    hat = ((rows - mean[..., None]) * rstd[..., None]).reshape(x.shape)
    out, means, rstds = sim.buffer(x.shape), sim.buffer((2, 3)), sim.buffer((2, 3))
    sim.run("GroupNorm", sim.upload(x), sim.upload(gamma), sim.upload(beta), 2, 6, 5, 3, 1e-5, out, means, rstds)
    np.testing.assert_allclose(out.read(), hat * gamma[:, None] + beta[:, None], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(rstds.read(), rstd, rtol=1e-5)
    dx, dgamma, dbeta = sim.buffer(x.shape), sim.buffer((6,)), sim.buffer((6,))
    sim.run(
        "GroupNormBackward",
        sim.upload(g),
        sim.upload(x),
        means,
        rstds,
        sim.upload(gamma),
        2,
        6,
        5,
        3,
        [True] * 3,
        dx,
        dgamma,
        dbeta,
    )
    np.testing.assert_allclose(dgamma.read(), (g * hat).sum((0, 2)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dbeta.read(), g.sum((0, 2)), rtol=1e-4, atol=1e-5)
    u, h = (g * gamma[:, None]).reshape(rows.shape), hat.reshape(rows.shape)
    expected = rstd[..., None] * (u - u.mean(2, keepdims=True) - h * (u * h).mean(2, keepdims=True))
    np.testing.assert_allclose(dx.read(), expected.reshape(x.shape), rtol=1e-4, atol=1e-5)


def test_losses(sim: Sim) -> None:
    x, y, w = (np.random.default_rng(i).uniform(0.1, 0.9, (4, 3)).astype(np.float32) for i in range(3))
    a, b = sim.upload(x), sim.upload(y)
    entropy = -w * (y * np.log(x) + (1 - y) * np.log1p(-x))
    np.testing.assert_allclose(
        result(sim, "BinaryCrossEntropy", a, b, sim.upload(w), 0, shape=(4, 3)), entropy, rtol=1e-5
    )
    np.testing.assert_allclose(
        result(sim, "BinaryCrossEntropy", a, b, sim.upload(w), 1, shape=()), entropy.mean(), rtol=1e-5
    )
    slope = w * (x - y) / (x * (1 - x)) / 12
    one = sim.upload(np.float32(1))
    np.testing.assert_allclose(
        result(sim, "BinaryCrossEntropyBackward", one, a, b, sim.upload(w), 1, shape=(4, 3)), slope, rtol=1e-4
    )
    d = abs(x - y)
    smooth = np.where(d < 0.2, d * d / 0.4, d - 0.1)
    np.testing.assert_allclose(result(sim, "SmoothL1Loss", a, b, 2, 0.2, shape=()), smooth.sum(), rtol=1e-5)
    back = result(sim, "SmoothL1LossBackward", one, a, b, 2, 0.2, shape=(4, 3))
    np.testing.assert_allclose(back, np.clip((x - y) / np.float32(0.2), -1, 1), rtol=1e-4)
    scores, labels = normal((2, 3, 2, 2)), np.array([[[0, 1], [2, 1]], [[1, 1], [0, 2]]])
    loss, total = sim.buffer(()), sim.buffer(())
    sim.run(
        "NLLLoss2d", sim.upload(scores), sim.upload(labels), sim.upload(np.ones(3, np.float32)), 1, -100, loss, total
    )
    picked = np.take_along_axis(scores, labels[:, None], 1)
    np.testing.assert_allclose(loss.read(), -picked.mean(), rtol=1e-5)
    assert total.read() == 8


# --- what phase 1 refuses -------------------------------------------------------------------------------------------
def _refused(sim: Sim) -> list[tuple[Any, ...]]:
    b = sim.buffer
    return [
        ("FloorDivide", b((2,)), b((3,)), b((3,))), ("DivMod", b((2,)), b((2,)), 3, b((2,))), ("BitwiseNot", b((2,)), b((2,))),
        ("Softplus", b((2,), INT64), 1.0, 1.0, b((2,), INT64)), ("GeluV2", b((2,)), 2, b((2,))),
        ("Prod", b((2,)), INT64, b(())), ("ProdDim", b((2, 3)), 2, False, FLOAT, b((2,))),
        ("VarCorrection", b((2, 3)), [0, 0], 1, False, b((3,))), ("Std", b((2,), INT64), [0], 1, False, b((), INT64)),
        ("LinalgVectorNorm", b((2, 3)), 2.0, [1], False, FLOAT, b((3,))), ("Cumprod", b((2,)), 1, FLOAT, b((2,))),
        ("Sort", b((2,)), True, 0, False, b((2,)), b((2,), INT32)), ("Sort", b((2,)), True, 1, False, b((2,)), b((2,), INT64)),
        ("Topk", b((2,)), 3, 0, True, True, b((3,)), b((3,), INT64)),
        ("SearchSorted", b((4,)), b((2,)), False, False, None, b((2,), INT32)),
        ("Nonzero", b((2, 3)), b((5, 2), INT64)), ("MaskedSelect", b((4,)), b((4,)), b((4,))),
        ("MaskedSelect", b((4,)), b((4,), BOOL), b((3,))), ("InplaceMaskedScatter", b((4,)), b((2, 4), BOOL), b((4,))),
        ("IndexAdd", b((4, 3)), 0, b((2,), INT64), b((3, 3)), 1.0, b((4, 3))), ("IndexAdd", b((4,)), 0, b((2,)), b((2,)), 1.0, b((4,))),
        ("Linspace", 0.0, 1.0, 4, b((5,))), ("Eye", 2, 2, b((2, 3))), ("InplaceRandom", b((2,), INT64), 3, 3, 0, 0),
        ("Randperm", 4, 0, 0, b((5,), INT64)), ("Multinomial", b((3,)), 4, False, 0, 0, b((4,), INT64)),
        ("AvgPool2d", b((1, 4, 4)), [2, 2], [2, 2], [0, 0], False, True, 0, 0, b((1, 3, 3))),
        ("AvgPool2d", b((1, 4, 4)), [2, 2], [2, 2], [2, 2], False, True, 0, 0, b((1, 4, 4))),
        ("AvgPool2d", b((4, 4)), [2, 2], [2, 2], [0, 0], False, True, 0, 0, b((2, 2))),
        ("AdaptiveAvgPool2d", b((1, 4, 4)), [2, 2], b((1, 2, 3))), ("AdaptiveMaxPool3d", b((1, 4, 4, 4)), [2, 2], b((1, 4, 2, 2)),
                                                                    b((1, 4, 2, 2), INT32)),
        ("MaxPool3dWithArgmax", b((1, 4, 4, 4)), [2], [2], [0], [1], False, b((1, 2, 2, 2)), b((1, 2, 2, 2))),
        ("UpsampleBilinear2d", b((1, 4, 4)), [8, 8], False, 0.0, 0.0, b((1, 8, 8))),
        ("UpsampleNearest2dV2", b((1, 1, 4, 4)), [8, 8], 0.0, 0.0, b((1, 1, 8, 7))),
        ("UpsampleNearest2dBackward", b((1, 1, 8, 8)), [8, 8], [1, 1, 4, 5], 0.0, 0.0, b((1, 1, 4, 4))),
        ("ReflectionPad1d", b((1, 3)), [3, 0], b((1, 6))), ("ReplicationPad2d", b((1, 3, 3)), [1, 1], b((1, 3, 5))),
        ("Im2col", b((1, 3, 3)), [2], [1, 1], [0, 0], [1, 1], b((4, 4))),
        ("GroupNorm", b((2, 6, 5)), None, None, 2, 6, 5, 4, 1e-5, b((2, 6, 5)), b((2, 4)), b((2, 4))),
        ("GroupNorm", b((2, 6, 5)), b((5,)), None, 2, 6, 5, 3, 1e-5, b((2, 6, 5)), b((2, 3)), b((2, 3))),
        ("GroupNormBackward", b((2, 6, 5)), b((2, 6, 5)), b((2, 3)), b((2, 3)), None, 2, 6, 5, 3, [True] * 3, None, b((6,)), b((6,))),
        ("SmoothL1Loss", b((4,)), b((4,)), 3, 1.0, b(())), ("SmoothL1Loss", b((4,)), b((4,)), 1, -1.0, b(())),
        ("BinaryCrossEntropy", b((4,)), b((3,)), None, 1, b(())), ("BinaryCrossEntropy", b((4,)), b((4,)), None, 1, b((4,))),
        ("NLLLoss2d", b((2, 3)), b((2,), INT64), b((3,)), 1, -100, b(()), b(())),
    ]  # fmt: skip


def test_wrong_parameters_are_refused_before_anything_is_launched(sim: Sim) -> None:
    launched = sim.counter("launches")
    for case in _refused(sim):
        assert sim.prepare(*case)[0] == INVALID_PARAM, case[0]
        text = sim.message()
        assert text is not None and f"aclnn{case[0]}" in text
    assert sim.counter("launches") == launched


def test_missing_operands_are_refused(sim: Sim) -> None:
    assert sim.prepare("ClampTensor", sim.buffer((2,)), None, None, sim.buffer((2,)))[0] == NULL_PARAM
    assert sim.prepare("Sort", None, True, 0, False, sim.buffer((2,)), sim.buffer((2,), INT64))[0] == NULL_PARAM
    assert sim.prepare("NLLLoss2d", sim.buffer((1, 3, 2, 2)), sim.buffer((1, 2, 2), INT64), None, 1, -100, sim.buffer(()),
                       sim.buffer(()))[0] == NULL_PARAM  # fmt: skip
