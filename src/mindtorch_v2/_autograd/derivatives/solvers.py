"""Gradients of linear solvers. Notation: X^H is the conjugate transpose; g is the gradient of the output."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..._dispatch.modes import grad_enabled
from ..._ops.linalg_shapes import vector_case
from ..rules import derivative
from .common import conj
from .matrices import dagger, diagonal_matrix, product


def records_again(t: Any) -> bool:
    """Whether the gradient being computed will itself be differentiated by `t`."""
    return bool(grad_enabled() and t.requires_grad)


# --- inverse, solve, determinant


def _inverse_grad(g: Any, result0: Any) -> Any:
    if g[0] is None:
        return None
    transposed = dagger(result0)
    return aten.neg(aten.matmul(transposed, aten.matmul(g[0], transposed)))


derivative("linalg_inv_ex", A=_inverse_grad)


def _solve_grads(g: Any, needs: Any, A: Any, B_shape: Any, left: bool, result0: Any, result1: Any, result2: Any) -> Any:
    """A X = B: the gradient of B solves A^H Y = g, that of A is -Y X^H."""
    if g[0] is None:
        return None, None
    vector = vector_case(A, _Shaped(B_shape))
    gradient = aten.unsqueeze(g[0], -1) if vector else g[0]
    if records_again(A):
        solved = aten.linalg_solve(dagger(A), gradient, left=left)
    else:
        solved = aten.linalg_lu_solve(result1, result2, gradient, left=left, adjoint=True)
    by_a = None
    if needs[0]:
        x = dagger(aten.unsqueeze(result0, -1) if vector else result0)
        by_a = aten.neg(aten.matmul(solved, x) if left else aten.matmul(x, solved))
    return by_a, (aten.squeeze(solved, -1) if vector else solved) if needs[1] else None


class _Shaped:
    """A shape where a tensor is expected."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


derivative("_linalg_solve_ex", inputs=("A", "B"), joint=_solve_grads, constant=(1,))


def _inverse_times_diagonal(A: Any, lu: Any, pivots: Any, diagonal: Any) -> Any:
    """diagonal * A^-H, for a gradient by A of something that depends on its determinant."""
    matrix = diagonal_matrix(aten.expand(aten.unsqueeze(diagonal, -1), A.shape[:-1]))
    if records_again(A):
        return aten._linalg_solve_ex(dagger(A), matrix)[0]
    on_diagonal = aten.diagonal(lu, 0, -2, -1)
    tiny = {"float32": 1.1920929e-07, "complex64": 1.1920929e-07}.get(lu.dtype.name, 2.220446049250313e-16)
    nudged = aten.add(lu, diagonal_matrix(aten.mul(aten.to(aten.eq(on_diagonal, 0), lu.dtype), tiny)))
    return aten.linalg_lu_solve(nudged, pivots, matrix, adjoint=True)


def _det_grad(g: Any, A: Any, result0: Any, result1: Any, result2: Any) -> Any:
    if g[0] is None:
        return None
    return _inverse_times_diagonal(A, result1, result2, aten.mul(g[0], conj(result0)))


def _slogdet_grad(g: Any, A: Any, result0: Any, result2: Any, result3: Any) -> Any:
    by_sign, by_log = g[0], g[1]
    if A.dtype.is_complex and by_sign is not None:
        turned = aten.mul(aten.imag(aten.mul(conj(by_sign), result0)), -1j)
        by_log = turned if by_log is None else aten.add(by_log, turned)
    if by_log is None:
        return None
    return _inverse_times_diagonal(A, result2, result3, aten.to(by_log, A.dtype))


derivative("_linalg_det", A=_det_grad, constant=(1,))
derivative("_linalg_slogdet", A=_slogdet_grad, constant=(2,))


# --- LU factors


def _lu_solve_grads(g: Any, needs: Any, LU: Any, pivots: Any, left: bool, adjoint: bool, result: Any) -> Any:
    solved = aten.linalg_lu_solve(LU, pivots, g, left=left, adjoint=not adjoint)
    by_lu = None
    if needs[0]:
        by_a = aten.neg(aten.matmul(solved, dagger(result)) if left else aten.matmul(dagger(result), solved))
        if adjoint:
            by_a = dagger(by_a)
        p, lower, upper = aten.lu_unpack(LU, pivots, True, True)
        inner = aten.matmul(dagger(p), by_a)
        by_lu = aten.add(aten.tril(aten.matmul(inner, dagger(upper)), -1), aten.triu(aten.matmul(dagger(lower), inner)))
    return by_lu, solved if needs[1] else None


derivative("linalg_lu_solve", inputs=("LU", "B"), joint=_lu_solve_grads)


# --- triangular systems


