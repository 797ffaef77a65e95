"""Operators beyond the minimal table, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from simlib import BOOL, FLOAT, INT8, INT64, UINT8, Sim


def normal(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


INPLACE = {
    "InplaceAdd": (lambda x, y: x + 2 * y, (2.0,)), "InplaceSub": (lambda x, y: x - 2 * y, (2.0,)),
    "InplaceMul": (lambda x, y: x * y, ()), "InplaceDiv": (lambda x, y: x / y, ()),
    "InplaceLerps": (lambda x, y: x + 0.25 * (y - x), (0.25,)),
}  # fmt: skip


@pytest.mark.parametrize("name", INPLACE)
def test_in_place_with_a_tensor(sim: Sim, name: str) -> None:
    x, y = normal((4, 5)), normal((5,), 1)
    function, extra = INPLACE[name]
    target = sim.upload(x)
    sim.run(name, target, sim.upload(y), *extra)
    np.testing.assert_allclose(target.read(), function(x, y), rtol=1e-5, atol=1e-6)


def test_in_place_with_scalars(sim: Sim) -> None:
    x = normal((4, 5))
    target = sim.upload(x)
    sim.run("InplaceAdds", target, 3.0, 2.0)
    sim.run("InplaceMuls", target, 0.5)
    sim.run("InplaceSubs", target, 1.0, 1.0)
    sim.run("InplaceDivs", target, 4.0)
    np.testing.assert_allclose(target.read(), ((x + 6) * 0.5 - 1) / 4, rtol=1e-5, atol=1e-6)
    sim.run("InplaceAddcmul", target, sim.upload(x), sim.upload(x), 2.0)
    np.testing.assert_allclose(target.read(), ((x + 6) * 0.5 - 1) / 4 + 2 * x * x, rtol=1e-5, atol=1e-6)
    sim.run("InplaceRelu", target)
    assert (target.read() >= 0).all()


def test_more_unary_and_reversed(sim: Sim) -> None:
    x = normal((6, 3)) * 3
    out = sim.buffer((6, 3))
    for name, function in (("Sign", np.sign), ("Floor", np.floor), ("Ceil", np.ceil), ("Expm1", np.expm1)):
        sim.run(name, sim.upload(x), out)
        np.testing.assert_allclose(out.read(), function(x), rtol=1e-5, atol=1e-6)
    sim.run("Rsubs", sim.upload(x), 1.0, 2.0, out)
    np.testing.assert_allclose(out.read(), 1 - 2 * x, rtol=1e-6, atol=1e-6)
    sim.run("LeakyRelu", sim.upload(x), 0.1, out)
    np.testing.assert_allclose(out.read(), np.where(x > 0, x, x * np.float32(0.1)), rtol=1e-6)
    sim.run("LeakyReluBackward", sim.upload(x), sim.upload(-x), 0.1, False, out)
    np.testing.assert_allclose(out.read(), np.where(-x > 0, x, x * np.float32(0.1)), rtol=1e-6)


def test_logic(sim: Sim) -> None:
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    out = sim.buffer((4,), BOOL)
    for name, function in (("LogicalAnd", np.logical_and), ("LogicalOr", np.logical_or),
                           ("BitwiseAndTensor", np.bitwise_and), ("BitwiseOrTensor", np.bitwise_or),
                           ("GeTensor", np.greater_equal), ("LeTensor", np.less_equal)):  # fmt: skip
        sim.run(name, sim.upload(a), sim.upload(b), out)
        np.testing.assert_array_equal(out.read(), function(a, b))
    sim.run("LogicalNot", sim.upload(a), out)
    np.testing.assert_array_equal(out.read(), ~a)
    whole = sim.buffer((), BOOL)
    for name, expected in (("All", False), ("Any", True)):
        sim.run(name, sim.upload(a), [0], False, whole)
        assert whole.read() == expected
    sim.run("Equal", sim.upload(a), sim.upload(a), whole)
    assert whole.read()
    x = np.array([1.0, np.nan, np.inf, 2.0], np.float32)
    sim.run("IsClose", sim.upload(x), sim.upload(x + np.float32(1e-7)), 1e-5, 1e-8, True, out)
    assert out.read().all()
    sim.run("IsFinite", sim.upload(x), out)
    np.testing.assert_array_equal(out.read(), np.isfinite(x))


def test_more_reductions(sim: Sim) -> None:
    x = normal((4, 5, 3))
    whole = sim.buffer(())
    sim.run("Max", sim.upload(x), whole)
    assert whole.read() == x.max()
    sim.run("Min", sim.upload(x), whole)
    assert whole.read() == x.min()
    values, indices = sim.buffer((4, 3)), sim.buffer((4, 3), INT64)
    sim.run("MinDim", sim.upload(x), 1, False, values, indices)
    np.testing.assert_array_equal(values.read(), x.min(1))
    np.testing.assert_array_equal(indices.read(), x.argmin(1))
    for dim in (0, 1, 2):
        out = sim.buffer(x.shape)
        sim.run("Cumsum", sim.upload(x), dim, FLOAT, out)
        np.testing.assert_allclose(out.read(), x.cumsum(dim), rtol=1e-4, atol=1e-5)


def test_stack_repeat_flip(sim: Sim) -> None:
    parts = [normal((2, 3), i) for i in range(3)]
    for dim in (0, 1, 2):
        expected = np.stack(parts, dim)
        out = sim.buffer(expected.shape)
        sim.run("Stack", [sim.upload(p) for p in parts], dim, out)
        np.testing.assert_array_equal(out.read(), expected)
    x = parts[0]
    tiled, flipped = sim.buffer((2, 4, 9)), sim.buffer((2, 3))
    sim.run("Repeat", sim.upload(x), [2, 2, 3], tiled)
    np.testing.assert_array_equal(tiled.read(), np.tile(x, (2, 2, 3)))
    sim.run("Flip", sim.upload(x), [0, -1], flipped)
    np.testing.assert_array_equal(flipped.read(), x[::-1, ::-1])


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_mse(sim: Sim, reduction: int) -> None:
    x, y = normal((3, 4)), normal((3, 4), 1)
    expected = [(x - y) ** 2, ((x - y) ** 2).mean(), ((x - y) ** 2).sum()][reduction]
    out, dx = sim.buffer(np.shape(expected)), sim.buffer((3, 4))
    sim.run("MseLoss", sim.upload(x), sim.upload(y), reduction, out)
    np.testing.assert_allclose(out.read(), expected, rtol=1e-5)
    grad = np.full(np.shape(expected), 2, np.float32)
    sim.run("MseLossBackward", sim.upload(grad), sim.upload(x), sim.upload(y), reduction, dx)
    np.testing.assert_allclose(dx.read(), 4 * (x - y) / (12 if reduction == 1 else 1), rtol=1e-5, atol=1e-7)


def test_advanced_indexing(sim: Sim) -> None:
    x, rows, columns = normal((4, 5, 3)), np.array([[3, -4], [1, 0]]), np.array([2, 1])
    whole = sim.upload(np.empty(0, np.int64))
    cases = [
        ([sim.upload(rows)], x[rows]),
        ([sim.upload(rows), sim.upload(columns)], x[rows, columns]),
        ([whole, sim.upload(columns)], x[:, columns]),
        ([sim.upload(columns), whole, sim.upload(columns)], x[columns, :, columns]),
        ([whole, whole, sim.upload(columns)], x[:, :, columns]),
    ]
    for indices, expected in cases:
        out = sim.buffer(expected.shape)
        sim.run("Index", sim.upload(x), indices, out)
        np.testing.assert_array_equal(out.read(), expected)
    for accumulate in (False, True):
        target, expected = sim.upload(x), x.copy()
        values, repeated = normal((5, 3), 2), np.array([1, 1])
        sim.run("IndexPutImpl", target, [sim.upload(repeated)], sim.upload(values), accumulate, False)
        if accumulate:
            np.add.at(expected, repeated, values)
        else:
            expected[repeated] = values
        np.testing.assert_allclose(target.read(), expected, rtol=1e-6, atol=1e-6)


def test_scatter(sim: Sim) -> None:
    x, index, source = normal((3, 4)), np.array([[0, 3], [1, 1]]), normal((2, 2), 1)
    for reduce, function in ((0, lambda old, new: new), (1, np.add), (2, np.multiply)):
        expected = x.copy()
        for i, j in np.ndindex(index.shape):
            expected[i, index[i, j]] = function(expected[i, index[i, j]], source[i, j])
        out, target = sim.buffer((3, 4)), sim.upload(x)
        sim.run("Scatter", sim.upload(x), 1, sim.upload(index), sim.upload(source), reduce, out)
        sim.run("InplaceScatter", target, 1, sim.upload(index), sim.upload(source), reduce)
        np.testing.assert_allclose(out.read(), expected, rtol=1e-6)
        np.testing.assert_array_equal(target.read(), out.read())
    sim.run("InplaceScatterValue", target, 0, sim.upload(np.array([[2, 2, 2, 2]])), 7.0, 0)
    assert (target.read()[2] == 7).all()


def test_max_pool_with_mask(sim: Sim) -> None:
    x = normal((2, 2, 6, 6))
    out, indices = sim.buffer((2, 2, 3, 3)), sim.buffer((2, 2, 3, 3), INT64)
    masked, mask = sim.buffer((2, 2, 3, 3)), sim.buffer((2, 2, 4, 64), INT8)
    options = ((2, 2), (2, 2), (0, 0), (1, 1), False)
    sim.run("MaxPool2dWithIndices", sim.upload(x), *options, out, indices)
    sim.run("MaxPool2dWithMask", sim.upload(x), *options, masked, mask)
    np.testing.assert_array_equal(out.read(), masked.read())
    g, first, second = normal((2, 2, 3, 3), 1), sim.buffer(x.shape), sim.buffer(x.shape)
    sim.run("MaxPool2dWithIndicesBackward", sim.upload(g), sim.upload(x), indices, *options, first)
    sim.run("MaxPool2dWithMaskBackward", sim.upload(g), sim.upload(x), mask, *options, second)
    np.testing.assert_array_equal(first.read(), second.read())


def test_masked_fill_scalar_and_dropout_mask(sim: Sim) -> None:
    x, mask = normal((3, 4)), np.array([True, False, False, True])
    target = sim.upload(x)
    sim.run("InplaceMaskedFillScalar", target, sim.upload(mask), -2.0)
    np.testing.assert_array_equal(target.read(), np.where(mask, np.float32(-2), x))
    first, second = sim.buffer((16,), UINT8), sim.buffer((16,), UINT8)
    sim.run("DropoutGenMask", [100], 0.5, 3, 0, first)
    sim.run("DropoutGenMaskV2", [100], 0.5, 3, 0, FLOAT, second)
    np.testing.assert_array_equal(first.read(), second.read())


def test_lists_of_tensors(sim: Sim) -> None:
    shapes = [(3,), (2, 4), ()]
    x, y, z = ([np.abs(normal(s, i + k)) + 0.5 for i, s in enumerate(shapes)] for k in (0, 5, 9))

    def check(name, arguments, expected) -> None:
        outs = [sim.buffer(s) for s in shapes]
        sim.run(name, *arguments, outs)
        for out, value in zip(outs, expected):
            np.testing.assert_allclose(out.read(), value, rtol=1e-5)

    up = lambda arrays: [sim.upload(np.asarray(a)) for a in arrays]  # noqa: E731
    half = sim.upload(np.array([0.5], np.float32))
    check("ForeachAddList", (up(x), up(y), half), [a + 0.5 * b for a, b in zip(x, y)])
    check("ForeachAddListV2", (up(x), up(y), 2.0), [a + 2 * b for a, b in zip(x, y)])
    check("ForeachMulScalar", (up(x), half), [a * 0.5 for a in x])
    check("ForeachAddScalarV2", (up(x), 3.0), [a + 3 for a in x])
    check("ForeachSqrt", (up(x),), [np.sqrt(a) for a in x])
    check("ForeachLerpScalar", (up(x), up(y), 0.25), [a + 0.25 * (b - a) for a, b in zip(x, y)])
    check("ForeachDivScalarList", (up(x), [1.0, 2.0, 4.0]), [a / d for a, d in zip(x, (1, 2, 4))])
    scalars = sim.upload(np.array([1, 2, 3], np.float32))
    check("ForeachAddcdivScalarList", (up(x), up(y), up(z), scalars),
          [a + s * b / c for a, b, c, s in zip(x, y, z, (1, 2, 3))])  # fmt: skip
