"""Cases of linear algebra: second derivatives and errors."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
F64 = "float64"
SQUARE = In((3, 3), F64)
POSITIVE = "p = a @ a.mT + torch.eye(3, dtype=a.dtype)"  # positive definite, from a square matrix
REGULAR = "r = a + 3 * torch.eye(3, dtype=a.dtype)"


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, **kwargs))  # type: ignore[arg-type]


def fails(id: str, code: str, **inputs: In) -> None:
    case(f"error_{id}", code, grad=False, **inputs)


# --- attention --------------------------------------------------------------------------------------------------------
Q, K = In((2, 3, 4, 8)), In((2, 3, 6, 8))
CALL = "F.scaled_dot_product_attention"

# --- second derivatives -----------------------------------------------------------------------------------------------
TWICE = "g = torch.autograd.grad((y * y * y).sum(), [t for t in (a, b) if t is not None], create_graph=True)"
for name, code, more in (
    ("mm", "y = a @ b", In((3, 2), F64)),
    ("addmm", "y = torch.addmm(b.sum(1, keepdim=True), a, b, alpha=2)", In((3, 2), F64)),
    ("bmm", "y = torch.bmm(a.unsqueeze(0), b.unsqueeze(0))", In((3, 2), F64)),
    ("mv", "y = a.mv(b)", In((3,), F64)),
    ("dot", "y = torch.dot(a[0], b)", In((3,), F64)),
    ("einsum", "y = torch.einsum('ij,jk->ki', a, b)", In((3, 2), F64)),
    ("inv", f"{REGULAR}; b = None; y = torch.linalg.inv(r)", None),
    ("det", f"{REGULAR}; b = None; y = torch.linalg.det(r)", None),
    ("solve", f"{REGULAR}; y = torch.linalg.solve(r, b)", In((3, 2), F64)),
    ("slogdet", f"{REGULAR}; b = None; y = torch.linalg.slogdet(r)[1]", None),
    ("cholesky", f"{POSITIVE}; b = None; y = torch.linalg.cholesky(p)", None),
    ("eigh", "b = None; w, v = torch.linalg.eigh(a + a.mT); y = w.sum() + v.abs()", None),
    ("svd", "b = None; u, s, v = torch.linalg.svd(a, full_matrices=False); y = s.sum() + u.abs() + v.abs()", None),
    ("qr", f"{REGULAR}; b = None; q, t = torch.linalg.qr(r); y = q.abs() + t.abs()", None),
    ("solve_triangular", f"{REGULAR}; y = torch.linalg.solve_triangular(r, b, upper=True)", In((3, 2), F64)),
    ("pinv", "b = None; y = torch.linalg.pinv(a)", None),
    ("matrix_exp", "b = None; y = torch.matrix_exp(a)", None),
    ("lu", f"{REGULAR}; b = None; y = torch.linalg.lu_factor(r)[0]", None),
    ("cdist_mm", "y = torch.cdist(a, b.mT, compute_mode='use_mm_for_euclid_dist')", In((3, 2), F64)),
    ("bilinear", "y = F.bilinear(a, b.mT, torch.ones(2, 3, 3, dtype=a.dtype))", In((3, 3), F64)),
    ("sdpa_3d", "y = F.scaled_dot_product_attention(a.unsqueeze(0), b.unsqueeze(0), b.unsqueeze(0))", In((4, 3), F64)),
):
    inputs = {"a": SQUARE} if more is None else {"a": SQUARE, "b": more}
    case(f"twice_{name}", f"{code}; {TWICE}; sum((x * x).sum() for x in g)", rtol=1e-6, **inputs)

# --- errors -----------------------------------------------------------------------------------------------------------
A23, A33, A3, B234 = In((2, 3)), In((3, 3)), In((3,)), In((2, 3, 4))
fails("mm_shapes", "torch.mm(a, a)", a=A23)
fails("mm_first", "torch.mm(a, b)", a=A3, b=A33)
fails("mm_second", "torch.mm(a, b)", a=A33, b=A3)
fails("mm_types", "torch.mm(a, a.double())", a=A33)
fails("mm_types_int", "torch.mm(a.long(), a)", a=A33)
fails("mm_bool", "torch.mm(a > 0, a > 0)", a=A33)
fails("bmm_shapes", "torch.bmm(a, a)", a=B234)
fails("bmm_first", "torch.bmm(a[0], a)", a=B234)
fails("bmm_second", "torch.bmm(a, a[0])", a=B234)
fails("bmm_types", "torch.bmm(a, a.mT.double())", a=B234)
fails("mv_shapes", "torch.mv(a, b[:2])", a=A23, b=A3)
fails("mv_ranks", "torch.mv(b, b)", b=A3)
fails("mv_types", "torch.mv(a, b.double())", a=A23, b=A3)
fails("dot_shapes", "torch.dot(a, b)", a=A3, b=In((4,)))
fails("dot_ranks", "torch.dot(a, a.unsqueeze(1))", a=A3)
fails("dot_types", "torch.dot(a, a.double())", a=A3)
fails("inner", "torch.inner(a, b)", a=A23, b=In((4,)))
fails("outer", "torch.outer(a, a)", a=A23)
fails("addmm_shapes", "torch.addmm(b, a, a)", a=A23, b=In((4,)))
fails("addmm_bias", "torch.addmm(b, a, a)", a=A33, b=In((4,)))
fails("addmm_bias_rank", "torch.addmm(b, a, a)", a=A33, b=In((2, 3, 3)))
fails("addmm_first", "torch.addmm(b, b, a)", a=A33, b=A3)
fails("addmm_second", "torch.addmm(b, a, b)", a=A33, b=A3)
fails("addmm_types", "torch.addmm(b, a, a.double())", a=A33, b=A3)
fails("addmm_mat_types", "torch.addmm(b.double(), a, a.double())", a=A33, b=A3)
fails("addmm_in_place", "b.addmm_(a, a)", a=A33, b=In((2, 4)))
fails("addmv", "torch.addmv(b, a, b)", a=A23, b=A3)
fails("addbmm", "torch.addbmm(b, a, a)", a=B234, b=In((4,)))
fails("baddbmm", "torch.baddbmm(b, a, a)", a=B234, b=In((4,)))
fails("baddbmm_bias", "torch.baddbmm(b, a, a.mT)", a=B234, b=In((4,)))
fails("addr", "torch.addr(a, b, b, alpha=1.5)", a=In((3, 3), "int64"), b=In((3,), "int64"))
fails("matmul_scalar", "torch.matmul(a, b)", a=In(()), b=A3)
fails("matmul_vectors", "torch.matmul(a, b)", a=A3, b=In((4,)))
fails("matmul_batches", "torch.matmul(a, b)", a=B234, b=In((3, 4, 5)))
fails("matmul_inner", "torch.matmul(a, b)", a=B234, b=In((2, 3, 5)))
fails("matmul_fold", "torch.matmul(a, b)", a=B234, b=In((3, 4)))
fails("linear", "F.linear(a, b, c)", a=A23, b=In((4, 4)), c=In((4,)))
fails("linear_bias", "F.linear(a, b, c)", a=A23, b=In((4, 3)), c=In((5,)))
fails("linear_types", "F.linear(a.double(), b, c)", a=A23, b=In((4, 3)), c=In((4,)))
fails("bilinear", "F.bilinear(a, a, b)", a=A23, b=In((5, 2, 3)))
fails("tensordot", "torch.tensordot(a, b, 1)", a=A23, b=In((4, 2)))
fails("tensordot_dims", "torch.tensordot(a, a, dims=-1)", a=A23)
fails("cross", "torch.linalg.cross(a, a)", a=In((3, 4)))
fails("cross_default", "torch.cross(a, a)", a=In((2, 4)))
fails("multi_dot_one", "torch.linalg.multi_dot([a])", a=A23)
fails("multi_dot_shapes", "torch.linalg.multi_dot([a, a])", a=A23)
fails("matrix_power", "torch.matrix_power(a, 2)", a=A23)
for k, equation in enumerate(
    ("ij,jk", "ijk", "ij->k", "i1", "ij,", "ii", "...->..", "..i", "ij->ii", "i->i->i", "ij,kl")
):
    fails(f"einsum_{k}", f"torch.einsum({equation!r}, a{', b' if equation == 'ij,jk' else ''})", a=A23, b=In((4, 5)))
fails("cdist_rank", "torch.cdist(a, b)", a=A3, b=A23)
fails("cdist_columns", "torch.cdist(a, b)", a=A23, b=In((2, 4)))
fails("cdist_p", "torch.cdist(a, a, p=-1)", a=A23)
fails("cdist_int", "torch.cdist(a.long(), a.long())", a=A23)
fails("pdist", "F.pdist(a)", a=A3)
for name in ("inv", "det", "slogdet", "cholesky", "eigh", "eig", "inv_ex"):
    fails(f"{name}_square", f"torch.linalg.{name}(a)", a=A23)
    fails(f"{name}_rank", f"torch.linalg.{name}(a)", a=A3)
    fails(f"{name}_int", f"torch.linalg.{name}(a.long())", a=A33)
for name in ("svd", "qr"):
    fails(f"{name}_rank", f"torch.linalg.{name}(a)", a=A3)
    fails(f"{name}_int", f"torch.linalg.{name}(a.long())", a=A33)
fails("inv_singular", "torch.linalg.inv(torch.zeros(3, 3))")
fails("inv_singular_batch", "torch.linalg.inv(torch.stack([torch.eye(2), torch.zeros(2, 2)]))")
fails("inv_half", "torch.linalg.inv(a.half())", a=A33)
fails("solve_singular", "torch.linalg.solve(torch.zeros(3, 3), torch.ones(3))")
fails("solve_shapes", "torch.linalg.solve(a, b)", a=A33, b=In((2,)))
fails("solve_types", "torch.linalg.solve(a, a.double())", a=A33)
fails("cholesky_negative", "torch.linalg.cholesky(-torch.eye(3))")
fails("cholesky_old_negative", "torch.cholesky(-torch.eye(3))")
fails("solve_triangular_shapes", "torch.linalg.solve_triangular(a, b, upper=True)", a=A33, b=A23)
fails("qr_mode", "torch.linalg.qr(a, 'foo')", a=A23)
fails("qr_r_grad", "a.requires_grad_(); torch.linalg.qr(a, 'r')[1].sum().backward()", a=A23)
fails("qr_complete_grad", "a.requires_grad_(); torch.linalg.qr(a, 'complete')[1].sum().backward()", a=In((3, 2)))
fails("eigh_uplo", "torch.linalg.eigh(a, UPLO='X')", a=A33)
fails("eig_nan", "torch.linalg.eig(torch.full((2, 2), float('nan')))")
fails("eig_phase", "a.requires_grad_(); torch.linalg.eig(a)[1].real.sum().backward()", a=A33)
fails("lstsq", "torch.linalg.lstsq(a, b)", a=In((4, 3)), b=In((5, 2)))
fails("pinv", "torch.linalg.pinv(a)", a=A3)
fails("matrix_rank", "torch.linalg.matrix_rank(a)", a=A3)
fails("norm_order", "torch.linalg.norm(a, 3)", a=A23)
fails("norm_name", "torch.linalg.norm(a, 'bad')", a=A23)
fails("norm_rank", "torch.linalg.norm(a, 1)", a=B234)
fails("norm_vector_fro", "torch.linalg.norm(a, 'fro')", a=A3)
fails("norm_same_dims", "torch.linalg.norm(a, 1, dim=(0, 0))", a=A23)
fails("cond_name", "torch.linalg.cond(a, 'bad')", a=A33)
fails("cond_square", "torch.linalg.cond(a, 1)", a=A23)
fails("lu_factor", "torch.linalg.lu_factor(torch.zeros(3, 3))")
fails("tensorinv", "torch.linalg.tensorinv(a)", a=A23)
fails("cholesky_solve", "torch.cholesky_solve(a, b)", a=In((3, 2)), b=In((2, 2)))
fails("sdpa_types", f"{CALL}(q.double(), k, k)", q=Q, k=K)
fails("sdpa_rank", f"{CALL}(q[0, 0, 0], k, k)", q=Q, k=K)
fails("sdpa_mask_type", f"{CALL}(q, k, k, attn_mask=torch.zeros(4, 6).double())", q=Q, k=K)
fails("sdpa_mask_and_causal", f"{CALL}(q[0], k[0], k[0], attn_mask=torch.zeros(4, 6), is_causal=True)", q=Q, k=K)
fails("sdpa_heads", f"{CALL}(q, k, k, enable_gqa=True)", q=In((2, 5, 4, 8)), k=K)
fails(
    "sdpa_twice",
    f"q.requires_grad_(); g, = torch.autograd.grad({CALL}(q, k, k).sum(), q, create_graph=True); g.sum().backward()",
    q=Q,
    k=K,
)
