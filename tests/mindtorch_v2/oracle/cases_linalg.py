"""Oracle cases: products, factorisations, solvers, norms, distances, attention."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
F64 = "float64"
C64, C128 = "complex64", "complex128"


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, **kwargs))  # type: ignore[arg-type]


def i64(*shape: int) -> In:
    return In(shape, "int64")


def fails(id: str, code: str, **inputs: In) -> None:
    case(f"error_{id}", code, grad=False, **inputs)


# --- products ---------------------------------------------------------------------------------------------------------
case("mm", "torch.mm(a, b)", a=In((3, 4)), b=In((4, 5)))
case("mm_double", "a.mm(b)", a=In((3, 4), F64), b=In((4, 5), F64))
case("mm_half", "torch.mm(a, b)", grad=False, a=In((3, 4), "float16"), b=In((4, 5), "float16"))
case("mm_int", "torch.mm(a, b)", a=i64(3, 4), b=i64(4, 5))
case("mm_int8", "torch.mm(a, b)", a=In((3, 4), "int8"), b=In((4, 5), "int8"))
case("mm_complex", "torch.mm(a, b)", a=In((3, 4), C64), b=In((4, 5), C64))
case("mm_transposed", "torch.mm(a, b)", a=In((3, 4), layout="transposed"), b=In((4, 5), layout="transposed"))
case("mm_strided", "torch.mm(a, b)", a=In((3, 4), layout="strided"), b=In((4, 5), layout="strided"))
case("mm_expanded", "torch.mm(a.expand(3, 4), b)", a=In((1, 4)), b=In((4, 5)))
case("mm_empty_rows", "torch.mm(a, b)", a=In((0, 4)), b=In((4, 5)))
case("mm_empty_inner", "torch.mm(a, b)", a=In((3, 0)), b=In((0, 5)))
case("mm_out", "o = torch.empty(0); torch.mm(a, b, out=o); o", grad=False, a=In((3, 4)), b=In((4, 5)))
case("mm_same", "torch.mm(a, a.t())", a=In((3, 4)))
case("bmm", "torch.bmm(a, b)", a=In((2, 3, 4)), b=In((2, 4, 5)))
case("bmm_transposed", "torch.bmm(a, b)", a=In((2, 3, 4), layout="transposed"), b=In((2, 4, 5), layout="strided"))
case("bmm_permuted", "torch.bmm(a.transpose(0, 1), b)", a=In((3, 2, 4)), b=In((2, 4, 5)))
case("bmm_complex", "torch.bmm(a, b)", a=In((2, 3, 4), C128), b=In((2, 4, 2), C128))
case("bmm_int", "torch.bmm(a, b)", a=i64(2, 3, 4), b=i64(2, 4, 5))
case("bmm_half", "torch.bmm(a, b)", grad=False, a=In((2, 3, 4), "float16"), b=In((2, 4, 5), "float16"))
case("bmm_empty", "torch.bmm(a, b)", a=In((0, 3, 4)), b=In((0, 4, 5)))
case("mv", "torch.mv(a, v)", a=In((3, 4)), v=In((4,)))
case("mv_strided", "a.mv(v)", a=In((3, 4), layout="transposed"), v=In((4,), layout="strided"))
case("mv_complex", "a.mv(v)", a=In((3, 4), C64), v=In((4,), C64))
case("mv_int", "a.mv(v)", a=i64(3, 4), v=i64(4))
case("mv_empty", "a.mv(v)", a=In((3, 0)), v=In((0,)))
case("dot", "torch.dot(a, b)", a=In((5,)), b=In((5,)))
case("dot_half", "torch.dot(a, b)", grad=False, a=In((5,), "float16"), b=In((5,), "float16"))
case("dot_int", "torch.dot(a, b)", a=i64(5), b=i64(5))
case("dot_complex", "torch.dot(a, b)", a=In((5,), C64), b=In((5,), C64))
case("dot_empty", "torch.dot(a, b)", a=In((0,)), b=In((0,)))
case("dot_strided", "a.dot(b)", a=In((5,), layout="strided"), b=In((5,)))
case("vdot", "torch.vdot(a, b)", a=In((5,)), b=In((5,)))
case("vdot_complex", "torch.vdot(a, b)", a=In((5,), C128), b=In((5,), C128))
for name, left, right in (
    ("vv", (4,), (4,)),
    ("mv", (3, 4), (4,)),
    ("vm", (4,), (4, 5)),
    ("mm", (3, 4), (4, 5)),
    ("bm", (2, 3, 4), (4, 5)),
    ("bv", (2, 3, 4), (4,)),
    ("mb", (3, 4), (2, 4, 5)),
    ("vb", (4,), (2, 4, 5)),
    ("bb", (2, 3, 4), (2, 4, 5)),
    ("b1", (2, 3, 4), (1, 4, 5)),
    ("b4", (2, 1, 3, 4), (3, 4, 2)),
    ("e", (0, 3, 4), (4, 5)),
    ("e2", (2, 3, 0), (0, 5)),
):
    case(f"matmul_{name}", "torch.matmul(a, b)", a=In(left), b=In(right))
    case(f"matmul_{name}_no_grad", "a @ b", grad=False, a=In(left), b=In(right))
case("matmul_permuted", "a.permute(1, 2, 0) @ b", a=In((4, 2, 3)), b=In((4, 5)))
case("matmul_out", "o = torch.empty(3, 5); torch.matmul(a, b, out=o)", grad=False, a=In((3, 4)), b=In((4, 5)))
case("matmul_complex", "torch.matmul(a, b)", a=In((2, 3, 4), C64), b=In((4, 2), C64))
case("linalg_matmul", "torch.linalg.matmul(a, b)", a=In((3, 4)), b=In((4, 5)))
case("inner", "torch.inner(a, b)", a=In((2, 3)), b=In((4, 3)))
case("inner_vectors", "a.inner(b)", a=In((3,)), b=In((3,)))
case("inner_scalar", "torch.inner(a, b)", a=In(()), b=In((3,)))
case("outer", "torch.outer(a, b)", a=In((3,)), b=In((4,)))
case("outer_mixed", "torch.outer(a, b)", a=i64(3), b=In((4,)))
case("ger", "torch.ger(a, b)", a=In((3,)), b=In((4,)))

# --- sums with a product ----------------------------------------------------------------------------------------------
for name, shape in (("row", (5,)), ("column", (3, 1)), ("full", (3, 5)), ("scalar", ())):
    case(f"addmm_{name}", "torch.addmm(c, a, b)", c=In(shape), a=In((3, 4)), b=In((4, 5)))
    case(f"addmm_{name}_scaled", "c.addmm(a, b, beta=0.5, alpha=2)", c=In(shape), a=In((3, 4)), b=In((4, 5)))
case(
    "addmm_beta_zero",
    "torch.addmm(c, a, b, beta=0)",
    grad=False,
    c=In((5,), values=[float("nan")] * 5),
    a=In((3, 4)),
    b=In((4, 5)),
)
case("addmm_int", "torch.addmm(c, a, b, beta=2, alpha=3)", c=i64(5), a=i64(3, 4), b=i64(4, 5))
case(
    "addmm_half",
    "torch.addmm(c, a, b)",
    grad=False,
    c=In((5,), "float16"),
    a=In((3, 4), "float16"),
    b=In((4, 5), "float16"),
)
case("addmm_complex", "torch.addmm(c, a, b, alpha=2j, beta=1j)", c=In((5,), C64), a=In((3, 4), C64), b=In((4, 5), C64))
case("addmm_", "c.clone().addmm_(a, b, beta=0.5, alpha=2)", c=In((3, 5)), a=In((3, 4)), b=In((4, 5)))
case("addmm_in_place_zero", "c.addmm_(a, b, beta=0)", grad=False, c=In((3, 5)), a=In((3, 4)), b=In((4, 5)))
case(
    "addmm_transposed",
    "torch.addmm(c, a, b)",
    c=In((5,)),
    a=In((3, 4), layout="transposed"),
    b=In((4, 5), layout="transposed"),
)
case(
    "addmm_out",
    "o = torch.empty(3, 5); torch.addmm(c, a, b, out=o); o",
    grad=False,
    c=In((5,)),
    a=In((3, 4)),
    b=In((4, 5)),
)
case("addmm_empty", "torch.addmm(c, a, b)", c=In((5,)), a=In((3, 0)), b=In((0, 5)))
case("addmv", "torch.addmv(c, a, v, beta=0.5, alpha=2)", c=In((3,)), a=In((3, 4)), v=In((4,)))
case("addmv_one", "torch.addmv(c, a, v)", c=In((1,)), a=In((3, 4)), v=In((4,)))
case("addmv_", "c.clone().addmv_(a, v, alpha=2)", c=In((3,)), a=In((3, 4)), v=In((4,)))
case("addbmm", "torch.addbmm(c, a, b, beta=0.5, alpha=2)", c=In((3, 5)), a=In((2, 3, 4)), b=In((2, 4, 5)))
case("addbmm_row", "c.addbmm(a, b)", c=In((5,)), a=In((2, 3, 4)), b=In((2, 4, 5)))
case("addbmm_", "c.clone().addbmm_(a, b)", c=In((3, 5)), a=In((2, 3, 4)), b=In((2, 4, 5)))
case("baddbmm", "torch.baddbmm(c, a, b, beta=0.5, alpha=2)", c=In((2, 3, 5)), a=In((2, 3, 4)), b=In((2, 4, 5)))
case("baddbmm_row", "torch.baddbmm(c, a, b)", c=In((5,)), a=In((2, 3, 4)), b=In((2, 4, 5)))
case(
    "baddbmm_half",
    "torch.baddbmm(c, a, b)",
    grad=False,
    c=In((5,), "float16"),
    a=In((2, 3, 4), "float16"),
    b=In((2, 4, 5), "float16"),
)
case("baddbmm_", "c.clone().baddbmm_(a, b)", c=In((2, 3, 5)), a=In((2, 3, 4)), b=In((2, 4, 5)))
case("addr", "torch.addr(c, u, v, beta=0.5, alpha=2)", c=In((3, 4)), u=In((3,)), v=In((4,)))
case("addr_", "c.clone().addr_(u, v)", c=In((3, 4)), u=In((3,)), v=In((4,)))
case("addr_int", "torch.addr(c, u, v, alpha=2)", c=i64(3, 4), u=i64(3), v=i64(4))
case("addr_mixed", "torch.addr(c, u, v)", grad=False, c=In((3, 4)), u=In((3,), F64), v=In((4,)))
case("addr_bool", "torch.addr(c, u, v)", c=In((3, 4), "bool"), u=In((3,), "bool"), v=In((4,), "bool"))

# --- linear and bilinear ----------------------------------------------------------------------------------------------
for name, shape in (("v", (4,)), ("2d", (3, 4)), ("3d", (2, 3, 4)), ("4d", (2, 1, 3, 4)), ("empty", (0, 4))):
    case(f"linear_{name}", "F.linear(x, w, b)", x=In(shape), w=In((5, 4)), b=In((5,)))
    case(f"linear_{name}_no_bias", "F.linear(x, w)", x=In(shape), w=In((5, 4)))
case("linear_strided", "F.linear(x.transpose(0, 1), w, b)", x=In((2, 3, 4)), w=In((5, 4)), b=In((5,)))
case("linear_vector_weight", "F.linear(x, w)", x=In((2, 4)), w=In((4,)))
case("bilinear", "F.bilinear(x, y, w, b)", x=In((2, 3)), y=In((2, 4)), w=In((5, 3, 4)), b=In((5,)))
case("bilinear_batch", "F.bilinear(x, y, w)", x=In((2, 2, 3)), y=In((2, 2, 4)), w=In((5, 3, 4)))
case("bilinear_vector", "torch.bilinear(x, y, w, b)", x=In((3,)), y=In((4,)), w=In((5, 3, 4)), b=In((5,)))

# --- tensordot, kron, cross, chains -----------------------------------------------------------------------------------
case("tensordot_1", "torch.tensordot(a, b, dims=1)", a=In((2, 3, 4)), b=In((4, 5)))
case("tensordot_2", "torch.tensordot(a, b)", a=In((2, 3, 4)), b=In((3, 4, 5)))
case("tensordot_0", "torch.tensordot(a, b, dims=0)", a=In((2, 3)), b=In((4,)))
case("tensordot_lists", "torch.tensordot(a, b, dims=([2, 0], [1, 2]))", a=In((2, 3, 4)), b=In((5, 4, 2)))
case("tensordot_all", "torch.tensordot(a, b, 2)", a=In((3, 4)), b=In((3, 4)))
case("tensordot_all_crossed", "torch.tensordot(a, b, ([0, 1], [1, 0]))", a=In((3, 4)), b=In((4, 3)))
case("kron", "torch.kron(a, b)", a=In((2, 3)), b=In((2, 2)))
case("kron_ranks", "torch.kron(a, b)", a=In((2, 3)), b=In((2,)))
case("kron_scalar", "torch.kron(a, b)", a=In(()), b=In((2,)))
case("kron_mixed", "torch.kron(a, b)", a=i64(2), b=In((2,)))
case("cross", "torch.cross(a, b, dim=1)", a=In((2, 3)), b=In((2, 3)))
case("cross_default", "torch.cross(a, b)", a=In((3, 2)), b=In((3, 2)))
case("linalg_cross", "torch.linalg.cross(a, b)", a=In((2, 3)), b=In((1, 3)))
case("linalg_cross_dim", "torch.linalg.cross(a, b, dim=0)", a=In((3, 2)), b=In((3, 2)))
case("multi_dot_2", "torch.linalg.multi_dot([a, b])", a=In((2, 3)), b=In((3, 4)))
case("multi_dot_3", "torch.linalg.multi_dot([a, b, c])", a=In((2, 6)), b=In((6, 3)), c=In((3, 5)))
case("multi_dot_4", "torch.linalg.multi_dot((a, b, c, a))", a=In((2, 3)), b=In((3, 4)), c=In((4, 2)))
case("multi_dot_vectors", "torch.linalg.multi_dot([a, b, c])", a=In((3,)), b=In((3, 4)), c=In((4,)))
case("chain_matmul", "torch.chain_matmul(a, b, c)", a=In((2, 6)), b=In((6, 3)), c=In((3, 5)))
for n in (-2, -1, 0, 1, 2, 3, 5):
    case(f"matrix_power_{n}", f"torch.matrix_power(a + 2 * torch.eye(3), {n})", strides=n >= 0, atol=2e-5, a=In((3, 3)))
case("matrix_power_batch", "torch.linalg.matrix_power(a, 3)", a=In((2, 3, 3)))
case("matrix_exp", "torch.matrix_exp(a)", a=In((3, 3), F64))
case("matrix_exp_large", "torch.linalg.matrix_exp(a)", a=In((2, 3, 3), F64, -4, 4))
case("matrix_exp_float", "torch.matrix_exp(a)", atol=1e-5, a=In((3, 3)))
case("vander", "torch.linalg.vander(x)", x=In((2, 3)))
case("vander_n", "torch.linalg.vander(x, N=5)", x=In((3,)))
case("vecdot", "torch.linalg.vecdot(a, b)", a=In((2, 3)), b=In((2, 3)))
case("vecdot_vectors", "torch.linalg.vecdot(a, b)", a=In((3,)), b=In((3,)))
case("vecdot_complex", "torch.linalg.vecdot(a, b, dim=0)", a=In((2, 3), C64), b=In((2, 3), C64))

# --- einsum -----------------------------------------------------------------------------------------------------------
for k, (equation, *shapes) in enumerate(
    (
        ("ij,jk->ik", (3, 4), (4, 5)),
        ("ij,jk", (3, 4), (4, 5)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        ("ii", (3, 3)),
        ("ii->i", (3, 3)),
        ("ij->", (3, 4)),
        ("ij->ji", (3, 4)),
        ("ba", (3, 4)),
        ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
        ("i,i->", (4,), (4,)),
        ("i,j->ij", (3,), (4,)),
        ("i,i->i", (4,), (4,)),
        ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)),
        ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
        ("bi,oij,bj->bo", (2, 3), (4, 3, 5), (2, 5)),
        ("ij,k->ik", (3, 4), (5,)),
        ("ij,jk->i", (3, 4), (4, 5)),
        ("i,j->", (3,), (4,)),
        ("ij,j,k->", (3, 4), (4,), (5,)),
        ("...i,i->...", (2, 3, 4), (4,)),
        ("ii,ij->j", (3, 3), (3, 4)),
        ("ij,jk->ik", (3, 1), (4, 5)),
        ("ij,jk->ki", (3, 4), (4, 5)),
        ("iij->j", (3, 3, 4)),
        ("...", (2, 3)),
        (",", (), ()),
        ("i...,i...->...", (3, 2), (3, 4, 2)),
        (" i j , j k -> i k ", (3, 4), (4, 5)),
        ("...ii->...i", (2, 3, 3)),
        ("abc,abd->acd", (2, 3, 4), (2, 3, 5)),
        ("ij,ij,ij->i", (3, 4), (3, 4), (3, 4)),
    )
):
    names = "abc"[: len(shapes)]
    case(f"einsum_{k}", f"torch.einsum({equation!r}, {', '.join(names)})", **{n: In(s) for n, s in zip(names, shapes)})
case("einsum_list", "torch.einsum('ij,jk->ik', [a, b])", a=In((3, 4)), b=In((4, 5)))
case("einsum_sublist", "torch.einsum(a, [0, 1], b, [1, 2], [0, 2])", a=In((3, 4)), b=In((4, 5)))
case("einsum_sublist_implicit", "torch.einsum(a, [Ellipsis, 1], b, [1, 2])", a=In((3, 4)), b=In((4, 5)))
case("einsum_int", "torch.einsum('ij,jk->ik', a, b)", a=i64(3, 4), b=i64(4, 5))

# --- distances --------------------------------------------------------------------------------------------------------
for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
    case(f"cdist_{p}", f"torch.cdist(a, b, p=float('{p}'))", a=In((3, 4)), b=In((2, 4)))
    case(f"pdist_{p}", f"F.pdist(a, p=float('{p}'))", a=In((4, 3)))
case("cdist_same", "torch.cdist(a, a)", a=In((3, 4)))
case("cdist_many", "torch.cdist(a, b)", atol=2e-5, a=In((26, 2)), b=In((3, 2)))
case("cdist_mm", "torch.cdist(a, b, compute_mode='use_mm_for_euclid_dist')", atol=2e-5, a=In((3, 4)), b=In((2, 4)))
case("cdist_no_mm", "torch.cdist(a, b, compute_mode='donot_use_mm_for_euclid_dist')", a=In((3, 4)), b=In((2, 4)))
case("cdist_batch", "torch.cdist(a, b)", a=In((2, 3, 4)), b=In((2, 4)))
case("cdist_empty", "torch.cdist(a, b)", a=In((0, 4)), b=In((2, 4)))
case("cdist_no_columns", "torch.cdist(a, b)", a=In((3, 0)), b=In((2, 0)))

from .linalg_cases import CASES as _MORE  # noqa: E402

CASES += _MORE
