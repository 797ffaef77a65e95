"""Operators on places, rows and triangles: values against numpy."""

from __future__ import annotations

import ctypes as C

import numpy as np
import pytest
from simlib import INT64, Buffer, Scalar, Sim, SimError


def up(sim: Sim, array: object) -> Buffer:
    return sim.upload(np.ascontiguousarray(array, np.float32))


@pytest.mark.parametrize(("accumulate", "expected"), [(False, [0, 7, 2, 6]), (True, [0, 13, 2, 9])])
def test_put(sim: Sim, accumulate: bool, expected: list[float]) -> None:
    target, index = up(sim, [[0, 1], [2, 3]]), sim.upload(np.array([1, -1, 1]), INT64)
    sim.run("InplacePut", target, index, up(sim, [5, 6, 7]), accumulate)
    assert target.read().ravel().tolist() == expected
    with pytest.raises(SimError, match="index 4 of 4 elements"):
        sim.run("InplacePut", target, sim.upload(np.array([4]), INT64), up(sim, [1]), False)


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (7, 3), (2, 4), (3, 3, 3)])
def test_fill_diagonal(sim: Sim, shape: tuple[int, ...], wrap: bool) -> None:
    target, expected = up(sim, np.zeros(shape)), np.zeros(shape)
    np.fill_diagonal(expected, 5, wrap=wrap)
    sim.run("InplaceFillDiagonal", target, Scalar(5.0), wrap)
    assert target.read().tolist() == expected.tolist()


def test_embedding_renorm_limits_the_rows_that_are_asked_for(sim: Sim) -> None:
    target = up(sim, [[3, 4], [0.3, 0.4], [6, 8]])
    sim.run("EmbeddingRenorm", target, sim.upload(np.array([0, 1, 0]), INT64), 1.0, 2.0)
    np.testing.assert_allclose(target.read(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-5)


def test_angles_of_real_numbers(sim: Sim) -> None:
    out = sim.buffer((4,))
    sim.run("AngleV2", up(sim, [1, -2, 0, np.nan]), out)
    np.testing.assert_allclose(out.read(), [0, np.pi, 0, np.nan], rtol=1e-6)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_systems(sim: Sim, upper: bool, transpose: bool, unit: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 3, 3)) + 3 * np.eye(3), rng.standard_normal((2, 3, 2))
    used = np.triu(a) if upper else np.tril(a)
    if unit:
        used[:, range(3), range(3)] = 1
    x, copy = sim.buffer(b.shape), sim.buffer(a.shape)
    sim.run("TriangularSolve", up(sim, b), up(sim, a), upper, transpose, unit, x, copy)
    expected = np.linalg.solve(used.swapaxes(1, 2) if transpose else used, b)
    np.testing.assert_allclose(x.read(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dim", [0, 1])
def test_unique_slices_tell_their_number(sim: Sim, dim: int) -> None:
    x = np.array([[1, 0, 1], [0, 2, 0], [1, 0, 1], [0, 2, 0]], np.float32)
    values, inverse, counts = np.unique(x, axis=dim, return_inverse=True, return_counts=True)
    out, where, times = sim.buffer(x.shape), sim.buffer((x.shape[dim],), INT64), sim.buffer((x.shape[dim],), INT64)
    handles = [sim.tensor(t) for t in (up(sim, x), out, where, times)]
    size, executor = C.c_uint64(), C.c_void_p()
    first = sim.lib.aclnnUniqueDimGetWorkspaceSize
    sim.check(first(handles[0], True, True, dim, *handles[1:], C.byref(size), C.byref(executor)))
    sim.check(sim.lib.aclnnUniqueDim(None, 0, executor, None))
    sim.sync()
    shape, rank = C.POINTER(C.c_int64)(), C.c_uint64()
    sim.check(sim.lib.aclGetViewShape(C.c_void_p(handles[1]), C.byref(shape), C.byref(rank)))
    assert shape[: rank.value] == list(values.shape)
    assert out.read().ravel()[: values.size].tolist() == values.ravel().tolist()
    assert where.read().tolist() == inverse.ravel().tolist() and times.read()[: len(counts)].tolist() == counts.tolist()
    for handle in handles:
        sim.lib.aclDestroyTensor(handle)
