"""Shapes and types of what decompositions and solvers return."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .._shape import broadcast_shapes, contiguous_strides
from .rules import Spec


def _batch(t: Any) -> tuple[int, ...]:
    return tuple(t.shape[:-2])


def square_and_info(A: Any, *rest: Any) -> tuple[Spec, Spec]:
    return Spec(tuple(A.shape), A.dtype), Spec(_batch(A), dt.int32)


def lu_specs(A: Any) -> tuple[Spec, Spec]:
    pivots = Spec((*_batch(A), min(A.shape[-2:])), dt.int32)
    return Spec(tuple(A.shape), A.dtype), pivots


def det(A: Any) -> tuple[Spec, ...]:
    return (Spec(_batch(A), A.dtype), *lu_specs(A))


def slogdet(A: Any) -> tuple[Spec, ...]:
    return (Spec(_batch(A), A.dtype), Spec(_batch(A), A.dtype.to_real()), *lu_specs(A))


def vector_case(A: Any, B: Any) -> bool:
    """Whether B of `solve(A, B)` is a batch of vectors rather than of matrices."""
    return len(B.shape) == 1 or (len(A.shape) - 1 == len(B.shape) and tuple(B.shape) == tuple(A.shape[:-1]))


def solve_ex(A: Any, B: Any, left: bool = True, check_errors: bool = False) -> tuple[Spec, ...]:
    if vector_case(A, B):
        shape = (*broadcast_shapes(A.shape[:-2], B.shape[:-1]), B.shape[-1])
    else:
        shape = (*broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:])
    return (Spec(shape, A.dtype), *lu_specs(A), Spec(_batch(A), dt.int32))


def svd(A: Any, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None) -> tuple[Spec, ...]:
    m, n = A.shape[-2:]
    k = min(m, n)
    values = Spec((*_batch(A), k), A.dtype.to_real())
    if not compute_uv:
        return Spec((0,), A.dtype), values, Spec((0,), A.dtype)
    left, right = (m, n) if full_matrices else (k, k)
    return Spec((*_batch(A), m, left), A.dtype), values, Spec((*_batch(A), right, n), A.dtype)


def qr(A: Any, mode: str = "reduced") -> tuple[Spec, Spec]:
    m, n = A.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    q = Spec((0,), A.dtype) if mode == "r" else Spec((*_batch(A), m, k), A.dtype)
    return q, Spec((*_batch(A), k, n), A.dtype)


def eigh(A: Any, UPLO: str = "L", compute_v: bool = True) -> tuple[Spec, Spec]:
    return Spec(tuple(A.shape[:-1]), A.dtype.to_real()), Spec(tuple(A.shape) if compute_v else (0,), A.dtype)


def eig(self: Any) -> tuple[Spec, Spec]:
    return Spec(tuple(self.shape[:-1]), self.dtype.to_complex()), Spec(tuple(self.shape), self.dtype.to_complex())


def solve_triangular(self: Any, B: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Spec:
    return Spec((*broadcast_shapes(_batch(self), _batch(B)), *B.shape[-2:]), self.dtype)


def lstsq(self: Any, b: Any, rcond: float | None = None, driver: str | None = None) -> tuple[Spec, ...]:
    m, n = self.shape[-2:]
    driver = driver or "gelsy"
    vector = vector_case(self, b)
    batch = broadcast_shapes(_batch(self), b.shape[:-1] if vector else _batch(b))
    tail: tuple[int, ...] = () if vector else (b.shape[-1],)
    has_residuals = m > n and driver != "gelsy"
    # the solution stands in the first rows of the right-hand side
    rows, columns = max(m, n), 1 if vector else b.shape[-1]
    strides = (*(rows * columns * s for s in contiguous_strides(batch)), *((1,) if vector else (1, rows)))
    return (
        Spec((*batch, n, *tail), self.dtype, strides),
        Spec((*batch, *(tail or (1,))) if has_residuals else (0,), self.dtype.to_real()),
        Spec((0,) if driver == "gels" else _batch(self), dt.int64),
        Spec((*_batch(self), min(m, n)) if driver in ("gelsd", "gelss") else (0,), self.dtype.to_real()),
    )


def lu(A: Any, pivot: bool = True) -> tuple[Spec, ...]:
    m, n = A.shape[-2:]
    k, batch = min(m, n), _batch(A)
    return (
        Spec((*batch, m, m) if pivot else (0,), A.dtype),
        Spec((*batch, m, k), A.dtype),
        Spec((*batch, k, n), A.dtype),
    )


def lu_factor_ex(A: Any, pivot: bool = True, check_errors: bool = False) -> tuple[Spec, ...]:
    return (*lu_specs(A), Spec(_batch(A), dt.int32))


def lu_solve(LU: Any, pivots: Any, B: Any, left: bool = True, adjoint: bool = False) -> Spec:
    return Spec((*broadcast_shapes(_batch(LU), _batch(B)), *B.shape[-2:]), B.dtype)
