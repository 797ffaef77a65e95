"""More oracle cases of the family linalg: factorisations, solvers, norms, attention, second derivatives, errors."""

from __future__ import annotations

from . import linalg_error_cases
from .harness import Case, In

CASES: list[Case] = []
F64 = "float64"
C64, C128 = "complex64", "complex128"
SQUARE = In((3, 3), F64)
POSITIVE = "p = a @ a.mT + torch.eye(3, dtype=a.dtype)"  # positive definite, from a square matrix
REGULAR = "r = a + 3 * torch.eye(3, dtype=a.dtype)"


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, **kwargs))  # type: ignore[arg-type]


def fails(id: str, code: str, **inputs: In) -> None:
    case(f"error_{id}", code, grad=False, **inputs)


# --- solvers ----------------------------------------------------------------------------------------------------------
case("inv", f"{REGULAR}; torch.linalg.inv(r)", a=SQUARE)
case("inv_float", f"{REGULAR}; torch.inverse(r)", a=In((3, 3)))
case("inv_batch", f"{REGULAR}; r.inverse()", a=In((2, 3, 3), F64))
case("inv_complex", f"{REGULAR}; torch.linalg.inv(r)", a=In((3, 3), C128))
case("inv_empty", "torch.linalg.inv(a)", strides=False, a=In((0, 0)))
case("inv_ex", f"{REGULAR}; torch.linalg.inv_ex(r)", a=SQUARE)
case("inv_ex_singular", "torch.linalg.inv_ex(a).info", grad=False, a=In(values=[[1.0, 2.0], [2.0, 4.0]]))
for name, left, right in (
    ("matrix", (3, 3), (3, 2)),
    ("vector", (3, 3), (3,)),
    ("batch", (2, 3, 3), (2, 3, 2)),
    ("batch_vector", (2, 3, 3), (2, 3)),
    ("broadcast", (3, 3), (2, 3, 2)),
    ("broadcast_a", (2, 3, 3), (3, 2)),
):
    case(f"solve_{name}", f"{REGULAR}; torch.linalg.solve(r, b)", strides=False, a=In(left, F64), b=In(right, F64))
case("solve_right", f"{REGULAR}; torch.linalg.solve(r, b, left=False)", a=SQUARE, b=In((2, 3), F64))
case("solve_complex", f"{REGULAR}; torch.linalg.solve(r, b)", a=In((3, 3), C128), b=In((3, 2), C128))
case("solve_ex", f"{REGULAR}; torch.linalg.solve_ex(r, b)", strides=False, a=SQUARE, b=In((3, 2), F64))
for upper in (True, False):
    for unit in (True, False):
        case(
            f"solve_triangular_{upper}_{unit}",
            f"{REGULAR}; torch.linalg.solve_triangular(r, b, upper={upper}, unitriangular={unit})",
            a=SQUARE,
            b=In((3, 2), F64),
        )
    case(
        f"solve_triangular_right_{upper}",
        f"{REGULAR}; torch.linalg.solve_triangular(r, b, upper={upper}, left=False)",
        a=SQUARE,
        b=In((2, 3), F64),
    )
    case(f"cholesky_{upper}", f"{POSITIVE}; torch.linalg.cholesky(p, upper={upper})", a=SQUARE)
    case(f"cholesky_old_{upper}", f"{POSITIVE}; torch.cholesky(p, upper={upper})", a=SQUARE)
    case(
        f"cholesky_solve_{upper}",
        f"{REGULAR}; torch.cholesky_solve(b, r.triu() if {upper} else r.tril(), {upper})",
        a=SQUARE,
        b=In((3, 2), F64),
    )
    case(
        f"cholesky_inverse_{upper}",
        f"{REGULAR}; torch.cholesky_inverse(r.triu() if {upper} else r.tril(), {upper})",
        a=SQUARE,
    )
case(
    "solve_triangular_batch",
    f"{REGULAR}; torch.linalg.solve_triangular(r, b, upper=True)",
    a=In((2, 3, 3), F64),
    b=In((3, 2), F64),
)
case(
    "triangular_solve",
    f"{REGULAR}; torch.triangular_solve(b, r)[0].detach()",
    grad=False,
    strides=False,
    a=SQUARE,
    b=In((3, 2), F64),
)
case("cholesky_batch", f"{POSITIVE}; torch.linalg.cholesky(p)", a=In((2, 3, 3), F64))
case("cholesky_complex", "p = a @ a.mH + torch.eye(3, dtype=a.dtype); torch.linalg.cholesky(p)", a=In((3, 3), C128))
case("cholesky_ex", f"{POSITIVE}; torch.linalg.cholesky_ex(p)", a=SQUARE)
case("cholesky_ex_fails", "torch.linalg.cholesky_ex(a).info", grad=False, a=In(values=[[1.0, 0.0], [0.0, -1.0]]))
for name, shape, side in (
    ("tall", (5, 3), (5, 2)),
    ("square", (3, 3), (3, 2)),
    ("wide", (3, 5), (3, 2)),
    ("vector", (5, 3), (5,)),
):
    case(f"lstsq_{name}", "torch.linalg.lstsq(a, b).solution", strides=False, a=In(shape, F64), b=In(side, F64))
