"""Elementwise operators against numpy, in every type, with strides and broadcasting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from simlib import BF16, BOOL, DOUBLE, FLOAT, FLOAT16, INT32, INT64, UINT8, Scalar, Sim

TOLERANCE = {FLOAT: 2e-6, FLOAT16: 2e-3, BF16: 1.6e-2, DOUBLE: 1e-7}
erf = np.vectorize(math.erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_grad(g, x):
    return g * (0.5 * (1 + erf(x / math.sqrt(2))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))


UNARY = {
    "Neg": np.negative, "Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Abs": np.abs, "Reciprocal": lambda x: 1 / x, "Sin": np.sin, "Cos": np.cos, "Erf": erf, "Tanh": np.tanh,
    "Sigmoid": sigmoid, "Relu": lambda x: np.maximum(x, 0),
    "Gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))), "Silu": lambda x: x * sigmoid(x),
}  # fmt: skip
POSITIVE = {"Log", "Sqrt", "Rsqrt", "Reciprocal"}
FLOATS_ONLY = {"Gelu", "Silu"}
BINARY = {
    "Mul": np.multiply, "Div": np.divide, "Maximum": np.maximum, "Minimum": np.minimum,
    "TanhBackward": lambda g, y: g * (1 - y * y), "SigmoidBackward": lambda g, y: g * y * (1 - y),
    "GeluBackward": gelu_grad,
    "SiluBackward": lambda g, x: g * sigmoid(x) * (1 + x * (1 - sigmoid(x))),
}  # fmt: skip


def values(shape, seed=0, positive=False):
    x = np.random.default_rng(seed).normal(size=shape)
    return (np.abs(x) + 0.2 if positive else x).astype(np.float32)


UNARY_CASES = [
    (name, dtype) for name in UNARY for dtype in (FLOAT, FLOAT16, BF16, DOUBLE)
    if not (name in FLOATS_ONLY and dtype == DOUBLE)
]  # fmt: skip


@pytest.mark.parametrize("name, dtype", UNARY_CASES)
def test_unary(sim: Sim, name: str, dtype: int) -> None:
    x = sim.upload(values((37, 53), positive=name in POSITIVE), dtype)
    out = sim.buffer((37, 53), dtype)
    sim.run(name, x, out)
    expected = UNARY[name](x.read().astype(np.float64))
    np.testing.assert_allclose(out.read(), expected, rtol=TOLERANCE[dtype] * 3, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [FLOAT, FLOAT16, BF16])
@pytest.mark.parametrize("name", BINARY)
def test_binary_broadcasts(sim: Sim, name: str, dtype: int) -> None:
    x, y = sim.upload(values((7, 1, 5)), dtype), sim.upload(values((3, 5), 1, positive=True), dtype)
    out = sim.buffer((7, 3, 5), dtype)
    sim.run(name, x, y, out)
    expected = BINARY[name](x.read().astype(np.float64), y.read().astype(np.float64))
    np.testing.assert_allclose(out.read(), expected, rtol=TOLERANCE[dtype] * 4, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("name, sign", [("Add", 1), ("Sub", -1)])
def test_add_and_sub_scale_the_second_operand(sim: Sim, name: str, sign: int) -> None:
    x, y = values((4, 6)), values((6,), 1)
    out = sim.buffer((4, 6))
    sim.run(name, sim.upload(x), sim.upload(y), 2.5, out)
    np.testing.assert_allclose(out.read(), x + sign * np.float32(2.5) * y, rtol=1e-6)
    sim.run(name + "s", sim.upload(x), 3.0, 2.0, out)
    np.testing.assert_allclose(out.read(), x + sign * np.float32(6), rtol=1e-6)


def test_integers_are_exact(sim: Sim) -> None:
    x = np.array([2**62, -(2**62), 5, -7], np.int64)
    out = sim.buffer((4,), INT64)
    sim.run("Add", sim.upload(x), sim.upload(np.array([1, 2, 3, 4])), 3, out)
    np.testing.assert_array_equal(out.read(), x + 3 * np.array([1, 2, 3, 4]))
    out32 = sim.buffer((4,), INT32)
    sim.run("Muls", sim.upload(np.array([1, 2, 3, -4], np.int32)), 7, out32)
    np.testing.assert_array_equal(out32.read(), [7, 14, 21, -28])
    quotient = sim.buffer((4,), FLOAT)
    sim.run("Divs", sim.upload(np.array([1, 2, 3, -4], np.int32)), 2, quotient)
    np.testing.assert_array_equal(quotient.read(), [0.5, 1, 1.5, -2])


def test_scalar_forms(sim: Sim) -> None:
    x = values((9, 3))
    out = sim.buffer((9, 3))
    sim.run("Muls", sim.upload(x), 0.5, out)
    np.testing.assert_allclose(out.read(), x * 0.5)
    sim.run("Divs", sim.upload(x), 4.0, out)
    np.testing.assert_allclose(out.read(), x / 4)
    for exponent in (2.0, 3.0, 0.5, -1.0):
        positive = np.abs(x) + 0.1
        sim.run("PowTensorScalar", sim.upload(positive), exponent, out)
        np.testing.assert_allclose(out.read(), positive**exponent, rtol=1e-5)
    sim.run("Clamp", sim.upload(x), -0.5, 0.75, out)
    np.testing.assert_array_equal(out.read(), np.clip(x, np.float32(-0.5), np.float32(0.75)))
    sim.run("Clamp", sim.upload(x), None, 0.0, out)
    np.testing.assert_array_equal(out.read(), np.minimum(x, 0))


def test_threshold_backward_is_relu_gradient(sim: Sim) -> None:
    g, x = values((8, 8)), values((8, 8), 1)
    out = sim.buffer((8, 8))
    sim.run("ThresholdBackward", sim.upload(g), sim.upload(x), 0.0, out)
    np.testing.assert_array_equal(out.read(), np.where(x > 0, g, 0))


@pytest.mark.parametrize("name, sign", [("Addcmul", np.multiply), ("Addcdiv", np.divide)])
def test_addc(sim: Sim, name: str, sign) -> None:
    a, b, c = values((4, 5)), values((5,), 1), values((4, 1), 2, positive=True)
    out = sim.buffer((4, 5))
    sim.run(name, sim.upload(a), sim.upload(b), sim.upload(c), 0.1, out)
    np.testing.assert_allclose(out.read(), a + np.float32(0.1) * sign(b, c), rtol=1e-5, atol=1e-6)


COMPARE = {
    "EqTensor": np.equal, "NeTensor": np.not_equal, "LtTensor": np.less, "GtTensor": np.greater,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [FLOAT, FLOAT16, BF16, DOUBLE, INT64, INT32, UINT8, BOOL])
@pytest.mark.parametrize("name", COMPARE)
def test_compare(sim: Sim, name: str, dtype: int) -> None:
    rng = np.random.default_rng(3)
    x, y = sim.upload(rng.integers(0, 3, (5, 7)), dtype), sim.upload(rng.integers(0, 3, (7,)), dtype)
    out = sim.buffer((5, 7), BOOL)
    sim.run(name, x, y, out)
    np.testing.assert_array_equal(out.read(), COMPARE[name](x.read(), y.read()))


def test_compare_with_scalar(sim: Sim) -> None:
    x = np.array([2**53, 2**53 + 1, -1], np.int64)
    out = sim.buffer((3,), BOOL)
    sim.run("EqScalar", sim.upload(x), Scalar(2**53 + 1, INT64), out)
    np.testing.assert_array_equal(out.read(), [False, True, False])
    sim.run("GtScalar", sim.upload(np.array([0.5, np.nan, 2.0], np.float32)), 1.0, out)
    np.testing.assert_array_equal(out.read(), [False, False, True])


@pytest.mark.parametrize("dtype", [FLOAT, FLOAT16, INT64, INT32, BOOL, DOUBLE])
def test_where(sim: Sim, dtype: int) -> None:
    rng = np.random.default_rng(5)
    mask = rng.integers(0, 2, (6, 4)).astype(bool)
    x, y = sim.upload(rng.integers(0, 9, (6, 4)), dtype), sim.upload(rng.integers(0, 9, (4,)), dtype)
    out = sim.buffer((6, 4), dtype)
    sim.run("SWhere", sim.upload(mask), x, y, out)
    np.testing.assert_array_equal(out.read(), np.where(mask, x.read(), y.read()))


def test_masked_fill(sim: Sim) -> None:
    x = values((3, 4))
    mask = np.array([True, False, True, False])
    target = sim.upload(x)
    sim.run("InplaceMaskedFillTensor", target, sim.upload(mask), sim.upload(np.array(-1.5, np.float32)))
    np.testing.assert_array_equal(target.read(), np.where(mask, np.float32(-1.5), x))


def test_strided_views_on_both_sides(sim: Sim) -> None:
    x = values((6, 10))
    source, target = sim.upload(x), sim.upload(np.zeros((10, 6), np.float32))
    # out is a transposed view, the input every second row from the end of the buffer with a negative-free slice
    view = source.view((3, 4), (20, 2), 11)
    out = target.view((3, 4), (1, 6), 8)
    sim.run("Exp", view, out)
    expected = np.zeros(60, np.float32)
    for i in range(3):
        for j in range(4):
            expected[8 + i + 6 * j] = np.exp(x.reshape(-1)[11 + 20 * i + 2 * j])
    np.testing.assert_allclose(target.read().reshape(-1), expected, rtol=1e-6)


def test_in_place_and_scalars_of_rank_zero(sim: Sim) -> None:
    x = sim.upload(np.array(3.0, np.float32))
    sim.run("Mul", x, x, x)
    assert x.read() == 9
    assert x.read().shape == ()


def test_empty_tensors_are_accepted(sim: Sim) -> None:
    x, out = sim.buffer((0, 4)), sim.buffer((0, 4))
    sim.run("Exp", x, out)
    sim.run("Add", x, sim.upload(np.ones(4, np.float32)), 1.0, out)
    assert out.read().shape == (0, 4)


@pytest.mark.parametrize("source", [FLOAT, FLOAT16, BF16, DOUBLE, INT64, INT32, UINT8, BOOL])
@pytest.mark.parametrize("target", [FLOAT, FLOAT16, BF16, DOUBLE, INT64, INT32, UINT8, BOOL])
def test_cast(sim: Sim, source: int, target: int) -> None:
    x = sim.upload(np.array([0, 1, 2, 77, 100]), source)
    out, copy = sim.buffer((5,), target), sim.buffer((5,), target)
    sim.run("Cast", x, target, out)
    sim.run("InplaceCopy", copy, x)
    expected = x.read().astype(bool) if target == BOOL else x.read()
    np.testing.assert_array_equal(out.read().astype(np.float64), expected.astype(np.float64))
    np.testing.assert_array_equal(copy.read(), out.read())


def test_half_conversion_is_exact(sim: Sim) -> None:
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)]
    wide = sim.buffer((finite.size,), FLOAT)
    sim.run("Cast", sim.upload(finite), FLOAT, wide)
    np.testing.assert_array_equal(wide.read(), finite.astype(np.float32))
    rng = np.random.default_rng(0)
    floats = rng.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
    floats = np.concatenate([floats[np.isfinite(floats)], rng.normal(size=20000).astype(np.float32) * 1e-6])
    narrow = sim.buffer((floats.size,), FLOAT16)
    sim.run("Cast", sim.upload(floats), FLOAT16, narrow)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(narrow.read(), floats.astype(np.float16))
