"""Kernels of factorisations and linear solvers, on numpy.linalg and `lapack`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from ..._dispatch.widening import is_narrow
from ..._errors import LinAlgError
from ..._ops.linalg_shapes import vector_case
from .errors import not_implemented, type_word
from .lapack import (
    cholesky,
    column_major,
    lu_factor,
    lu_solve,
    matrix_exp,
    permutation,
    permutation_sign,
    solve_triangular,
)


def check_matrix(a: np.ndarray, function: str, square: bool = True, name: str = "A") -> None:
    """Raises unless `a` is a stack of (square) matrices of a type that LAPACK takes."""
    if a.ndim < 2:
        raise RuntimeError(f"{function}: The input tensor {name} must have at least 2 dimensions.")
    if square and a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{function}: {name} must be batches of square matrices, but they are "
            f"{a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if is_narrow(a):
        raise RuntimeError(f"{function}: Low precision dtypes not supported. Got {type_word(a)}")
    if a.dtype.kind not in "fc":
        raise RuntimeError(f"{function}: Expected a floating point or complex tensor as input. Got {type_word(a)}")


_FAILURES = (
    (
        "inv",
        "The diagonal element {0} is zero, the inversion could not be completed because the input matrix is singular.",
    ),
    ("solve", "The solver failed because the input matrix is singular."),
    (
        "cholesky",
        "The factorization could not be completed because the input is not positive-definite (the leading minor of "
        "order {0} is not positive-definite).",
    ),
    (
        "lu_factor",
        "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform "
        "the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
    ),
)


def raise_failure(info: np.ndarray, function: str) -> None:
    """Raises for the first matrix whose `info` is not 0."""
    codes = info.reshape(-1)
    if not codes.any():
        return
    which = int((codes != 0).argmax())
    text = next(text for word, text in _FAILURES if word in function)
    batch = "" if info.ndim == 0 else f"(Batch element {which}): "
    kind = RuntimeError if "lu_factor" in function else LinAlgError
    raise kind(f"{function}: {batch}{text.format(codes[which])}")


def _run_decomposition(function: str, decompose: Callable[..., Any], a: np.ndarray, *args: Any) -> Any:
    """Runs a numpy decomposition; its failure to converge becomes PyTorch's error."""
    try:
        return decompose(a, *args)
    except np.linalg.LinAlgError:
        which = "" if a.ndim == 2 else f"(Batch element {_first_bad(a)}): "
        raise LinAlgError(
            f"{function}: {which}The algorithm failed to converge because the input matrix contained non-finite values."
        ) from None


def _first_bad(a: np.ndarray) -> int:
    finite = np.isfinite(a).reshape(-1, a.shape[-2] * a.shape[-1]).all(axis=1)
    return int(finite.argmin()) if finite.size else 0


# --- LU -------------------------------------------------------------------------------------------------------------


@kernel("_linalg_det")
def linalg_det(A: np.ndarray) -> tuple[np.ndarray, ...]:
    check_matrix(A, "linalg.det")
    lu, pivots, _ = lu_factor(A)
    diagonal = lu.diagonal(axis1=-2, axis2=-1)
    return (diagonal.prod(axis=-1) * permutation_sign(pivots)).astype(A.dtype), column_major(lu), pivots


@kernel("_linalg_slogdet")
def linalg_slogdet(A: np.ndarray) -> tuple[np.ndarray, ...]:
    check_matrix(A, "linalg.slogdet")
    lu, pivots, _ = lu_factor(A)
    diagonal = lu.diagonal(axis1=-2, axis2=-1)
    size = np.abs(diagonal)
    sign = (
        np.divide(diagonal, size, out=np.zeros_like(diagonal), where=size != 0).prod(axis=-1) * permutation_sign(pivots)
    ).astype(A.dtype)
    return sign, np.log(size).sum(axis=-1).astype(size.dtype), column_major(lu), pivots


