"""Oracle cases: histograms, integrals, segments, Householder and LDL factors, parts of numbers."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
F64, C128 = "float64", "complex128"


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, strides=False, **kwargs))  # type: ignore[arg-type]


case("frexp", "m, e = torch.frexp(a); [m * 1, e]", a=In((2, 3), F64, -100, 100))
case("frexp_method", "list(a.frexp())", grad=False, a=In((4,), values=[0.0, -1.0, 3.0, 1024.0]))
case("error_frexp", "torch.frexp(a)", grad=False, a=In((3,), "int64"))
case("trapz", "torch.trapz(a, b) * 1", a=In((3, 4), F64), b=In((4,), F64))
case("trapz_dx", "torch.trapz(a, dx=0.5, dim=0) * 1", a=In((3, 4), F64))
for _options in ("", "N=2", "N=0", "increasing=True", "N=5, increasing=True"):
    # PyTorch writes over what its gradient needs
    case(f"vander_{_options}", f"torch.vander(a, {_options})", grad=False, a=In((4,), F64))
case("error_vander", "torch.vander(a)", grad=False, a=In((2, 2)))
case("nonzero_static", "torch.nonzero_static(a, size=6)", grad=False, a=In((3, 3), "int64", -1, 1))
case("nonzero_static_few", "a.nonzero_static(size=2, fill_value=7)", grad=False, a=In((3, 3), "int64", -1, 1))
case("empty_permuted", "t = torch.empty_permuted((2, 3, 4), (2, 0, 1)); [tuple(t.shape), t.stride()]", grad=False)
case("norm_except_dim", "torch.norm_except_dim(a, 2, 1) * 1", a=In((3, 4, 2), F64))
case("weight_norm", "torch._weight_norm(a, g, 0) * 1", a=In((3, 4), F64), g=In((3, 1), F64))
case("conv_tbc", "torch.conv_tbc(a, w, b, 1) * 1", a=In((5, 2, 3), F64), w=In((3, 3, 4), F64), b=In((4,), F64))
case(
    "hash_tensor",
    "[torch.hash_tensor(a).item(), torch.hash_tensor(a, 1).tolist(), torch.hash_tensor(i).item()]",
    grad=False,
    a=In((3, 4)),
    i=In((5,), "int64", -9, 9),
)
for _reduce in ("sum", "mean", "max", "min", "prod"):
    case(
        f"segment_{_reduce}",
        f"torch.segment_reduce(a, '{_reduce}', lengths=torch.tensor([1, 2, 0, 2])) * 1",
        a=In((5,), F64),
    )
    case(
        f"segment_{_reduce}_offsets",
        f"torch.segment_reduce(a, '{_reduce}', offsets=torch.tensor([0, 2, 5]), initial=1.5) * 1",
        a=In((5, 3), F64),
    )
    case(
        f"segment_{_reduce}_axis",
        f"torch.segment_reduce(a, '{_reduce}', lengths=torch.tensor([[1, 3], [2, 2]]), axis=1) * 1",
        a=In((2, 4, 3), F64),
    )
for _reduce in ("amax", "amin"):
    case(
        f"segment_{_reduce}",
        f"torch.segment_reduce(a, '{_reduce}', lengths=torch.tensor([1, 2, 0, 2])) * 1",
        a=In((5,)),
    )
case("error_segment", "torch.segment_reduce(a, 'sum')", grad=False, a=In((5,)))

# --- histograms
for _id, _call in (
    ("count", "histogram(a, 5)"),
    ("range", "histogram(a, 4, range=(-1., 1.5))"),
    ("density", "histogram(a, 4, density=True)"),
    ("weight", "histogram(a, 4, weight=w)"),
    ("edges", "histogram(a, torch.tensor([-2., -0.5, 0., 2.], dtype=a.dtype))"),
):
    case(
        f"histogram_{_id}",
        f"list(torch.{_call})",
        grad=False,
        a=In((40,), F64),
        **({"w": In((40,), F64)} if "w" in _call else {}),
    )
case("histogram_single", "list(a.histogram(6))", grad=False, a=In((40,)))
case("histogram_same", "list(torch.histogram(torch.ones(3), 2))", grad=False)
for _id, _call in (
    ("counts", "histogramdd(a, [2, 3])"),
    ("count", "histogramdd(a, 3, range=(-1., 1., -2., 2.))"),
    ("density", "histogramdd(a, [2, 3], density=True, weight=w)"),
    ("edges", "histogramdd(a, [torch.tensor([-2., 0., 2.], dtype=a.dtype), torch.tensor([-1., 1.], dtype=a.dtype)])"),
):
    case(
        f"histogramdd_{_id}",
        f"h = torch.{_call}; [h.hist, list(h.bin_edges)]",
        grad=False,
        a=In((30, 2), F64),
        **({"w": In((30,), F64, 0.1)} if "w" in _call else {}),
    )

# --- samples and positions
for _id, _options in (
    ("plain", ""),
    ("spacing", "spacing=0.5"),
    ("each", "spacing=(0.5, 2.)"),
    ("dim", "dim=1"),
    ("order", "edge_order=2"),
    ("points", "spacing=(torch.tensor([0., 1., 3., 4.]), torch.tensor([0., 2., 3., 5., 6.])), edge_order=2"),
):
    case(f"gradient_{_id}", f"[t * 1 for t in torch.gradient(a, {_options})]", rtol=1e-6, atol=1e-7, a=In((4, 5), F64))
case("error_gradient", "torch.gradient(a, edge_order=3)", grad=False, a=In((4,)))
case("unravel_index", "list(torch.unravel_index(a, (3, 4, 5)))", grad=False, a=In((6,), "int64", 0, 59))
case("error_unravel_index", "torch.unravel_index(a, (3, 4))", grad=False, a=In((6,)))
case(
    "svd_lowrank",
    "u, s, v = torch.svd_lowrank(a @ b, q=2); [s * 1, u * s @ v.mT]",
    grad=False,
    a=In((6, 2), F64),
    b=In((2, 5), F64),
)
case("pca_lowrank", "u, s, v = torch.pca_lowrank(a, q=3); [s * 1, u * s @ v.mT]", grad=False, a=In((6, 3), F64))

# --- matrices
case("linalg_diagonal", "torch.linalg.diagonal(a, offset=1) * 1", a=In((2, 3, 3), F64))
for _type in (F64, C128):
    case(f"geqrf_{_type}", "list(torch.geqrf(a))", grad=False, a=In((2, 4, 3), _type))
    case(
        f"householder_{_type}",
        "torch.linalg.householder_product(a, t) * 1",
        a=In((2, 4, 3), _type),
        t=In((2, 2), _type),
    )
    for _options in ("", "left=False", "transpose=True"):
        _other = "c.mT" if "left" in _options else "c"
        case(
            f"ormqr_{_type}_{_options}",
            f"torch.ormqr(a, t, {_other}, {_options}) * 1",
            a=In((4, 3), _type),
            t=In((3,), _type),
            c=In((4, 2), _type),
        )
    for _hermitian in (True, False):
        case(
            f"ldl_{_type}_{_hermitian}",
            f"m = a + a.{'mH' if _hermitian else 'mT'}; f, p = torch.linalg.ldl_factor(m, hermitian={_hermitian}); "
            f"[f.tril(), p, torch.linalg.ldl_solve(f, p, b, hermitian={_hermitian})]",
            grad=False,
            a=In((2, 5, 5), _type),
            b=In((2, 5, 2), _type),
        )
case("ldl_ex", "list(torch.linalg.ldl_factor_ex(a + a.mT))[1:]", grad=False, a=In((4, 4), F64))
case("orgqr", "torch.orgqr(a, t) * 1", a=In((4, 3), F64), t=In((3,), F64))
case("lu", "list(torch.lu(a, get_infos=True))", grad=False, a=In((2, 3, 3), F64))
case("lu_solve", "torch.lu_solve(b, *torch.lu(a)) * 1", a=In((3, 3), F64), b=In((3, 2), F64))
