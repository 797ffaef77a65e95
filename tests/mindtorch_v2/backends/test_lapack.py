"""The factorisations that numpy lacks, on sizes that need several panels, and on matrices for which they must fail."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2._backends.cpu import lapack

SHAPES = [(3, 3), (5, 4, 4), (2, 3, 5, 3), (4, 6), (80, 80), (2, 70, 40), (33, 90), (0, 0), (2, 0, 3)]


def matrices(shape: tuple[int, ...], kind: str) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    real = rng.normal(size=shape)
    return real + 1j * rng.normal(size=shape) if kind == "complex" else real


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lu_factors_multiply_to_the_permuted_matrix(shape, kind):
    a = matrices(shape, kind)
    m, n = shape[-2:]
    k = min(m, n)
    lu, pivots, info = lapack.lu_factor(a)
    lower = np.tril(lu[..., :k], -1) + np.eye(m, k)
    order = lapack.permutation(pivots, m)
    np.testing.assert_allclose(
        np.take_along_axis(a, order[..., None], axis=-2), lower @ np.triu(lu[..., :k, :]), atol=1e-10
    )
    assert not info.any()
    if m == n and m:
        signed = lu.diagonal(axis1=-2, axis2=-1).prod(axis=-1) * lapack.permutation_sign(pivots)
        np.testing.assert_allclose(signed, np.linalg.det(a))


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (70, 70)], ids=str)
def test_lu_solve(shape, adjoint):
    a, b = matrices(shape, "complex"), matrices((*shape[:-1], 2), "real")
    x = lapack.lu_solve(*lapack.lu_factor(a)[:2], b, adjoint)
    np.testing.assert_allclose((a.conj().swapaxes(-1, -2) if adjoint else a) @ x, b, atol=1e-9)


def test_lu_tells_the_first_zero_pivot():
    stack = np.stack([np.eye(3), np.diag([1.0, 0.0, 1.0]), np.zeros((3, 3))])
    assert lapack.lu_factor(stack)[2].tolist() == [0, 2, 1]
    assert lapack.lu_factor(stack[1])[2] == 2


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_systems_read_one_triangle(upper, unit):
    a, b = matrices((4, 6, 6), "real") + 9 * np.eye(6), matrices((6, 2), "real")
    triangle = np.triu(a) if upper else np.tril(a)
    if unit:
        triangle = triangle - triangle * np.eye(6) + np.eye(6)
    np.testing.assert_allclose(
        triangle @ lapack.solve_triangular(a, b, upper, unit), np.broadcast_to(b, (4, 6, 2)), atol=1e-9
    )


def test_a_zero_on_the_diagonal_gives_infinities():
    with np.errstate(all="ignore"):
        x = lapack.solve_triangular(np.array([[1.0, 0.0], [2.0, 0.0]]), np.ones((2, 1)), upper=False)
    assert x.tolist() == [[1.0], [-np.inf]]


def test_cholesky_tells_which_minor_fails():
    stack = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0]), np.diag([4.0, 9.0, -1.0])])
    factor, info = lapack.cholesky(stack, upper=False)
    assert info.tolist() == [0, 2, 3]
    assert factor[0].tolist() == np.eye(3).tolist()
    assert factor[2].diagonal().tolist()[:2] == [2.0, 3.0]


@pytest.mark.parametrize("size", [0.0, 1e-9, 1.0, 40.0])
def test_matrix_exp_of_commuting_parts(size):
    a = matrices((3, 4, 4), "real") * size / 4
    np.testing.assert_allclose(
        lapack.matrix_exp(2 * a), lapack.matrix_exp(a) @ lapack.matrix_exp(a), rtol=1e-8, atol=1e-12
    )
    np.testing.assert_allclose(lapack.matrix_exp(np.zeros((2, 2))), np.eye(2))