@kernel("linalg_det")
def det(A: np.ndarray) -> Any:
    """Where no gradient is wanted, the factors are not either."""
    check_matrix(A, "linalg.det")
    return np.linalg.det(A)


@kernel("linalg_lu_factor_ex")
def linalg_lu_factor_ex(A: np.ndarray, pivot: bool, check_errors: bool) -> tuple[np.ndarray, ...]:
    check_matrix(A, "torch.linalg.lu_factor_ex", square=False)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    lu, pivots, info = lu_factor(A)
    return column_major(lu), pivots, info


@kernel("linalg_lu_solve")
def linalg_lu_solve(LU: np.ndarray, pivots: np.ndarray, B: np.ndarray, left: bool, adjoint: bool) -> np.ndarray:
    check_matrix(LU, "torch.linalg.lu_solve", name="LU")
    if left:
        return column_major(lu_solve(LU, pivots, B, adjoint))
    solved = lu_solve(LU, pivots, B.conj().swapaxes(-1, -2), not adjoint)
    return np.ascontiguousarray(solved.conj().swapaxes(-1, -2))


@kernel("lu_unpack")
def lu_unpack(
    LU_data: np.ndarray, LU_pivots: np.ndarray, unpack_data: bool, unpack_pivots: bool
) -> tuple[np.ndarray, ...]:
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    nothing = np.empty((0,), LU_data.dtype)
    p = lower = upper = nothing
    if unpack_data:
        lower = np.tril(LU_data[..., :, :k], -1)
        lower[..., range(k), range(k)] = 1
        upper = np.triu(LU_data[..., :k, :])
    if unpack_pivots:
        order = permutation(LU_pivots, m)
        p = np.zeros((*LU_data.shape[:-2], m, m), LU_data.dtype)
        np.put_along_axis(p, order[..., None, :], 1, axis=-2)
    return p, lower, upper


# --- solvers --------------------------------------------------------------------------------------------------------


@kernel("linalg_inv_ex")
def linalg_inv_ex(A: np.ndarray, check_errors: bool) -> tuple[np.ndarray, np.ndarray]:
    check_matrix(A, "linalg.inv")
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        return column_major(np.linalg.inv(A)), info
    except np.linalg.LinAlgError:
        lu, pivots, info = lu_factor(A)
        identity = np.broadcast_to(np.eye(A.shape[-1], dtype=A.dtype), A.shape)
        return column_major(lu_solve(lu, pivots, identity)), info


@kernel("linalg_inv")
def linalg_inv(A: np.ndarray) -> np.ndarray:
    check_matrix(A, "linalg.inv")
    try:
        return column_major(np.linalg.inv(A))
    except np.linalg.LinAlgError:
        raise_failure(lu_factor(A)[2], "linalg.inv")
        raise


def _equation(left: bool) -> str:
    return "AX = B" if left else "XA = B"


def check_system(function: str, A: np.ndarray, B: np.ndarray, left: bool) -> None:
    """Raises unless `A @ X = B` (or `X @ A = B`) makes sense for matrices B."""
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{function}: Expected A and B to have the same dtype, but found A of type {type_word(A)} "
            f"and B of type {type_word(B)} instead"
        )
    check_matrix(A, function)
    if B.ndim < 2:
        raise RuntimeError(f"{function}: The input tensor B must have at least 2 dimensions.")
    if A.shape[-2] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{function}: Incompatible shapes of A and B for the equation {_equation(left)} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


@kernel("_linalg_solve_ex")
def linalg_solve_ex(A: np.ndarray, B: np.ndarray, left: bool, check_errors: bool) -> tuple[np.ndarray, ...]:
    vector = vector_case(A, B)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this "
            "case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    matrices = B[..., None] if vector else B
    check_system("linalg.solve", A, matrices, left)
    lu, pivots, info = lu_factor(A)
    if not left:
        x = lu_solve(lu, pivots, matrices.conj().swapaxes(-1, -2), adjoint=True).conj().swapaxes(-1, -2)
        return np.ascontiguousarray(x), column_major(lu), pivots, info
    try:
        x = np.linalg.solve(A, matrices)
    except np.linalg.LinAlgError:
        x = lu_solve(lu, pivots, matrices)
    return (x[..., 0] if vector else column_major(x)), column_major(lu), pivots, info