case(
    "lstsq_all",
    "torch.linalg.lstsq(a, b, driver='gelsd')",
    grad=False,
    strides=False,
    a=In((5, 3), F64),
    b=In((5, 2), F64),
)
case(
    "lstsq_gels",
    "torch.linalg.lstsq(a, b, driver='gels')",
    grad=False,
    strides=False,
    a=In((5, 3), F64),
    b=In((5, 2), F64),
)

# --- determinants -----------------------------------------------------------------------------------------------------
case("det", "torch.linalg.det(a)", a=SQUARE)
case("det_batch", "torch.det(a)", a=In((2, 3, 3), F64))
case("det_singular", "a.det()", a=In((2, 2), F64, values=[[1.0, 2.0], [2.0, 4.0]]))
case("det_empty", "torch.linalg.det(a)", a=In((0, 0)))
case("det_complex", "torch.linalg.det(a)", a=In((3, 3), C128))
case("slogdet", "torch.linalg.slogdet(a)", a=SQUARE)
case("slogdet_batch", "torch.slogdet(a)", a=In((2, 3, 3), F64))
case("slogdet_zero", "torch.linalg.slogdet(a)", grad=False, a=In(values=[[0.0, 0.0], [0.0, 0.0]]))
case("slogdet_complex", "torch.linalg.slogdet(a)", a=In((3, 3), C128))
case("logdet", f"{POSITIVE}; torch.logdet(p)", a=SQUARE)
case("logdet_negative", "torch.logdet(a)", grad=False, a=In(values=[[-1.0, 0.0], [0.0, 1.0]]))
case(
    "tensorinv",
    "torch.linalg.tensorinv((a + 3 * torch.eye(6, dtype=a.dtype)).reshape(2, 3, 6))",
    strides=False,
    a=In((6, 6), F64),
)
case(
    "tensorsolve",
    "torch.linalg.tensorsolve((a + 3 * torch.eye(6, dtype=a.dtype)).reshape(2, 3, 6), b)",
    strides=False,
    a=In((6, 6), F64),
    b=In((2, 3), F64),
)

# --- factorisations: what does not depend on the signs of vectors
for name, shape in (("square", (3, 3)), ("tall", (4, 2)), ("wide", (2, 4)), ("batch", (2, 3, 2))):
    given = In(shape, F64)
    case(
        f"svd_{name}",
        "u, s, v = torch.linalg.svd(a, full_matrices=False); (s, (u * s.unsqueeze(-2)) @ v, u.abs(), v.abs())",
        a=given,
    )
    case(f"svd_full_{name}", "[t.abs() for t in torch.linalg.svd(a)]", grad=False, a=given)
    case(f"svdvals_{name}", "torch.linalg.svdvals(a)", a=given)
    case(f"svd_old_{name}", "u, s, v = torch.svd(a); (s, v.abs())", a=given)
    case(f"qr_{name}", "q, r = torch.linalg.qr(a); (q @ r, q.abs(), r.abs())", a=given)
    case(f"qr_complete_{name}", "[t.abs() for t in torch.linalg.qr(a, mode='complete')]", grad=False, a=given)
    case(f"qr_r_{name}", "[t.abs() for t in torch.linalg.qr(a, mode='r')]", grad=False, a=given)
    case(f"pinv_{name}", "torch.linalg.pinv(a)", strides=False, a=given)
    case(f"matrix_rank_{name}", "torch.linalg.matrix_rank(a)", a=given)
    case(f"lu_{name}", "torch.linalg.lu(a)", strides=False, a=given)
    case(f"lu_factor_{name}", "torch.linalg.lu_factor(a)", a=given)
