"""Operators that only other clients call: values against numpy.

`make oracle` lets the vendor's torch_npu call them itself.
"""

from __future__ import annotations

import numpy as np
import pytest
from simlib import BOOL, FLOAT, INT64, Scalar, Sim


def normal(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(buffer, expected) -> None:
    np.testing.assert_allclose(buffer.read(), expected, rtol=1e-5, atol=1e-6)


ELEMENTWISE = {
    "ClampMin": ([0.25], lambda x: np.maximum(x, np.float32(0.25))),
    "Hardtanh": ([-0.5, 0.5], lambda x: np.clip(x, -0.5, 0.5)),
    "Celu": ([2.0], lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    "LogSigmoid": ([], lambda x: -np.log1p(np.exp(-x))),
    "Sinc": ([], np.sinc),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(sim: Sim, name: str) -> None:
    scalars, expected = ELEMENTWISE[name]
    x, out = normal((3, 5)), sim.buffer((3, 5))
    sim.run(name, sim.upload(x), *(Scalar(s) for s in scalars), out)
    close(out, expected(x))


def test_in_place_twins_change_their_operand(sim: Sim) -> None:
    x = np.abs(normal((4, 3))) + 0.5
    for name, expected in (("InplaceSqrt", np.sqrt), ("InplaceTanh", np.tanh), ("InplaceReciprocal", np.reciprocal)):
        target = sim.upload(x)
        sim.run(name, target)
        close(target, expected(x))


def test_shifts_and_signs(sim: Sim) -> None:
    x, by, out = np.array([-9, 5, 1 << 40]), np.array([1, 3, 4]), sim.buffer((3,), INT64)
    sim.run("LeftShift", sim.upload(x), sim.upload(by), out)
    assert out.read().tolist() == (x << by).tolist()
    sim.run("RightShift", sim.upload(x), sim.upload(by), out)
    assert out.read().tolist() == (x >> by).tolist()
    signs = sim.buffer((4,), BOOL)
    sim.run("Signbit", sim.upload(np.array([-0.0, 0.0, -1, np.inf], np.float32)), signs)
    assert signs.read().astype(bool).tolist() == [True, False, True, False]


def test_reductions_over_dimensions(sim: Sim) -> None:
    x, out = normal((3, 4, 5)), sim.buffer((3, 5))
    sim.run("Norm", sim.upload(x), Scalar(3.0), [1], False, out)
    close(out, (np.abs(x) ** 3).sum(1) ** (1 / 3))
    sim.run("LogSumExp", sim.upload(x), [-2], False, out)
    close(out, np.log(np.exp(x).sum(1)))
    low, high = sim.buffer((1,)), sim.buffer((1,))
    sim.run("AminmaxDim", sim.upload(x.reshape(60)), 0, True, low, high)
    assert (low.read()[0], high.read()[0]) == (x.min(), x.max())


def test_medians_and_running_extremes(sim: Sim) -> None:
    x = np.array([[3, 1, 2, 1], [0, 5, 5, 4]], np.float32)
    values, places = sim.buffer((2,)), sim.buffer((2,), INT64)
    sim.run("MedianDim", sim.upload(x), 1, False, values, places)
    assert (values.read().tolist(), places.read().tolist()) == ([1, 4], [3, 3])
    values, places = sim.buffer((2, 4)), sim.buffer((2, 4), INT64)
    sim.run("Cummax", sim.upload(x), 1, values, places)
    assert values.read().tolist() == [[3, 3, 3, 3], [0, 5, 5, 5]]
    assert places.read().tolist() == [[0, 0, 0, 0], [0, 1, 2, 2]]


def test_movement(sim: Sim) -> None:
    x = np.arange(12).reshape(3, 4)
    out = sim.buffer((3, 4), INT64)
    sim.run("Roll", sim.upload(x), [1, -1], [0, 1], out)
    assert out.read().tolist() == np.roll(x, (1, -1), (0, 1)).tolist()
    out = sim.buffer((4, 6), INT64)
    sim.run("ConstantPadNd", sim.upload(x), [1, 1, 0, 1], Scalar(-7), out)
    assert out.read().tolist() == np.pad(x, ((0, 1), (1, 1)), constant_values=-7).tolist()
    out = sim.buffer((6, 4), INT64)
    sim.run("RepeatInterleaveWithDim", sim.upload(x), sim.upload(np.array([1, 2, 3])), 0, 6, out)
    assert out.read().tolist() == np.repeat(x, [1, 2, 3], 0).tolist()
    hot = sim.buffer((3, 4), INT64)
    sim.run("OneHot", sim.upload(np.array([2, 0, 3])), 4, sim.upload(np.array([1])), sim.upload(np.array([0])), -1, hot)
    assert hot.read().tolist() == np.eye(4, dtype=int)[[2, 0, 3]].tolist()


def test_large_integers_are_moved_exactly(sim: Sim) -> None:
    x, out = np.array([2**62 + 1, 3, -(2**61) - 5]), sim.buffer((3,), INT64)
    sim.run("Roll", sim.upload(x), [1], [], out)
    assert out.read().tolist() == np.roll(x, 1).tolist()


def test_distinct_values_and_counts(sim: Sim) -> None:
    x = np.array([3, 1, 3, 2, 1, 3])
    values, inverse, counts = (sim.buffer((6,), INT64) for _ in range(3))
    sim.run("Unique2", sim.upload(x), True, True, True, values, inverse, counts)
    assert (values.read()[:3].tolist(), counts.read()[:3].tolist()) == ([1, 2, 3], [2, 1, 3])
    assert inverse.read().tolist() == [2, 0, 2, 1, 0, 2]
    bins = sim.buffer((4,), INT64)
    sim.run("Bincount", sim.upload(x), None, 0, bins)
    assert bins.read().tolist() == [0, 2, 1, 3]


def test_losses_and_their_gradients(sim: Sim) -> None:
    x, y, one = normal((4, 3)), normal((4, 3), 1), sim.upload(np.ones((), np.float32))
    target = (y > 0).astype(np.float32)
    out, grad = sim.buffer(()), sim.buffer((4, 3))
    sim.run("L1Loss", sim.upload(x), sim.upload(y), 1, out)
    close(out, np.abs(x - y).mean())
    sim.run("BinaryCrossEntropyWithLogits", sim.upload(x), sim.upload(target), None, None, 2, out)
    close(out, (np.log1p(np.exp(x)) - x * target).sum())
    sim.run("BinaryCrossEntropyWithLogitsBackward", one, sim.upload(x), sim.upload(target), None, None, 2, grad)
    close(grad, 1 / (1 + np.exp(-x)) - target)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    scores = q @ k.swapaxes(-1, -2) * 0.5
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:])) == 0, -np.inf, scores)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("causal", [False, True])
def test_attention_and_its_gradient(sim: Sim, causal: bool) -> None:
    q, k, v, dy = (normal((2, 2, 4, 4), seed) for seed in range(4))
    upload = [sim.upload(a) for a in (q, k, v)]
    mask = sim.upload(np.triu(np.ones((4, 4)), 1).astype(bool)) if causal else None
    maxima, sums, out = sim.buffer((2, 2, 4, 8)), sim.buffer((2, 2, 4, 8)), sim.buffer(q.shape)
    options = (0.5, 1.0, 65536, 65536, 2, b"BNSD", 0, 0)
    sim.run("FlashAttentionScore", *upload, None, None, None, mask, None, *options, maxima, sums, None, out)
    close(out, attention(q, k, v, causal))
    grads = [sim.buffer(q.shape) for _ in range(3)]
    sim.run(
        "FlashAttentionScoreGrad",
        *upload,
        sim.upload(dy),
        None,
        None,
        None,
        mask,
        maxima,
        sums,
        None,
        out,
        None,
        *options,
        *grads,
        None,
    )
    step = np.float64(1e-4)
    direction = normal(q.shape, 9).astype(np.float64)
    for axis, found in enumerate(grads):
        wide = [a.astype(np.float64) for a in (q, k, v)]
        ends = []
        for sign in (1, -1):
            moved = list(wide)
            moved[axis] = wide[axis] + sign * step * direction
            ends.append((attention(*moved, causal) * dy).sum())
        assert (found.read() * direction).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-3, abs=1e-4)