def _triangular_grads(g: Any, needs: Any, self: Any, result: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    solved = aten.linalg_solve_triangular(dagger(self), g, upper=not upper, left=left, unitriangular=unitriangular)
    by_self = None
    if needs[0]:
        x = dagger(result)
        whole = aten.neg(aten.matmul(solved, x) if left else aten.matmul(x, solved))
        by_self = aten.triu(whole, int(unitriangular)) if upper else aten.tril(whole, -int(unitriangular))
    return by_self, solved if needs[1] else None


derivative("linalg_solve_triangular", inputs=("self", "B"), joint=_triangular_grads)


def _cholesky_grad_of(g: Any, factor: Any, upper: bool) -> Any:
    lower, g = (dagger(factor), dagger(g)) if upper else (factor, g)
    inner = aten.matmul(dagger(lower), g)
    half = aten.mul(aten.add(aten.tril(inner), dagger(aten.tril(inner, -1))), 0.5)
    once = aten.linalg_solve_triangular(dagger(lower), half, upper=True, left=True)
    return aten.linalg_solve_triangular(lower, once, upper=False, left=False)


derivative(
    "linalg_cholesky_ex",
    self=lambda g, result0, upper: None if g[0] is None else _cholesky_grad_of(g[0], result0, upper),
)
derivative("cholesky", self=lambda g, result, upper: _cholesky_grad_of(g, result, upper))


def _cholesky_solve_grads(g: Any, needs: Any, input2: Any, result: Any, upper: bool) -> Any:
    solved = aten.cholesky_solve(g, input2, upper)
    by_factor = None
    if needs[1]:
        common = aten.matmul(solved, dagger(result))
        common = aten.add(common, dagger(common))
        by_factor = aten.neg(aten.matmul(input2, common) if upper else aten.matmul(common, input2))
    return solved if needs[0] else None, by_factor


def _cholesky_inverse_grad(g: Any, self: Any, result: Any, upper: bool) -> Any:
    common = product(result, aten.add(g, dagger(g)), result)
    return aten.neg(aten.matmul(self, common) if upper else aten.matmul(common, self))


derivative("cholesky_solve", inputs=("self", "input2"), joint=_cholesky_solve_grads)
derivative("cholesky_inverse", self=_cholesky_inverse_grad)


# --- least squares, pseudo-inverse, exponential


def _pinv_grad_of(g: Any, inverse: Any, A: Any) -> Any:
    """-P^H G P^H + (I - A P) G^H P P^H + P^H P G^H (I - P A)"""
    ph, gh = dagger(inverse), dagger(g)
    right = aten.matmul(aten.matmul(gh, inverse), ph)
    right = aten.sub(right, product(A, inverse, right))
    left = aten.matmul(ph, aten.matmul(inverse, gh))
    left = aten.sub(left, product(left, inverse, A))
    return aten.add(aten.sub(right, aten.matmul(ph, aten.matmul(g, ph))), left)


derivative("linalg_pinv.atol_rtol_tensor", self=lambda g, self, result: _pinv_grad_of(g, result, self))


def _lstsq_grads(g: Any, needs: Any, self: Any, b: Any, result0: Any) -> Any:
    """The solution is pinv(A) b. What is left over, R = b - A x, is orthogonal to the columns of A, so the sums of
    its squares depend on A and b only as they stand in R.
    """
    vector = vector_case(self, b)
    by_x, rhs, x = (None if t is None else aten.unsqueeze(t, -1) if vector else t for t in (g[0], b, result0))
    by_squares = g[1]
    by_self = by_b = None
    if by_x is not None:
        inverse = aten.linalg_pinv(self)
        by_self = _pinv_grad_of(aten.matmul(by_x, dagger(rhs)), inverse, self) if needs[0] else None
        by_b = aten.matmul(dagger(inverse), by_x) if needs[1] else None
    if by_squares is not None and by_squares.numel():
        left = aten.mul(aten.sub(rhs, aten.matmul(self, x)), aten.mul(aten.unsqueeze(by_squares, -2), 2))
        by_self = _plus(by_self, aten.neg(aten.matmul(left, dagger(x)))) if needs[0] else None
        by_b = _plus(by_b, left) if needs[1] else None
    return by_self, aten.squeeze(by_b, -1) if vector and by_b is not None else by_b


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else aten.add(a, b)


derivative("linalg_lstsq", inputs=("self", "b"), joint=_lstsq_grads, constant=(3,))


def _matrix_exp_grad(g: Any, self: Any) -> Any:
    """The upper right block of exp([[A^H, G], [0, A^H]])."""
    transposed = dagger(self)
    n = self.shape[-1]
    top = aten.cat([transposed, g], -1)
    bottom = aten.cat([aten.zeros_like(transposed), transposed], -1)
    whole = aten.linalg_matrix_exp(aten.cat([top, bottom], -2))
    return aten.narrow(aten.narrow(whole, -2, 0, n), -1, n, n)


derivative("linalg_matrix_exp", self=_matrix_exp_grad)