case("qr_old", "q, r = torch.qr(a); q @ r", a=In((3, 2), F64))
case("qr_complex", "q, r = torch.linalg.qr(a); (q.abs(), r.abs())", a=In((3, 3), C128))
case("svd_values_only", "torch.svd(a, compute_uv=False)", grad=False, strides=False, a=In((3, 2), F64))
case("svd_complex", "u, s, v = torch.linalg.svd(a, full_matrices=False); (s, u.abs(), v.abs())", a=In((3, 2), C128))
case("svd_empty", "torch.linalg.svd(a)", grad=False, strides=False, a=In((0, 0)))
case("eigh", "w, v = torch.linalg.eigh(a + a.mT); (w, v.abs())", a=SQUARE)
case("eigh_lower", "torch.linalg.eigh(a)[0]", a=SQUARE)
case("eigh_upper", "torch.linalg.eigh(a, UPLO='U')[0]", a=SQUARE)
case("eigh_batch", "w, v = torch.linalg.eigh(a + a.mT); (w, v.abs())", a=In((2, 3, 3), F64))
case("eigh_complex", "w, v = torch.linalg.eigh(a + a.mH); (w, v.abs())", a=In((3, 3), C128))
case("eigvalsh", "torch.linalg.eigvalsh(a + a.mT)", a=SQUARE)
case("eig_symmetric", "w, v = torch.linalg.eig(a + a.mT); (w.real.sum(), w.abs().sum(), v.abs().sum())", a=SQUARE)
case("eig", "w, v = torch.linalg.eig(a); (w.abs().sum(), v.abs().sum())", a=SQUARE)
case("eigvals", "torch.linalg.eigvals(a).abs().sum()", a=SQUARE)
case("eigvals_no_grad", "torch.linalg.eigvals(a).abs().sort()[0]", grad=False, a=In((3, 3)))
case("pinv_hermitian", "torch.linalg.pinv(a @ a.mT, hermitian=True)", strides=False, rtol=1e-4, a=SQUARE)
case("pinv_rcond", "torch.linalg.pinv(a, 0.5)", strides=False, grad=False, a=SQUARE)
case("pinv_rtol", "torch.linalg.pinv(a, rtol=0.5)", strides=False, grad=False, a=SQUARE)
case("pinv_empty", "torch.linalg.pinv(a)", strides=False, a=In((0, 3)))
case("pinverse", "torch.pinverse(a)", strides=False, a=In((4, 3), F64))
case("matrix_rank_tol", "torch.linalg.matrix_rank(a, 1.5)", a=SQUARE)
case("matrix_rank_atol", "torch.linalg.matrix_rank(a, atol=1.5, rtol=0.1)", a=SQUARE)
case("matrix_rank_tensor", "torch.linalg.matrix_rank(a, tol=torch.tensor(1.5, dtype=torch.float64))", a=SQUARE)
case("matrix_rank_hermitian", "torch.linalg.matrix_rank(a + a.mT, hermitian=True)", a=SQUARE)
case("lu_unpack", "torch.lu_unpack(*torch.linalg.lu_factor(a))", strides=False, a=SQUARE)
case("lu_solve", "torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b)", strides=False, a=SQUARE, b=In((3, 2), F64))
case(
    "lu_solve_adjoint",
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, adjoint=True)",
    strides=False,
    a=SQUARE,
    b=In((3, 2), F64),
)
case(
    "lu_solve_right",
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=False)",
    strides=False,
    a=SQUARE,
    b=In((2, 3), F64),
)
case("lu_factor_ex", "torch.linalg.lu_factor_ex(a)", a=SQUARE)
case("lu_no_pivot", f"{REGULAR}; torch.linalg.lu_factor(r, pivot=False)[0]", strides=False, a=SQUARE)

# --- norms ------------------------------------------------------------------------------------------------------------
for order in ("'fro'", "'nuc'", "2", "-2", "1", "-1", "float('inf')", "-float('inf')"):
    name = order.strip("'").replace("float('inf')", "inf")
    case(f"matrix_norm_{name}", f"torch.linalg.matrix_norm(a, {order})", a=In((2, 3, 4), F64))
    case(
        f"matrix_norm_{name}_keep",
        f"torch.linalg.matrix_norm(a, {order}, dim=(0, 2), keepdim=True)",
        strides=False,
        a=In((2, 3, 4), F64),
    )
    case(f"norm_{name}", f"torch.linalg.norm(a, {order})", a=In((3, 3), F64))
for order in ("None", "3", "0", "float('inf')"):
    case(f"norm_vector_{order[:5]}", f"torch.linalg.norm(a, {order})", a=In((4,), F64))