@kernel("linalg_solve")
def linalg_solve(A: np.ndarray, B: np.ndarray, left: bool) -> np.ndarray:
    """Where no gradient is wanted, the factors are not either."""
    if not left:
        result, _, _, info = linalg_solve_ex(A, B, left, False)
        raise_failure(info, "torch.linalg.solve")
        return result
    vector = vector_case(A, B)
    matrices = B[..., None] if vector else B
    check_system("linalg.solve", A, matrices, left)
    try:
        x = np.linalg.solve(A, matrices)
    except np.linalg.LinAlgError:
        raise_failure(lu_factor(A)[2], "torch.linalg.solve")
        raise
    return x[..., 0] if vector else column_major(x)


@kernel("linalg_solve_triangular")
def linalg_solve_triangular(
    self: np.ndarray, B: np.ndarray, upper: bool, left: bool, unitriangular: bool
) -> np.ndarray:
    check_system("linalg.solve_triangular", self, B, left)
    if left:
        return column_major(solve_triangular(self, B, upper, unitriangular))
    x = solve_triangular(self.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper, unitriangular)
    return column_major(x.swapaxes(-1, -2))


@kernel("cholesky_solve")
def cholesky_solve(self: np.ndarray, input2: np.ndarray, upper: bool) -> np.ndarray:
    for name, t in (("b", self), ("u", input2)):
        if t.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {t.ndim} dimensions instead")
    if self.shape[-2] != input2.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-2]} by "
            f"{input2.shape[-1]} but each b matrix is {self.shape[-2]} by {self.shape[-1]}"
        )
    check_matrix(input2, "cholesky_solve")
    lower = input2.conj().swapaxes(-1, -2) if upper else input2
    first = solve_triangular(lower, self, upper=False)
    return column_major(solve_triangular(lower.conj().swapaxes(-1, -2), first, upper=True))


@kernel("cholesky_inverse")
def cholesky_inverse(self: np.ndarray, upper: bool) -> np.ndarray:
    check_matrix(self, "cholesky_inverse")
    return cholesky_solve(np.eye(self.shape[-1], dtype=self.dtype), self, upper)


# --- factorisations -------------------------------------------------------------------------------------------------


@kernel("linalg_cholesky_ex")
def linalg_cholesky_ex(self: np.ndarray, upper: bool, check_errors: bool) -> tuple[np.ndarray, np.ndarray]:
    check_matrix(self, "linalg.cholesky")
    factor, info = cholesky(self, upper)
    return column_major(factor), info


