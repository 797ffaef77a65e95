"""Declarations of special functions: Bessel functions, orthogonal polynomials, gamma and zeta functions."""

from __future__ import annotations

from .rules import FLOAT
from .table import op

POLYNOMIALS = (
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
)
NOT_DIFFERENTIATED = (
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
)
NOT_DIFFERENTIATED_X = ("airy_ai", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0")

op("i0(Tensor self) -> Tensor", FLOAT, inplace=True, out=True)
op("igamma(Tensor self, Tensor other) -> Tensor", FLOAT, inplace=True, out=True)
op("igammac(Tensor self, Tensor other) -> Tensor", FLOAT, inplace=True, out=True)
op("mvlgamma(Tensor self, int p) -> Tensor", inplace=True, out=True)
op("special_i0(Tensor self) -> Tensor", method=False, out=True, namespace="special")
for _name in ("i0e", "i1", "i1e", "log_ndtr", *NOT_DIFFERENTIATED):
    op(f"special_{_name}(Tensor self) -> Tensor", FLOAT, method=False, out=True, namespace="special")
for _name in NOT_DIFFERENTIATED_X:
    op(f"special_{_name}(Tensor x) -> Tensor", FLOAT, method=False, out=True, namespace="special")
for _name in POLYNOMIALS:
    op(
        f"special_{_name}(Tensor x, Tensor n) -> Tensor",
        FLOAT,
        numbers=("x", "n"),
        method=False,
        out=True,
        namespace="special",
    )
for _name in ("xlog1py", "zeta"):
    op(f"special_{_name}(Tensor self, Tensor other) -> Tensor", FLOAT, method=False, out=True, namespace="special")
    op(
        f"special_{_name}.self_scalar(Scalar self, Tensor other) -> Tensor",
        FLOAT.of("self", "other"),
        method=False,
        out=True,
        namespace="special",
    )
    op(
        f"special_{_name}.other_scalar(Tensor self, Scalar other) -> Tensor",
        FLOAT.of("self", "other"),
        method=False,
        out=True,
        namespace="special",
    )
op("special_gammainc(Tensor self, Tensor other) -> Tensor", method=False, out=True, namespace="special")
op("special_gammaincc(Tensor self, Tensor other) -> Tensor", method=False, out=True, namespace="special")
op("special_multigammaln(Tensor self, int p) -> Tensor", method=False, out=True, namespace="special")
op(
    "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    method=False,
    out=True,
    namespace="special",
)
