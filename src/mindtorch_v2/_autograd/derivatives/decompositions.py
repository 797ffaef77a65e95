"""Gradients of factorisations. Notation: X^H is the conjugate transpose; g is the gradient of the output."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..rules import derivative
from .common import conj
from .matrices import anti_hermitian, dagger, diagonal_matrix, differences, product

# --- QR


def _qr_grad(g: Any, mode: str, A: Any, result0: Any, result1: Any) -> Any:
    q, r = result0, result1
    by_q, by_r = g
    if by_q is None and by_r is None:
        return None
    m, n = A.shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if m >= n:
        return _tall_qr_grad(by_q, by_r, q, r)
    # A = [X Y], R = [U W]: X = Q U, W = Q^H Y.
    y = aten.narrow(A, -1, m, n - m)
    by_u = by_w = None
    if by_r is not None:
        by_u, by_w = aten.narrow(by_r, -1, 0, m), aten.narrow(by_r, -1, m, n - m)
        from_w = aten.matmul(y, dagger(by_w))
        by_q = from_w if by_q is None else aten.add(by_q, from_w)
    by_x = _tall_qr_grad(by_q, by_u, q, aten.narrow(r, -1, 0, m))
    by_y = aten.zeros_like(y) if by_w is None else aten.matmul(q, by_w)
    return aten.cat([by_x, by_y], -1)


def _tall_qr_grad(by_q: Any, by_r: Any, q: Any, r: Any) -> Any:
    """[g_Q + Q sym(triu(g_R R^H - Q^H g_Q))] R^-H, sym(X) being X + X^H with the diagonal counted once."""
    inner = None if by_r is None else aten.matmul(by_r, dagger(r))
    if by_q is not None:
        from_q = aten.matmul(dagger(q), by_q)
        inner = aten.neg(from_q) if inner is None else aten.sub(inner, from_q)
    upper = aten.triu(inner)
    both = aten.add(upper, dagger(aten.triu(inner, 1)))
    if both.dtype.is_complex:
        # The diagonal of Q^H g_Q counts by its real part.
        diagonal = aten.diagonal(both, 0, -2, -1)
        both = aten.sub(both, diagonal_matrix(aten.mul(aten.imag(diagonal), 1j)))
    whole = aten.matmul(q, both)
    if by_q is not None:
        whole = aten.add(by_q, whole)
    return aten.linalg_solve_triangular(dagger(r), whole, upper=False, left=False)


derivative("linalg_qr", A=_qr_grad)


# --- eigenvalues


def _check_phase(diagonal: Any, function: str, what: str, quantity: str) -> None:
    """The phase of complex vectors is arbitrary: a loss must not depend on it."""
    if diagonal.is_meta:
        return
    tolerance = 1e-2 if diagonal.dtype.itemsize <= 8 else 1e-4
    if aten.item(aten.any(aten.gt(aten.abs(aten.imag(diagonal)), tolerance))):
        raise RuntimeError(
            f"{function}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. "
            f"The specified loss function depends on this {quantity}"
        )


def _eigh_grad(g: Any, result0: Any, result1: Any) -> Any:
    """V (diag(g_L) + anti(V^H g_V) / 2E) V^H with E[i,j] = L[j] - L[i]."""
    by_values, by_vectors = g
    values, vectors = result0, result1
    if by_vectors is None:
        if by_values is None:
            return None
        return aten.matmul(aten.mul(vectors, aten.unsqueeze(by_values, -2)), dagger(vectors))
    inner = aten.matmul(dagger(vectors), by_vectors)
    if inner.dtype.is_complex:
        _check_phase(
            aten.diagonal(inner, 0, -2, -1), "linalg_eigh_backward", "eigenvectors", "quantity, so it is ill-defined."
        )
    inner = aten.div(aten.mul(anti_hermitian(inner), 0.5), differences(values))
    if by_values is not None:
        inner = aten.add(inner, diagonal_matrix(by_values))
    return product(vectors, inner, dagger(vectors))


derivative("_linalg_eigh", A=_eigh_grad)


def _eig_grad(g: Any, self_dtype: Any, result0: Any, result1: Any) -> Any:
    """V^-H (diag(g_L) + (V^H g_V - V^H V diag(Re(V^H g_V))) / conj(E)) V^H"""
    by_values, by_vectors = g
    values, vectors = result0, result1
    transposed = dagger(vectors)
    if by_vectors is None:
        if by_values is None:
            return None
        whole = aten.linalg_solve(transposed, aten.mul(aten.unsqueeze(by_values, -1), transposed))
        return whole if self_dtype.is_complex else aten.real(whole)
    inner = aten.matmul(transposed, by_vectors)
    on_diagonal = aten.diagonal(inner, 0, -2, -1)
    _check_phase(on_diagonal, "linalg_eig_backward", "eigenvectors", "quantity, so it is ill-defined.")
    lengths = aten.mul(vectors, aten.unsqueeze(aten.real(on_diagonal), -2))
    inner = aten.div(aten.sub(inner, aten.matmul(transposed, lengths)), conj(differences(values)))
    inner = aten.sub(inner, diagonal_matrix(aten.diagonal(inner, 0, -2, -1)))
    if by_values is not None:
        inner = aten.add(inner, diagonal_matrix(by_values))
    whole = aten.linalg_solve(transposed, aten.matmul(inner, transposed))
    return whole if self_dtype.is_complex else aten.real(whole)


derivative("linalg_eig", self=_eig_grad)


# --- singular values


def _svd_grad(
    g: Any, A_shape: Any, full_matrices: bool, compute_uv: bool, result0: Any, result1: Any, result2: Any
) -> Any:
    by_u, by_s, by_v = g
    if by_u is None and by_s is None and by_v is None:
        return None
    if not compute_uv:
        raise RuntimeError(
            "svd_backward: cannot compute the gradient without the singular vectors; use compute_uv=True"
        )
    u, s, vh = result0, result1, result2
    m, n = A_shape[-2:]
    k = min(m, n)
    if full_matrices:
        u, vh = aten.narrow(u, -1, 0, k), aten.narrow(vh, -2, 0, k)
        by_u = None if by_u is None else aten.narrow(by_u, -1, 0, k)
        by_v = None if by_v is None else aten.narrow(by_v, -2, 0, k)
    if by_u is None and by_v is None:
        left = aten.mul(u, aten.unsqueeze(by_s, -2))
        return aten.matmul(left, vh)
    whole = product(u, _svd_core(by_u, by_s, by_v, u, s, vh), vh)
    inverse = aten.reciprocal(s)
    if by_u is not None and m > k:
        outside = aten.sub(by_u, product(u, dagger(u), by_u))
        whole = aten.add(whole, aten.matmul(aten.mul(outside, aten.unsqueeze(inverse, -2)), vh))
    if by_v is not None and n > k:
        outside = aten.sub(by_v, product(by_v, dagger(vh), vh))
        whole = aten.add(whole, aten.matmul(u, aten.mul(aten.unsqueeze(inverse, -1), outside)))
    return whole


def _svd_core(by_u: Any, by_s: Any, by_v: Any, u: Any, s: Any, vh: Any) -> Any:
    """(anti(U^H g_U) / E) S + S (anti(V^H g_V) / E) + diag(g_S), with E[i,j] = S[j]^2 - S[i]^2."""
    gaps = differences(aten.mul(s, s))
    core = None
    left = None if by_u is None else anti_hermitian(aten.matmul(dagger(u), by_u))
    right = None if by_v is None else anti_hermitian(aten.matmul(vh, dagger(by_v)))
    if u.dtype.is_complex:
        both = left if right is None else right if left is None else aten.add(left, right)
        _check_phase(
            aten.diagonal(both, 0, -2, -1), "svd_backward", "singular vectors", "phase term, making it ill-defined."
        )
    if left is not None:
        core = aten.mul(aten.div(left, gaps), aten.unsqueeze(s, -2))
    if right is not None:
        term = aten.mul(aten.unsqueeze(s, -1), aten.div(right, gaps))
        core = term if core is None else aten.add(core, term)
    if u.dtype.is_complex:
        core = aten.sub(core, diagonal_matrix(aten.diagonal(core, 0, -2, -1)))
        if left is not None:
            phase = aten.diagonal(left, 0, -2, -1)
            core = aten.add(core, diagonal_matrix(aten.div(phase, aten.mul(s, 2))))
    return core if by_s is None else aten.add(core, diagonal_matrix(by_s))


derivative("_linalg_svd", A=_svd_grad)


# --- LU


def _plu_grad(by_l: Any, by_u: Any, p: Any, lower: Any, upper: Any) -> Any:
    """The gradient by A = P L U. Rows or columns beyond the square part follow from it by one triangular solve."""
    m, n = lower.shape[-2], upper.shape[-1]
    k = min(m, n)
    l1, u1 = aten.narrow(lower, -2, 0, k), aten.narrow(upper, -1, 0, k)
    by_l1 = None if by_l is None else aten.narrow(by_l, -2, 0, k)
    by_u1 = None if by_u is None else aten.narrow(by_u, -1, 0, k)
    rest = None
    if m > k and by_l is not None:
        l2, by_l2 = aten.narrow(lower, -2, k, m - k), aten.narrow(by_l, -2, k, m - k)
        rest = aten.linalg_solve_triangular(dagger(u1), by_l2, upper=False, left=False)
        correction = aten.neg(aten.matmul(dagger(l2), rest))
        by_u1 = correction if by_u1 is None else aten.add(by_u1, correction)
    if n > k and by_u is not None:
        u2, by_u2 = aten.narrow(upper, -1, k, n - k), aten.narrow(by_u, -1, k, n - k)
        rest = aten.linalg_solve_triangular(dagger(l1), by_u2, upper=True, unitriangular=True)
        correction = aten.neg(aten.matmul(rest, dagger(u2)))
        by_l1 = correction if by_l1 is None else aten.add(by_l1, correction)
    inner = None if by_l1 is None else aten.tril(aten.matmul(dagger(l1), by_l1), -1)
    if by_u1 is not None:
        term = aten.triu(aten.matmul(by_u1, dagger(u1)))
        inner = term if inner is None else aten.add(inner, term)
    square = aten.linalg_solve_triangular(dagger(u1), inner, upper=False, left=False)
    square = aten.linalg_solve_triangular(dagger(l1), square, upper=True, unitriangular=True)
    if m != n:
        if rest is None:
            shape = (*square.shape[:-2], m - k, k) if m > k else (*square.shape[:-2], k, n - k)
            rest = aten.zeros(list(shape), dtype=square.dtype, device=square.device)
        square = aten.cat([square, rest], -2 if m > k else -1)
    return aten.matmul(p, square)


def _lu_factor_grad(g: Any, pivot: bool, result0: Any, result1: Any) -> Any:
    by_lu = g[0]
    if by_lu is None:
        return None
    p, lower, upper = aten.lu_unpack(result0, result1, True, True)
    m, n = by_lu.shape[-2:]
    k = min(m, n)
    by_l = aten.tril(aten.narrow(by_lu, -1, 0, k), -1)
    return _plu_grad(by_l, aten.triu(aten.narrow(by_lu, -2, 0, k)), p, lower, upper)


def _lu_unpack_grad(g: Any, LU_data_shape: Any, LU_data_dtype: Any) -> Any:
    """Puts the gradients of L and U back into one matrix."""
    _, by_l, by_u = g
    if by_l is None and by_u is None:
        return None
    m, n = LU_data_shape[-2:]
    k = min(m, n)
    parts = []
    if by_l is not None:
        part = aten.tril(by_l, -1)
        parts.append(aten.constant_pad_nd(part, [0, n - k]) if n > k else part)
    if by_u is not None:
        part = aten.triu(by_u)
        parts.append(aten.constant_pad_nd(part, [0, 0, 0, m - k]) if m > k else part)
    return parts[0] if len(parts) == 1 else aten.add(parts[0], parts[1])


def _lu_grad(g: Any, result0: Any, result1: Any, result2: Any) -> Any:
    return None if g[1] is None and g[2] is None else _plu_grad(g[1], g[2], result0, result1, result2)


derivative("linalg_lu_factor_ex", A=_lu_factor_grad)
derivative("lu_unpack", LU_data=_lu_unpack_grad, constant=(0,))
derivative("linalg_lu", A=_lu_grad, constant=(0,))