@kernel("linalg_qr")
def linalg_qr(A: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_matrix(A, "linalg.qr", square=False)
    made: Any = np.linalg.qr(A, mode)  # type: ignore[call-overload]
    if mode == "r":
        return np.empty((0,), A.dtype), column_major(made)
    return column_major(made[0]), column_major(made[1])


@kernel("_linalg_svd")
def linalg_svd(A: np.ndarray, full_matrices: bool, compute_uv: bool, driver: str | None) -> tuple[np.ndarray, ...]:
    check_matrix(A, "linalg.svd", square=False)
    if not compute_uv:
        nothing = np.empty((0,), A.dtype)
        return nothing, _run_decomposition("linalg.svd", np.linalg.svd, A, full_matrices, False), nothing
    u, s, vh = _run_decomposition("linalg.svd", np.linalg.svd, A, full_matrices)
    return column_major(u), s, column_major(vh)


@kernel("_linalg_eigh")
def linalg_eigh(A: np.ndarray, UPLO: str, compute_v: bool) -> tuple[np.ndarray, np.ndarray]:
    if A.ndim > 1 and A.dtype.kind not in "fc":
        raise not_implemented("linalg_eigh_cpu", A)
    check_matrix(A, "linalg.eigh")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if not compute_v:
        return _run_decomposition("linalg.eigh", np.linalg.eigvalsh, A, UPLO), np.empty((0,), A.dtype)
    values, vectors = _run_decomposition("linalg.eigh", np.linalg.eigh, A, UPLO)
    return values, column_major(vectors)


def _check_eig(a: np.ndarray) -> None:
    if a.dtype.kind not in "fc":
        raise RuntimeError(f"Unknown Complex ScalarType for {type_word(a)}")
    check_matrix(a, "linalg.eig")
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def _complex_of(a: np.ndarray) -> Any:
    return np.complex64 if a.dtype in (np.float32, np.complex64) else np.complex128


@kernel("linalg_eig")
def linalg_eig(self: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    _check_eig(self)
    values, vectors = np.linalg.eig(self)
    kind = _complex_of(self)
    return values.astype(kind), column_major(vectors.astype(kind))


@kernel("_linalg_eigvals")
def linalg_eigvals(self: np.ndarray) -> np.ndarray:
    _check_eig(self)
    return np.linalg.eigvals(self).astype(_complex_of(self))


@kernel("linalg_matrix_exp")
def linalg_matrix_exp(self: np.ndarray) -> np.ndarray:
    check_matrix(self, "linalg.matrix_exp")
    return matrix_exp(self)


@kernel("linalg_lstsq")
def linalg_lstsq(self: np.ndarray, b: np.ndarray, rcond: float | None, driver: str | None) -> tuple[np.ndarray, ...]:
    check_matrix(self, "torch.linalg.lstsq", square=False, name="input")
    driver = driver or "gelsy"
    vector = vector_case(self, b)
    rhs = b[..., None] if vector else b
    m, n = self.shape[-2:]
    if rhs.shape[-2] != m:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    if rcond is None:
        rcond = float(np.finfo(self.dtype).eps) * max(m, n)
    batch = np.broadcast_shapes(self.shape[:-2], rhs.shape[:-2])
    systems = np.broadcast_to(self, (*batch, m, n)).reshape(-1, m, n)
    sides = np.broadcast_to(rhs, (*batch, *rhs.shape[-2:])).reshape(-1, *rhs.shape[-2:])
    solved = [np.linalg.lstsq(a, r, rcond) for a, r in zip(systems, sides)]
    nothing = np.empty((0,), systems.real.dtype)
    x = np.array([s[0] for s in solved], self.dtype).reshape(*batch, n, rhs.shape[-1])
    residuals: Any = nothing
    ranks: Any = np.empty((0,), np.int64)
    values: Any = nothing
    if m > n and driver != "gelsy":
        left = np.abs(np.matmul(self, x) - rhs)
        residuals = (left * left).sum(axis=-2)
    own = self.shape[:-2]  # ranks and singular values are those of the matrices, however many sides each has
    count = int(np.prod(own))
    if driver != "gels":
        owners = np.broadcast_to(np.arange(count).reshape(own), batch).reshape(-1)
        first = [solved[i] for i in np.unique(owners, return_index=True)[1]]
        ranks = np.array([s[2] for s in first], np.int64).reshape(own if len(first) == count else batch)
        if driver in ("gelsd", "gelss"):
            values = np.array([s[3] for s in first], nothing.dtype).reshape(*ranks.shape, min(m, n))
    whole = np.empty((*batch, rhs.shape[-1], max(m, n)), x.dtype).swapaxes(-1, -2)
    whole[..., :n, :] = x
    x = whole[..., :n, :]  # LAPACK leaves the solution in the first rows of the right-hand side
    if vector:
        return x[..., 0], residuals, ranks, values
    return x, residuals, ranks, values
