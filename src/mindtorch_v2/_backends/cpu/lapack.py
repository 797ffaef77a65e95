"""What numpy.linalg leaves out: LU factors, triangular systems, the step at which a Cholesky factorisation fails, exp.

All functions take stacks of matrices, arrays in, arrays out, and follow LAPACK's conventions (pivots count from 1; an
info of 0 is success).
"""

from __future__ import annotations

from math import prod

import numpy as np

_PANEL = 32  # columns factored one by one before the rest of the matrix is updated by one product


def column_major(a: np.ndarray) -> np.ndarray:
    """The same matrices laid out column by column, as LAPACK and PyTorch leave them."""
    if a.ndim < 2:
        return a
    swapped = a.swapaxes(-1, -2)
    if swapped.flags.c_contiguous and 1 not in a.shape:
        return a
    # a copy, so that dimensions of one element have their strides too
    return np.array(swapped, order="C").swapaxes(-1, -2)


def lu_factor(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(LU, pivots, info): L (unit diagonal) and U of `P @ a = L @ U` in one matrix."""
    *batch, m, n = a.shape
    k = min(m, n)
    count = prod(batch)
    lu = np.array(a.reshape(count, m, n), order="C")
    pivots = np.empty((count, k), np.int32)
    info = np.zeros(count, np.int32)
    for start in range(0, k, _PANEL):
        stop = min(start + _PANEL, k)
        if count == 1:
            _factor_columns(lu[0], pivots[0], info, start, stop)
        else:
            _factor_panel(lu, pivots, info, start, stop)
        if stop < n:
            top = lu[:, start:stop, stop:]
            top[...] = _substitute(lu[:, start:stop, start:stop], top, unit=True)
            lu[:, stop:, stop:] -= np.matmul(lu[:, stop:, start:stop], top)
    return lu.reshape(a.shape), pivots.reshape(*batch, k), info.reshape(batch)


def _factor_columns(lu: np.ndarray, pivots: np.ndarray, info: np.ndarray, start: int, stop: int) -> None:
    """Eliminates below the diagonal in columns start..stop-1 of one matrix."""
    for j in range(start, stop):
        column = lu[j:, j]
        best = j + int(_size_of(column).argmax())
        pivots[j] = best + 1
        if best != j:
            lu[[j, best]] = lu[[best, j]]
        if column[0] == 0:
            info[0] = info[0] or j + 1
            continue
        below = column[1:]
        below /= column[0]
        lu[j + 1 :, j + 1 : stop] -= below[:, None] * lu[j, j + 1 : stop]


def _factor_panel(lu: np.ndarray, pivots: np.ndarray, info: np.ndarray, start: int, stop: int) -> None:
    """The same in all matrices of a stack at once."""
    rows = np.arange(lu.shape[0])
    for j in range(start, stop):
        best = _size_of(lu[:, j:, j]).argmax(axis=1) + j
        pivots[:, j] = best + 1
        if (best != j).any():
            held = lu[rows, best]
            lu[rows, best] = lu[:, j]
            lu[:, j] = held
        diagonal = lu[:, j, j]
        zero = diagonal == 0
        if zero.any():
            info[zero & (info == 0)] = j + 1
            diagonal = np.where(zero, 1, diagonal)
        column = lu[:, j + 1 :, j]
        column /= diagonal[:, None]
        lu[:, j + 1 :, j + 1 : stop] -= column[:, :, None] * lu[:, j, None, j + 1 : stop]


def _size_of(a: np.ndarray) -> np.ndarray:
    """What LAPACK compares to choose a pivot: |re| + |im|."""
    return np.abs(a.real) + np.abs(a.imag) if a.dtype.kind == "c" else np.abs(a)


def _substitute(lower: np.ndarray, b: np.ndarray, unit: bool) -> np.ndarray:
    """Row by row solution of `lower @ x = b`. Zeros on the diagonal give infinities, as IEEE division does."""
    shape = np.broadcast_shapes(lower.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*shape, *b.shape[-2:])))
    for i in range(lower.shape[-1]):
        if i:
            x[..., i, :] -= np.matmul(lower[..., i, None, :i], x[..., :i, :])[..., 0, :]
        if not unit:
            x[..., i, :] /= lower[..., i, i, None]
    return x


def solve_triangular(a: np.ndarray, b: np.ndarray, upper: bool, unit: bool = False) -> np.ndarray:
    """x of `a @ x = b`; only one triangle of `a` is read."""
    n = a.shape[-1]
    if not upper:  # the same system read backwards is upper triangular
        a, b = a[..., ::-1, ::-1], b[..., ::-1, :]
    a = np.triu(a)
    if unit:
        a[..., range(n), range(n)] = 1
    try:
        # Gaussian elimination of an upper triangular matrix neither exchanges rows nor changes it.
        x = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        x = _substitute(a[..., ::-1, ::-1], b[..., ::-1, :], unit=False)[..., ::-1, :]
    return x if upper else x[..., ::-1, :]


def permutation(pivots: np.ndarray, rows: int) -> np.ndarray:
    """For each matrix the order of rows that the exchanges in `pivots` lead to: `a[order]` is `P @ a`."""
    *batch, k = pivots.shape
    count = prod(batch)
    exchanges = pivots.reshape(count, k) - 1
    order = np.tile(np.arange(rows), (count, 1))
    each = np.arange(count)
    for j in range(k):
        other = exchanges[:, j]
        held = order[each, other]
        order[each, other] = order[:, j]
        order[:, j] = held
    return order.reshape(*batch, rows)


def lu_solve(lu: np.ndarray, pivots: np.ndarray, b: np.ndarray, adjoint: bool = False) -> np.ndarray:
    """x of `A @ x = b` (or of `A^H @ x = b`) from the factors of A."""
    n = lu.shape[-1]
    shape = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b = np.broadcast_to(b, (*shape, *b.shape[-2:]))
    order = permutation(np.broadcast_to(pivots, (*shape, n)), n)
    if not adjoint:
        b = np.take_along_axis(b, order[..., None], axis=-2)
        return solve_triangular(lu, solve_triangular(lu, b, upper=False, unit=True), upper=True)
    transposed = lu.conj().swapaxes(-1, -2)
    x = solve_triangular(transposed, solve_triangular(transposed, b, upper=False), upper=True, unit=True)
    out = np.empty_like(x)
    np.put_along_axis(out, order[..., None], x, axis=-2)
    return out


def permutation_sign(pivots: np.ndarray) -> np.ndarray:
    """+1 or -1 for each matrix: the parity of the exchanges."""
    moved = (pivots != np.arange(1, pivots.shape[-1] + 1)).sum(axis=-1)
    return 1 - 2 * (moved % 2)


def cholesky(a: np.ndarray, upper: bool) -> tuple[np.ndarray, np.ndarray]:
    """(factor, info): where a matrix is not positive definite, info is the order of the minor that is not, and the
    factor is left as far as it was computed."""
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        return np.linalg.cholesky(a, upper=upper), info
    except np.linalg.LinAlgError:
        pass
    lower = np.array(a.conj().swapaxes(-1, -2) if upper else a).reshape(-1, *a.shape[-2:])
    steps = np.array([_cholesky_steps(matrix) for matrix in lower], np.int32)
    factor = np.tril(lower).reshape(a.shape)
    return factor.conj().swapaxes(-1, -2) if upper else factor, steps.reshape(info.shape)


def _cholesky_steps(a: np.ndarray) -> int:
    """Factors one matrix in place, column by column; the step that failed, or 0."""
    for j in range(a.shape[0]):
        a[j:, j] -= a[j:, :j] @ a[j, :j].conj()
        pivot = a[j, j].real
        if not pivot > 0:
            return j + 1
        a[j, j] = root = np.sqrt(pivot)
        a[j + 1 :, j] /= root
    return 0


_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)


def matrix_exp(a: np.ndarray) -> np.ndarray:
    """exp of each matrix: the rational approximation of order 13, after halving until the norm is small."""
    if a.size == 0:
        return a.copy()
    wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    norm = np.abs(wide).sum(axis=-2).max(axis=-1)
    halvings = np.ceil(np.log2(np.maximum(norm, 1e-300) / 5.37)).clip(0, 1000)
    halvings = np.where(np.isfinite(halvings), halvings, 0).astype(np.int64)
    x = wide / (2.0**halvings)[..., None, None]
    identity = np.eye(a.shape[-1])
    b = _PADE
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x @ (x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * identity)
    even = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * identity
    out = np.linalg.solve(even - odd, even + odd)
    for step in range(int(halvings.max())):
        squared = out @ out
        out = np.where((step < halvings)[..., None, None], squared, out)
    return out.astype(a.dtype)