case("norm_all", "torch.linalg.norm(a)", a=In((2, 3, 2), F64))
case("norm_dim", "torch.linalg.norm(a, 2, dim=1)", a=In((2, 3), F64))
case("norm_dtype", "torch.linalg.norm(a, dtype=torch.float64)", a=In((2, 3)))
case("norm_nuc_dtype", "torch.linalg.norm(a, 'nuc', dtype=torch.float64)", a=In((2, 3)))
case("nuclear_norm", "torch.nuclear_norm(a)", a=SQUARE)
case("frobenius_norm", "torch.frobenius_norm(a, dim=(0, 1))", a=SQUARE)
for order in ("None", "2", "-2", "1", "float('inf')", "'fro'", "'nuc'"):
    name = order.strip("'").replace("float('inf')", "inf")
    case(
        f"cond_{name}",
        f"{REGULAR}; torch.linalg.cond(r, {order})",
        grad=order in ("None", "2", "-2", "'nuc'"),
        a=SQUARE,
    )

# --- attention --------------------------------------------------------------------------------------------------------
Q, K = In((2, 3, 4, 8)), In((2, 3, 6, 8))
CALL = "F.scaled_dot_product_attention"
case("sdpa", f"{CALL}(q, k, v)", q=Q, k=K, v=K)
case("sdpa_double", f"{CALL}(q, k, v)", q=In((1, 2, 3, 4), F64), k=In((1, 2, 3, 4), F64), v=In((1, 2, 3, 4), F64))
case(
    "sdpa_half",
    f"{CALL}(q, k, v)",
    grad=False,
    q=In((1, 2, 3, 4), "float16"),
    k=In((1, 2, 3, 4), "float16"),
    v=In((1, 2, 3, 4), "float16"),
)
case("sdpa_causal", f"{CALL}(q, k, v, is_causal=True)", q=Q, k=K, v=K)
case("sdpa_scale", f"{CALL}(q, k, v, scale=0.3)", q=Q, k=K, v=K)
case("sdpa_mask", f"{CALL}(q, k, v, attn_mask=m)", q=Q, k=K, v=K, m=In((4, 6), grad=False))
case("sdpa_mask_4d", f"{CALL}(q, k, v, attn_mask=m)", q=Q, k=K, v=K, m=In((2, 1, 1, 6), grad=False))
case("sdpa_mask_grad", f"{CALL}(q, k, v, attn_mask=m)", q=Q, k=K, v=K, m=In((4, 6)))
case("sdpa_bool", f"{CALL}(q, k, v, attn_mask=m)", q=Q, k=K, v=K, m=In((4, 6), "bool"))
case(
    "sdpa_bool_none",
    f"{CALL}(q, k, v, attn_mask=m)",
    q=Q,
    k=K,
    v=K,
    m=In((4, 6), "bool", values=[[False] * 6] * 2 + [[True] * 6] * 2),
)
case("sdpa_3d", f"{CALL}(q, k, v)", q=In((3, 4, 8)), k=In((3, 6, 8)), v=In((3, 6, 8)))
case("sdpa_3d_causal", f"{CALL}(q, k, v, is_causal=True)", q=In((3, 4, 8)), k=In((3, 6, 8)), v=In((3, 6, 8)))
case(
    "sdpa_3d_bool",
    f"{CALL}(q, k, v, attn_mask=m)",
    q=In((3, 4, 8)),
    k=In((3, 6, 8)),
    v=In((3, 6, 8)),
    m=In((4, 6), "bool", values=[[False] * 6] + [[True] * 6] * 3),
)
case("sdpa_2d", f"{CALL}(q, k, v)", q=In((4, 8)), k=In((6, 8)), v=In((6, 8)))
case("sdpa_other_value_size", f"{CALL}(q, k, v)", q=Q, k=K, v=In((2, 3, 6, 5)))
case("sdpa_grouped", f"{CALL}(q, k, v, enable_gqa=True)", q=In((2, 6, 4, 8)), k=K, v=K)
case("sdpa_grouped_causal", f"{CALL}(q, k, v, is_causal=True, enable_gqa=True)", q=In((2, 6, 6, 8)), k=K, v=K)
case("sdpa_grouped_3d", f"{CALL}(q, k, v, enable_gqa=True)", q=In((6, 4, 8)), k=In((3, 6, 8)), v=In((3, 6, 8)))
case(
    "sdpa_transposed",
    f"{CALL}(q.transpose(1, 2), k.transpose(1, 2), k.transpose(1, 2))",
    q=In((2, 4, 3, 8)),
    k=In((2, 6, 3, 8)),
)
case("sdpa_broadcast", f"{CALL}(q, k, k)", q=Q, k=In((1, 3, 6, 8)))
case("sdpa_no_queries", f"{CALL}(q, k, k)", q=In((2, 3, 0, 8)), k=K)
case("sdpa_no_keys", f"{CALL}(q, k, k)", q=Q, k=In((2, 3, 0, 8)))
case("sdpa_one_dropout", f"{CALL}(q, k, k, dropout_p=1.0)", grad=False, q=Q, k=K)

CASES += linalg_error_cases.CASES