def test_mixed_precision_scale(sim: Sim) -> None:
    grads = [sim.upload(np.array([2.0, 4.0], np.float32)), sim.upload(np.array([np.inf], np.float32))]
    found = sim.upload(np.zeros(1, np.float32))
    sim.run("ForeachNonFiniteCheckAndUnscale", grads[:1], found, sim.upload(np.array([0.5], np.float32)))
    assert (grads[0].read().tolist(), found.read()[0]) == ([1, 2], 0)
    sim.run("ForeachNonFiniteCheckAndUnscale", grads, found, sim.upload(np.array([1.0], np.float32)))
    assert found.read()[0] == 1
    scale, tracker = sim.upload(np.array([8.0], np.float32)), sim.upload(np.array([1], np.int32))
    sim.run("AmpUpdateScale", scale, tracker, found, 2.0, 0.5, 2, scale, tracker)
    assert (scale.read()[0], tracker.read()[0]) == (4, 0)
    nothing = sim.upload(np.zeros(1, np.float32))
    for _ in range(2):
        sim.run("AmpUpdateScale", scale, tracker, nothing, 2.0, 0.5, 2, scale, tracker)
    assert (scale.read()[0], tracker.read()[0]) == (8, 0)


def test_a_copy_between_plain_formats_is_the_only_operator_of_the_older_interface(sim: Sim) -> None:
    import ctypes as C

    source, target = sim.upload(normal((4,))), sim.buffer((4,), FLOAT)
    lib = sim.lib
    lib.aclCreateDataBuffer.restype = C.c_void_p
    buffers = [C.c_void_p(lib.aclCreateDataBuffer(C.c_void_p(b.address), C.c_size_t(16))) for b in (source, target)]
    one = [(C.c_void_p * 1)(b) for b in buffers]
    sim.check(lib.aclopCompileAndExecute(b"Identity", 1, None, one[0], 1, None, one[1], None, 0, 0, None, None))
    sim.sync(None)
    assert target.read().tolist() == source.read().tolist()
    for b in buffers:
        lib.aclDestroyDataBuffer(b)
