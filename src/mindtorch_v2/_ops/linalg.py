"""Matrix products, decompositions, solvers and attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _dtype as dt
from .._shape import broadcast_shapes
from .linalg_shapes import (
    det,
    eig,
    eigh,
    lstsq,
    lu,
    lu_factor_ex,
    lu_solve,
    qr,
    slogdet,
    solve_ex,
    solve_triangular,
    square_and_info,
    svd,
)
from .rules import Spec, like, result_type
from .table import op

# --- products -------------------------------------------------------------------------------------------------------


def cannot_multiply(first: tuple[int, ...], second: tuple[int, ...]) -> RuntimeError:
    """The error for two matrices that do not fit."""
    return RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({first[0]}x{first[1]} and {second[0]}x{second[1]})"
    )


def check_bmm(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """RuntimeError unless two stacks of matrices fit."""
    for name, shape in (("batch1", first), ("batch2", second)):
        if len(shape) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if second[0] != first[0] or second[1] != first[2]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{first[0]}, {first[2]}] but got: "
            f"[{second[0]}, {second[1]}]."
        )


def _mm(self: Any, mat2: Any) -> Spec:
    for name, t in (("self", self), ("mat2", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if self.shape[1] != mat2.shape[0]:
        raise cannot_multiply(self.shape, mat2.shape)
    return Spec((self.shape[0], mat2.shape[1]), self.dtype)


def _bmm(self: Any, mat2: Any) -> Spec:
    check_bmm(self.shape, mat2.shape)
    return Spec((self.shape[0], self.shape[1], mat2.shape[2]), self.dtype)


def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t.dim()}-D tensor")
    if mat1.shape[1] != mat2.shape[0]:
        raise cannot_multiply(mat1.shape, mat2.shape)
    return Spec((mat1.shape[0], mat2.shape[1]), self.dtype)


def _addmv(self: Any, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    return Spec((mat.shape[0],), self.dtype)


def _baddbmm(self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    return Spec((batch1.shape[0], batch1.shape[1], batch2.shape[2]), self.dtype)


def _addbmm(self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    return Spec((batch1.shape[1], batch2.shape[2]), self.dtype)


def _addr(self: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    return Spec((vec1.shape[0], vec2.shape[0]), result_type(self, vec1, vec2))


def _cross(self: Any, other: Any, dim: int = -1) -> Spec:
    return Spec(broadcast_shapes(self.shape, other.shape), result_type(self, other))


def _trilinear(
    i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any, unroll_dim: int = 1
) -> Spec:
    sizes: dict[int, int] = {}
    rank = i1.dim() + len(expand1)
    for t, inserted in ((i1, expand1), (i2, expand2), (i3, expand3)):
        sizes.update(zip((d for d in range(rank) if d not in inserted), t.shape))
    return Spec(tuple(sizes[d] for d in range(rank) if d not in sumdim), i1.dtype)


op("mm(Tensor self, Tensor mat2) -> Tensor", meta=_mm, out=True)
op("bmm(Tensor self, Tensor mat2) -> Tensor", meta=_bmm, out=True)
op("matmul(Tensor self, Tensor other) -> Tensor", out=True)
op("mv(Tensor self, Tensor vec) -> Tensor", meta=lambda self, vec: Spec((self.shape[0],), vec.dtype), out=True)
op("dot(Tensor self, Tensor tensor) -> Tensor", meta=lambda self, tensor: Spec((), self.dtype), out=True)
op("vdot(Tensor self, Tensor other) -> Tensor", meta=lambda self, other: Spec((), self.dtype), out=True)
op("inner(Tensor self, Tensor other) -> Tensor", out=True)
op("outer(Tensor self, Tensor vec2) -> Tensor", out="cast")
op("ger(Tensor self, Tensor vec2) -> Tensor", out="cast")
op(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    meta=_addmm,
    inplace=True,
    out=True,
)
op(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    meta=_addmv,
    inplace=True,
    out=True,
)
op(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    meta=_addbmm,
    inplace=True,
    out=True,
)
op(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    meta=_baddbmm,
    inplace=True,
    out=True,
)
op(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    meta=_addr,
    inplace=True,
    out="cast",
)
op("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", function=False, method=False)
op("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", function=False, method=False)
op("kron(Tensor self, Tensor other) -> Tensor", out="cast")
op("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", out=True)
op(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    meta=_cross,
    namespace="linalg",
    method=False,
    out=True,
)
op("linalg_matmul(Tensor self, Tensor other) -> Tensor", namespace="linalg", method=False, out=True)
op("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", namespace="linalg", method=False, out=True)
op("linalg_multi_dot(Tensor[] tensors) -> Tensor", namespace="linalg", method=False, out=True)
op("chain_matmul(Tensor[] matrices) -> Tensor", function=False, method=False)
op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", namespace="nn", method=False, out=True)
op("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", method=False)
op(
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, "
    "int unroll_dim=1) -> Tensor",
    meta=_trilinear,
    method=False,
)
op("matrix_power(Tensor self, int n) -> Tensor", out=True)
op("linalg_matrix_power(Tensor self, int n) -> Tensor", namespace="linalg", method=False, out=True)
op("matrix_exp(Tensor self) -> Tensor")
op("linalg_matrix_exp(Tensor self) -> Tensor", meta=like(), namespace="linalg", method=False)
op("linalg_vander(Tensor x, *, int? N=None) -> Tensor", namespace="linalg", method=False)


# --- distances ------------------------------------------------------------------------------------------------------


def _cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: int | None = None) -> Spec:
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return Spec((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)


def _pdist(self: Any, p: float = 2.0) -> Spec:
    n = self.shape[0]
    return Spec((n * (n - 1) // 2,), self.dtype)


op("cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor", function=False, method=False)
op(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
    meta=_cdist,
    function=False,
    method=False,
)
op(
    "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
    function=False,
    method=False,
    meta=lambda grad, x1, *rest: Spec((*grad.shape[:-2], *x1.shape[-2:]), x1.dtype),
)
op("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", function=False, method=False)
op("pdist(Tensor self, float p=2) -> Tensor", method=False)
op("_pdist_forward(Tensor self, float p=2) -> Tensor", meta=_pdist, function=False, method=False)
op(
    "_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor",
    meta=like(1),
    function=False,
    method=False,
)


# --- norms ----------------------------------------------------------------------------------------------------------

for _text in (
    "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor",
    "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor",
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
    "linalg_cond.p_str(Tensor self, str p) -> Tensor",
):
    op(_text, namespace="linalg", method=False, out=True)
op("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", method=False, out=True)
op("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", method=False, out=True)
op("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", method=False, out=True)


# --- decompositions and solvers -------------------------------------------------------------------------------------


def _linalg(text: str, meta: Callable[..., Any] | None = None, out: bool = True) -> None:
    op(text, meta=meta, namespace="linalg", method=False, out=out)


def _internal(text: str, meta: Callable[..., Any] | None = None) -> None:
    op(text, meta=meta, method=False)


_internal("_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()")
_internal("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", det)
_internal("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", slogdet)
_internal(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
    "(Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    solve_ex,
)
_internal(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> "
    "(Tensor U, Tensor S, Tensor Vh)",
    svd,
)
_internal(
    "_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)", eigh
)
op(
    "_linalg_eigvals(Tensor self) -> Tensor",
    meta=lambda self: eig(self)[0],
    function=False,
    method=False,
    no_grad="linalg_eigvals takes the differentiable linalg_eig where a gradient is needed",
)

_linalg("linalg_det(Tensor A) -> Tensor")
_linalg("linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)")
_linalg("linalg_inv(Tensor A) -> Tensor")
_linalg("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", square_and_info)
_linalg("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor")
_linalg(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)"
)
_linalg(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    solve_triangular,
)
_linalg("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)")
_linalg("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor")
_linalg("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", qr)
_linalg("linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)")
_linalg("linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor")
_linalg("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", eig)
_linalg("linalg_eigvals(Tensor self) -> Tensor")
_linalg("linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor")
_linalg(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    square_and_info,
)
_linalg(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> "
    "(Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    lstsq,
)
_linalg("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)")
_linalg("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)")
_linalg(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> "
    "(Tensor LU, Tensor pivots, Tensor info)",
    lu_factor_ex,
)
_linalg(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", lu_solve
)
_linalg("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor")
_linalg("linalg_tensorinv(Tensor self, int ind=2) -> Tensor")
_linalg(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor"
)
_linalg(
    "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor"
)
_linalg("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor")
_linalg("linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor")
_linalg(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) "
    "-> Tensor"
)
_linalg(
    "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) "
    "-> Tensor"
)
_linalg("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor")
_linalg("linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor")

op("det(Tensor self) -> Tensor")
op("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", out=True)
op("logdet(Tensor self) -> Tensor")
op("inverse(Tensor self) -> Tensor", out=True)
op("pinverse(Tensor self, float rcond=1e-15) -> Tensor")
op("cholesky(Tensor self, bool upper=False) -> Tensor", out=True)
op(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    meta=lambda self, input2, upper=False: lu_solve(input2, None, self),
    out=True,
)
op("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", meta=like(), out=True)
op("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", out=True)
op("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", out=True)
op(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> "
    "(Tensor solution, Tensor cloned_coefficient)",
    out=True,
)
op(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> "
    "(Tensor P, Tensor L, Tensor U)",
    meta=lambda LU, pivots, data=True, pivot=True: lu(LU),
    method=False,
    out=True,
)


# --- attention ------------------------------------------------------------------------------------------------------


def _flash(query: Any, key: Any, value: Any, *rest: Any) -> tuple[Spec, Spec]:
    b, h, n, _ = query.shape
    sums = dt.float64 if query.dtype is dt.float64 else dt.float32
    return Spec(tuple(query.shape), query.dtype), Spec((b, h, n), sums)


def _flash_backward(grad_out: Any, query: Any, key: Any, value: Any, *rest: Any) -> tuple[Spec, ...]:
    return tuple(Spec(tuple(t.shape), t.dtype) for t in (query, key, value))


op(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    namespace="nn",
    method=False,
)
op(
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
    "dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> "
    "(Tensor, Tensor)",
    method=False,
)
op(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, "
    "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
    meta=_flash,
    method=False,
)
op(
    "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, "
    "Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> "
    "(Tensor grad_query, Tensor grad_key, Tensor grad_value)",
    meta=_flash_backward,
    function=False,
    method=False,
)
op("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", method=False)
