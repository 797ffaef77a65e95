"""Movement, reduction, matrix products, indexing, losses and random operators against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from simlib import BF16, BOOL, DOUBLE, FLOAT, FLOAT16, INT32, INT64, UINT8, Sim

RNG = np.random.default_rng


def normal(shape, seed=0):
    return RNG(seed).normal(size=shape).astype(np.float32)


# ---- movement ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [FLOAT, FLOAT16, INT64, BOOL])
def test_permute_and_copy(sim: Sim, dtype: int) -> None:
    x = sim.upload(RNG(0).integers(0, 5, (2, 3, 4)), dtype)
    out = sim.buffer((4, 2, 3), dtype)
    sim.run("Permute", x, [2, 0, 1], out)
    np.testing.assert_array_equal(out.read(), x.read().transpose(2, 0, 1))
    dense = sim.buffer((3, 2, 4), dtype)
    sim.run("InplaceCopy", dense, x.view((3, 2, 4), (4, 12, 1)))
    np.testing.assert_array_equal(dense.read(), x.read().transpose(1, 0, 2))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat(sim: Sim, dim: int) -> None:
    shape = [2, 3, 4]
    parts = []
    for i in range(3):
        shape[dim] = i + 1
        parts.append(normal(shape, i))
    out = sim.buffer(np.concatenate(parts, dim).shape)
    sim.run("Cat", [sim.upload(p) for p in parts], dim, out)
    np.testing.assert_array_equal(out.read(), np.concatenate(parts, dim))


@pytest.mark.parametrize("dtype", [FLOAT, FLOAT16, BF16, DOUBLE, INT64, INT32, UINT8, BOOL])
def test_fills(sim: Sim, dtype: int) -> None:
    out = sim.buffer((5, 7), dtype)
    for name, extra, expected in (("InplaceZero", (), 0), ("InplaceOne", (), 1), ("InplaceFillScalar", (3,), 3)):
        sim.run(name, out, *extra)
        np.testing.assert_array_equal(out.read(), np.full((5, 7), expected).astype(out.read().dtype))
    strided = out.view((5, 3), (7, 2), 1)
    sim.run("InplaceZero", strided)
    assert (out.read()[:, 1:6:2] == 0).all() and (out.read()[:, 0::2] != 0).all()


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE, INT64, INT32])
def test_arange(sim: Sim, dtype: int) -> None:
    out = sim.buffer((2000,), dtype)
    sim.run("Arange", 5, 4005, 2, out)
    np.testing.assert_array_equal(out.read(), np.arange(5, 4005, 2))
    if dtype in (FLOAT, DOUBLE):
        small = sim.buffer((4,), dtype)
        sim.run("Arange", 0.0, 1.0, 0.25, small)
        np.testing.assert_array_equal(small.read(), [0, 0.25, 0.5, 0.75])


@pytest.mark.parametrize("diagonal", [-2, -1, 0, 1, 5])
def test_triangles(sim: Sim, diagonal: int) -> None:
    x = normal((2, 4, 6))
    out = sim.buffer(x.shape)
    sim.run("Tril", sim.upload(x), diagonal, out)
    np.testing.assert_array_equal(out.read(), np.tril(x, diagonal))
    sim.run("Triu", sim.upload(x), diagonal, out)
    np.testing.assert_array_equal(out.read(), np.triu(x, diagonal))


# ---- reduction ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dims", [(0,), (1,), (-1,), (0, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("keep", [False, True])
def test_sum_mean_amax(sim: Sim, dims: tuple[int, ...], keep: bool) -> None:
    x = normal((3, 4, 5))
    axes = dims or None
    expected = x.astype(np.float64).sum(axis=axes, keepdims=keep)
    out = sim.buffer(np.shape(expected))
    sim.run("ReduceSum", sim.upload(x), dims, keep, FLOAT, out)
    np.testing.assert_allclose(out.read(), expected, rtol=1e-5, atol=1e-6)
    sim.run("Mean", sim.upload(x), dims, keep, FLOAT, out)
    np.testing.assert_allclose(out.read(), x.mean(axis=axes, keepdims=keep, dtype=np.float64), rtol=1e-5, atol=1e-6)
    sim.run("Amax", sim.upload(x), dims, keep, out)
    np.testing.assert_array_equal(out.read(), x.max(axis=axes, keepdims=keep))


def test_integer_and_half_sums(sim: Sim) -> None:
    x = RNG(0).integers(-100, 100, (6, 7))
    out = sim.buffer((7,), INT64)
    sim.run("ReduceSum", sim.upload(x), [0], False, INT64, out)
    np.testing.assert_array_equal(out.read(), x.sum(0))
    counts = sim.buffer((), INT64)
    sim.run("ReduceSum", sim.upload(x > 0), [], False, INT64, counts)
    assert counts.read() == (x > 0).sum()
    half = sim.upload(normal((100, 50)), FLOAT16)
    mean = sim.buffer((50,), FLOAT16)
    sim.run("Mean", half, [0], False, FLOAT16, mean)
    np.testing.assert_allclose(mean.read(), half.read().astype(np.float64).mean(0), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [FLOAT, INT64])
def test_max_dim_and_argmax(sim: Sim, dim: int, dtype: int) -> None:
    x = sim.upload(RNG(1).integers(0, 50, (4, 5, 6)), dtype)
    shape = x.read().max(dim).shape
    values, indices = sim.buffer(shape, dtype), sim.buffer(shape, INT64)
    sim.run("MaxDim", x, dim, False, values, indices)
    np.testing.assert_array_equal(values.read(), x.read().max(dim))
    np.testing.assert_array_equal(indices.read(), x.read().argmax(dim))
    sim.run("ArgMax", x, dim, False, indices)
    np.testing.assert_array_equal(indices.read(), x.read().argmax(dim))


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype, tolerance", [(FLOAT, 1e-6), (FLOAT16, 1e-3), (DOUBLE, 1e-12)])
def test_softmax(sim: Sim, dim: int, dtype: int, tolerance: float) -> None:
    x = sim.upload(normal((3, 4, 5)) * 3, dtype)
    g = sim.upload(normal((3, 4, 5), 1), dtype)
    out, grad = sim.buffer((3, 4, 5), dtype), sim.buffer((3, 4, 5), dtype)
    exact = x.read().astype(np.float64)
    soft = np.exp(exact - exact.max(dim, keepdims=True))
    soft /= soft.sum(dim, keepdims=True)
    sim.run("Softmax", x, dim, out)
    np.testing.assert_allclose(out.read(), soft, atol=tolerance)
    dy, y = g.read().astype(np.float64), out.read().astype(np.float64)
    sim.run("SoftmaxBackward", g, out, dim, grad)
    np.testing.assert_allclose(grad.read(), y * (dy - (dy * y).sum(dim, keepdims=True)), atol=3 * tolerance)
    sim.run("LogSoftmax", x, dim, out)
    np.testing.assert_allclose(out.read(), np.log(soft), atol=20 * tolerance)
    y = out.read().astype(np.float64)
    sim.run("LogSoftmaxBackward", g, out, dim, grad)
    np.testing.assert_allclose(grad.read(), dy - np.exp(y) * dy.sum(dim, keepdims=True), atol=10 * tolerance)


# ---- matrix products ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (3, 17, 5), (64, 48, 300), (5, 1, 600), (130, 33, 7)])
def test_mm(sim: Sim, m: int, n: int, k: int) -> None:
    a, b = normal((m, k)), normal((k, n), 1)
    out = sim.buffer((m, n))
    sim.run("Mm", sim.upload(a), sim.upload(b), out, 0)
    np.testing.assert_allclose(out.read(), a @ b, rtol=1e-4, atol=1e-4)
    turned = sim.upload(np.ascontiguousarray(b.T))
    sim.run("Mm", sim.upload(a), turned.view((k, n), (1, k)), out, 1)
    np.testing.assert_allclose(out.read(), a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "left, right", [((5,), (5,)), ((4, 5), (5,)), ((5,), (5, 3)), ((2, 4, 5), (5, 3)), ((2, 1, 4, 5), (3, 5, 2))]
)
def test_matmul_broadcasts(sim: Sim, left, right) -> None:
    a, b = normal(left), normal(right, 1)
    out = sim.buffer(np.shape(a @ b))
    sim.run("Matmul", sim.upload(a), sim.upload(b), out, 0)
    np.testing.assert_allclose(out.read(), a @ b, rtol=1e-5, atol=1e-5)


def test_batched_and_added_products(sim: Sim) -> None:
    a, b, c = normal((4, 3, 5)), normal((4, 5, 2), 1), normal((4, 3, 2), 2)
    out = sim.buffer((4, 3, 2))
    sim.run("BatchMatMul", sim.upload(a), sim.upload(b), out, 0)
    np.testing.assert_allclose(out.read(), a @ b, rtol=1e-5, atol=1e-6)
    sim.run("Baddbmm", sim.upload(c), sim.upload(a), sim.upload(b), 0.5, 2.0, out, 0)
    np.testing.assert_allclose(out.read(), 0.5 * c + 2 * (a @ b), rtol=1e-5, atol=1e-5)
    flat = sim.buffer((3, 2))
    bias = normal((2,), 3)
    sim.run("Addmm", sim.upload(bias), sim.upload(a[0]), sim.upload(b[0]), 1.0, 1.0, flat, 0)
    np.testing.assert_allclose(flat.read(), bias + a[0] @ b[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype, tolerance", [(FLOAT16, 5e-3), (BF16, 5e-2)])
def test_half_products(sim: Sim, dtype: int, tolerance: float) -> None:
    a, b = sim.upload(normal((16, 32)), dtype), sim.upload(normal((32, 8), 1), dtype)
    out = sim.buffer((16, 8), dtype)
    sim.run("Mm", a, b, out, 0)
    np.testing.assert_allclose(
        out.read(), a.read().astype(np.float32) @ b.read().astype(np.float32), atol=tolerance * 8
    )


# ---- indexing ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("index_type", [INT64, INT32])
@pytest.mark.parametrize("dtype", [FLOAT, FLOAT16, INT64])
def test_select_gather_scatter(sim: Sim, dtype: int, index_type: int) -> None:
    x = sim.upload(RNG(0).integers(0, 99, (4, 6)), dtype)
    rows = np.array([3, 0, 3, 1, 2])
    out = sim.buffer((5, 6), dtype)
    sim.run("IndexSelect", x, 0, sim.upload(rows, index_type), out)
    np.testing.assert_array_equal(out.read(), x.read()[rows])
    columns = sim.buffer((4, 2), dtype)
    sim.run("IndexSelect", x, -1, sim.upload(np.array([5, 1]), index_type), columns)
    np.testing.assert_array_equal(columns.read(), x.read()[:, [5, 1]])
    index = RNG(1).integers(0, 6, (4, 3))
    gathered = sim.buffer((4, 3), dtype)
    sim.run("Gather", x, 1, sim.upload(index, index_type), gathered)
    np.testing.assert_array_equal(gathered.read(), np.take_along_axis(x.read(), index, 1))
    source = sim.upload(RNG(2).integers(0, 5, (4, 3)), dtype)
    total = sim.buffer((4, 6), dtype)
    sim.run("ScatterAdd", x, 1, sim.upload(index, index_type), source, total)
    expected = x.read().copy()
    for i, j in np.ndindex(index.shape):
        expected[i, index[i, j]] += source.read()[i, j]
    np.testing.assert_array_equal(total.read(), expected)


def test_embedding(sim: Sim) -> None:
    weight, index = normal((10, 4)), np.array([[1, 9, 1], [0, 3, 3]])
    out = sim.buffer((2, 3, 4))
    sim.run("Embedding", sim.upload(weight), sim.upload(index), out)
    np.testing.assert_array_equal(out.read(), weight[index])
    grad, total = normal((2, 3, 4), 1), np.zeros((10, 4), np.float32)
    np.add.at(total, index, grad)
    total[9] = 0
    result = sim.buffer((10, 4))
    sim.run("EmbeddingDenseBackward", sim.upload(grad), sim.upload(index), 10, 9, False, result)
    np.testing.assert_allclose(result.read(), total, rtol=1e-6)
    scaled = sim.buffer((10, 4))
    sim.run("EmbeddingDenseBackward", sim.upload(grad), sim.upload(index), 10, 2**64 - 1, True, scaled)
    np.testing.assert_allclose(scaled.read()[1], total[1] / 2, rtol=1e-6)


def test_index_out_of_range_is_a_device_fault(sim: Sim) -> None:
    x, out = sim.upload(normal((4, 6))), sim.buffer((1, 6))
    sim.launch("IndexSelect", x, 0, sim.upload(np.array([4])), out)
    assert sim.lib.aclrtSynchronizeStream(None) == 507015
    assert "index 4" in (sim.message() or "")


# ---- losses ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_nll_loss(sim: Sim, reduction: int) -> None:
    x, target = normal((5, 3)), np.array([0, 2, -100, 1, 1])
    weight = np.array([0.5, 1.0, 2.0], np.float32)
    kept = target != -100
    w = np.where(kept, weight[np.where(kept, target, 0)], 0)
    losses = -x[np.arange(5), np.where(kept, target, 0)] * w
    expected = [losses, losses.sum() / w.sum(), losses.sum()][reduction]
    out, total = sim.buffer(np.shape(expected)), sim.buffer(())
    sim.run("NLLLoss", sim.upload(x), sim.upload(target), sim.upload(weight), reduction, -100, out, total)
    np.testing.assert_allclose(out.read(), expected, rtol=1e-5)
    np.testing.assert_allclose(total.read(), w.sum(), rtol=1e-6)
    grad = np.ones(np.shape(expected), np.float32) * 2
    dx = sim.buffer((5, 3))
    operands = (sim.upload(grad), sim.upload(x), sim.upload(target), sim.upload(weight))
    sim.run("NLLLossBackward", *operands, reduction, -100, total, dx)
    full = np.zeros((5, 3), np.float32)
    full[np.arange(5)[kept], target[kept]] = -2 * w[kept] / (w.sum() if reduction == 1 else 1)
    np.testing.assert_allclose(dx.read(), full, rtol=1e-5)


# ---- random
# ------------------------------------------------------------------------------------------------------------
def test_uniform_and_normal(sim: Sim) -> None:
    x, again, other = (sim.buffer((40001,)) for _ in range(3))
    sim.run("InplaceUniform", x, -1.0, 3.0, 7, 0)
    sim.run("InplaceUniform", again, -1.0, 3.0, 7, 0)
    sim.run("InplaceUniform", other, -1.0, 3.0, 7, 4)
    values = x.read()
    assert values.min() >= -1 and values.max() < 3 and abs(values.mean() - 1) < 0.05
    np.testing.assert_array_equal(values, again.read())
    assert (values != other.read()).mean() > 0.99
    sim.run("InplaceNormal", x, 2.0, 0.5, 11, 0)
    values = x.read()
    assert abs(values.mean() - 2) < 0.02 and abs(values.std() - 0.5) < 0.02


def test_dropout(sim: Sim) -> None:
    n = 10000
    mask = sim.buffer(((n + 127) // 128 * 16,), UINT8)
    sim.run("DropoutGenMask", [100, 100], 0.3, 5, 0, mask)
    bits = np.unpackbits(mask.read(), bitorder="little")[:n].reshape(100, 100)
    assert abs(bits.mean() - 0.7) < 0.03
    x, out = normal((100, 100)), sim.buffer((100, 100))
    sim.run("DropoutDoMask", sim.upload(x), mask, 0.3, out)
    np.testing.assert_allclose(out.read(), x * bits / np.float32(0.7), rtol=1e-6)


# ---- optimizer
# ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("amsgrad, maximize", [(False, False), (True, False), (False, True)])
def test_adamw(sim: Sim, amsgrad: bool, maximize: bool) -> None:
    lr, b1, b2, decay, eps = 0.01, 0.9, 0.99, 0.1, 1e-8
    p, m, v, top = normal((7, 3)).astype(np.float64), np.zeros((7, 3)), np.zeros((7, 3)), np.zeros((7, 3))
    buffers = [sim.upload(a, FLOAT) for a in (p, m, v, top)]
    for step in range(1, 4):
        g = normal((7, 3), step)
        state = sim.upload(np.array([step - 1], np.float32))  # steps done before, as torch_npu passes it
        sim.run("ApplyAdamWV2", *buffers, sim.upload(g), state, lr, b1, b2, decay, eps, amsgrad, maximize)
        g = -g if maximize else g
        p *= 1 - lr * decay
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        top = np.maximum(top, v)
        denominator = np.sqrt(top if amsgrad else v) / np.sqrt(1 - b2**step) + eps
        p -= lr / (1 - b1**step) * m / denominator
    np.testing.assert_allclose(buffers[0].read(), p, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(buffers[2].read(), v, rtol=1e-5, atol=1e-7)
