"""Oracle cases: special functions."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
F64 = "float64"
EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    3.7,
    -2.4,
    12.0,
    30.0,
    -30.0,
    120.0,
    1e-4,
    float("inf"),
    float("-inf"),
    float("nan"),
]


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, **kwargs))  # type: ignore[arg-type]


# --- Bessel functions
# --------------------------------------------------------------------------------------------------- PyTorch's
# bessel_j0, j1, y0, y1 and airy_ai are good to six digits between 5 and 12 and near -2.5.
for _name in ("i0", "i0e", "i1", "i1e", "log_ndtr"):
    case(_name, f"torch.special.{_name}(a)", a=In((40,), F64, -15, 15))
    case(f"{_name}_single", f"torch.special.{_name}(a)", a=In((20,), low=-5, high=30))
    case(f"{_name}_edges", f"torch.special.{_name}(a)", grad=False, a=In((15,), F64, values=EDGES))
    case(f"{_name}_integers", f"torch.special.{_name}(a)", a=In((5,), "int64"))
for _name in (
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
):
    case(_name, f"torch.special.{_name}(a)", grad=False, a=In((40,), F64, 0.01, 40))
    case(f"{_name}_edges", f"torch.special.{_name}(a)", grad=False, a=In((15,), F64, values=EDGES))
    case(f"{_name}_integers", f"torch.special.{_name}(a)", a=In((5,), "int64", 1, 9))
for _name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai"):
    case(
        _name,
        f"torch.special.{_name}(a)",
        grad=False,
        rtol=1e-5,
        atol=2e-6,
        a=In((60,), F64, -1 if _name[7:8] == "y" else -20, 20),
    )
    case(f"{_name}_small", f"torch.special.{_name}(a)", grad=False, a=In((30,), F64, 0.01, 1.9))
    case(f"{_name}_integers", f"torch.special.{_name}(a)", a=In((5,), "int64", 1, 3))
for _name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"):
    case(
        f"{_name}_edges", f"torch.special.{_name}(a)", grad=False, rtol=1e-5, atol=2e-6, a=In((15,), F64, values=EDGES)
    )
case("i0_method", "a.i0()", a=In((5,), F64))
case("i0_inplace", "b = a.clone(); b.i0_(); b", a=In((5,), F64))
case("i0_out", "o = torch.empty(0); torch.i0(a, out=o); o", grad=False, a=In((5,)))

# --- polynomials
for _name in (
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
):
    case(_name, f"torch.special.{_name}(a, torch.arange(-1, 9))", grad=False, a=In((6, 1), F64))
    case(f"{_name}_number", f"torch.special.{_name}(a, 3)", grad=False, a=In((6,), F64))
    case(f"{_name}_number_first", f"torch.special.{_name}(0.3, torch.arange(5.))", grad=False)
    case(f"{_name}_integers", f"torch.special.{_name}(a, n)", a=In((6,), "int64"), n=In((6,), "int64", 0, 4))

# --- gamma and zeta
for _name in ("igamma", "igammac"):
    case(_name, f"torch.{_name}(a, x)", a=In((40,), F64, 0.05, 30, grad=False), x=In((40,), F64, 0.05, 40))
    case(
        f"{_name}_single",
        f"torch.{_name}(a, x)",
        grad=False,
        a=In((20,), low=0.1, high=20),
        x=In((20,), low=0.1, high=20),
    )
    case(
        f"{_name}_large",
        f"torch.{_name}(a, x)",
        grad=False,
        rtol=1e-7,
        atol=1e-9,
        a=In((5,), F64, values=[250.0, 1e3, 1e3, 1e4, 1e5]),
        x=In((5,), F64, values=[240.0, 1.1e3, 0.9e3, 1e4, 1.01e5]),
    )
    case(
        f"{_name}_edges",
        f"torch.{_name}(a, x)",
        grad=False,
        a=In((8,), F64, values=[0, 0, 1, 2, float("inf"), -1, 1, float("nan")]),
        x=In((8,), F64, values=[0, 1, 0, float("inf"), 1, 1, -1, 1]),
    )
    case(
        f"{_name}_inplace",
        f"b = a.clone(); b.{_name}_(x); b",
        grad=False,
        a=In((4,), F64, 0.5, 3),
        x=In((4,), F64, 0.5, 3),
    )
case("gammainc", "torch.special.gammainc(a, x)", grad=False, a=In((4,), F64, 0.5, 3), x=In((4,), F64, 0.5, 3))
case("gammaincc", "torch.special.gammaincc(a, x)", grad=False, a=In((4,), F64, 0.5, 3), x=In((4,), F64, 0.5, 3))
case("mvlgamma", "torch.mvlgamma(a, 3)", a=In((6,), F64, 1.5, 8))
case("mvlgamma_integers", "torch.mvlgamma(a, 2)", a=In((6,), "int64", 2, 9))
case("mvlgamma_method", "a.mvlgamma(1)", a=In((3, 2), F64, 0.5, 8))
case("mvlgamma_inplace", "b = a.clone(); b.mvlgamma_(2); b", a=In((3,), F64, 1.5, 8))
case("multigammaln", "torch.special.multigammaln(a, 4)", a=In((3,), F64, 2.5, 8))
case("error_mvlgamma", "torch.mvlgamma(a, 0)", grad=False, a=In((3,)))
case("special_logsumexp", "torch.special.logsumexp(a, 1)", a=In((3, 4), F64))
case("xlog1py", "torch.special.xlog1py(a, b)", a=In((3, 4), F64), b=In((4,), F64, -0.9, 3))
case(
    "xlog1py_zero",
    "torch.special.xlog1py(a, b)",
    a=In((3,), F64, values=[0, 0, 1]),
    b=In((3,), F64, values=[-1, float("nan"), -1]),
)
case("xlog1py_number", "torch.special.xlog1py(a, 2)", a=In((3,), F64))
case("xlog1py_number_first", "torch.special.xlog1py(2, a)", a=In((3,), F64, 0, 2))
case("zeta", "torch.special.zeta(a, b)", a=In((30,), F64, 1.1, 15, grad=False), b=In((30,), F64, 0.1, 20))
case(
    "zeta_negative",
    "torch.special.zeta(a, b)",
    grad=False,
    a=In((6,), F64, values=[2, 3, 4, 2.5, 1, 0.5]),
    b=In((6,), F64, values=[-1.5, -2, -3.3, -1.5, 2, 2]),
)
case("zeta_number", "torch.special.zeta(2.5, a)", grad=False, a=In((3,), low=0.5, high=3))
case("zeta_number_last", "torch.special.zeta(a, 2)", grad=False, a=In((3,), low=1.5, high=3))
