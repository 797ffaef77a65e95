"""Declarations of the ops that make few numbers out of many: sums, extremes, statistics, norms, scans, counts."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .._shape import normalize_dim, normalize_dims, reduced_shape
from .rules import MetaRule, Spec, as_float
from .table import op

POSITIONS = "the result is a position or a count"
DISCRETE = "the result does not change continuously with the input"


def _wide(d: dt.dtype) -> dt.dtype:
    """The type of a sum: integers and bool become int64."""
    return dt.int64 if d.category < 2 else d


def _truth(d: dt.dtype) -> dt.dtype:
    """The type of all and any: uint8 stays, everything else becomes bool."""
    return d if d is dt.uint8 else dt.bool_


_KINDS: dict[str, Any] = {
    "self": lambda d: d,
    "sum": _wide,
    "truth": _truth,
    "real": lambda d: d.to_real(),
    "int64": lambda d: dt.int64,
}


def _full(kind: str = "self") -> MetaRule:
    """For (self, ..., dtype): everything is reduced to a scalar."""

    def rule(self: Any, *rest: Any) -> Spec:
        asked = next((r for r in rest if isinstance(r, dt.dtype)), None)
        return Spec((), asked or _KINDS[kind](self.dtype))

    return rule


def _along(kind: str = "self") -> MetaRule:
    """For (self, dim, keepdim, ..., dtype): `dim` is reduced; None or () means all."""

    def rule(self: Any, dim: Any = None, keepdim: bool = False, *rest: Any) -> Spec:
        asked = next((r for r in rest if isinstance(r, dt.dtype)), None)
        shape = reduced_shape(self.shape, normalize_dims(dim, self.dim()), bool(keepdim))
        return Spec(shape, asked or _KINDS[kind](self.dtype))

    return rule


def _truth_along(self: Any, dim: Any, keepdim: bool) -> Spec:
    """For all and any over several dimensions: unlike elsewhere, an empty list means none."""
    dims = () if dim is not None and len(dim) == 0 else normalize_dims(dim, self.dim())
    return Spec(reduced_shape(self.shape, dims, keepdim), _truth(self.dtype))


def _with_indices(self: Any, dim: int, keepdim: bool = False) -> tuple[Spec, Spec]:
    """For (self, dim, keepdim): the reduced values and where they are."""
    values = _along()(self, dim, keepdim)
    assert isinstance(values, Spec)
    return values, Spec(values.shape, dt.int64)


def _both_extremes(self: Any, dim: int | None, keepdim: bool) -> tuple[Spec, Spec]:
    shape = reduced_shape(self.shape, normalize_dims(dim, self.dim()), keepdim)
    return Spec(shape, self.dtype), Spec(shape, self.dtype)


def _vector_norm(self: Any, order: Any, dim: Any, keepdim: bool, dtype: dt.dtype | None) -> Spec:
    return Spec(reduced_shape(self.shape, normalize_dims(dim, self.dim()), keepdim), (dtype or self.dtype).to_real())


def _scan(self: Any, dim: int, dtype: dt.dtype | None = None) -> Spec:
    normalize_dim(dim, self.dim())
    return Spec(tuple(self.shape), dtype or _wide(self.dtype))


def _scan_with_indices(self: Any, dim: int) -> tuple[Spec, Spec]:
    normalize_dim(dim, self.dim())
    return Spec(tuple(self.shape), self.dtype), Spec(tuple(self.shape), dt.int64)


def _unknown_size(name: str) -> MetaRule:
    """For ops whose output size depends on values, which the meta device has not."""

    def rule(*args: Any) -> Spec:
        raise NotImplementedError(
            f"aten::{name}: the shape of the result depends on values, which meta tensors do not have"
        )

    return rule


def _moments(full: bool) -> Any:
    """For var and std in their overloads: (self, unbiased), (self, dim, unbiased, keepdim), (self, dim, correction,
    keepdim).
    """

    def rule(self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Spec:
        shape = () if full else reduced_shape(self.shape, normalize_dims(dim, self.dim()), keepdim)
        return Spec(shape, self.dtype.to_real())

    return rule


def _moments_and_mean(full: bool) -> Any:
    one = _moments(full)

    def rule(self: Any, *rest: Any) -> tuple[Spec, Spec]:
        first = one(self, *rest)
        return first, Spec(first.shape, self.dtype)

    return rule


# Sums and means
op("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", meta=_full("sum"), out=True)
op(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    meta=_along("sum"),
    out=True,
)
op(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    meta=_along("sum"),
    out="cast",
)
op("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", out=True)
op("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out=True)
op("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out="cast")
op("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", meta=_full("sum"), out=True)
op(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    meta=_along("sum"),
    out=True,
)
op("sum_to_size(Tensor self, SymInt[] size) -> Tensor", function=False)
op("trace(Tensor self) -> Tensor", meta=_full("sum"))
op("trace_backward(Tensor grad, SymInt[] sizes) -> Tensor", function=False, method=False)

# Extremes
for _name in ("max", "min"):
    op(f"{_name}(Tensor self) -> Tensor", meta=_full(), out="cast")
    op(
        f"{_name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        meta=_with_indices,
        out=True,
    )
    op(f"{_name}.other(Tensor self, Tensor other) -> Tensor", out="cast")
    op(f"a{_name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", meta=_along(), out=True)
    op(
        f"arg{_name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        meta=_along("int64"),
        out=True,
        no_grad=POSITIONS,
    )
    op(f"cum{_name}(Tensor self, int dim) -> (Tensor values, Tensor indices)", meta=_scan_with_indices, out=True)
op(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    meta=_both_extremes,
    out=True,
)
op(
    "value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor",
    function=False,
    method=False,
)
op("cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor", function=False, method=False)

# Truth and counts
for _name in ("all", "any"):
    op(f"{_name}(Tensor self) -> Tensor", meta=_full("truth"), out=True, no_grad=DISCRETE)
    op(
        f"{_name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        meta=_along("truth"),
        out=True,
        no_grad=DISCRETE,
    )
    op(
        f"{_name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        meta=_truth_along,
        out=True,
        no_grad=DISCRETE,
    )
op("count_nonzero(Tensor self, int? dim=None) -> Tensor", meta=_along("int64"), no_grad=POSITIONS)
op("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", meta=_along("int64"), no_grad=POSITIONS)
op(
    "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
    meta=_unknown_size("bincount"),
    no_grad=POSITIONS,
)
op(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    meta=lambda self, bins, *edges: Spec((bins,), self.dtype),
    out=True,
    no_grad=POSITIONS,
)

# Spread and norms
for _name in ("std", "var"):
    op(f"{_name}(Tensor self, bool unbiased=True) -> Tensor", meta=_moments(True))
    op(
        f"{_name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
        meta=_moments(False),
        out="cast",
    )
    op(
        f"{_name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
        meta=_moments(False),
        out="cast",
    )
    op(f"{_name}_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", meta=_moments_and_mean(True), method=False)
    op(
        f"{_name}_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
        meta=_moments_and_mean(False),
        method=False,
    )
    op(
        f"{_name}_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
        " -> (Tensor, Tensor)",
        meta=_moments_and_mean(False),
        method=False,
    )
op(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    meta=_vector_norm,
    out=True,
    method=False,
    namespace="linalg",
)
op("norm.Scalar(Tensor self, Scalar p=2) -> Tensor")
op("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", function=False, method=False)
op("norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", function=False, method=False)
op(
    "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
    function=False,
    method=False,
)
op("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor")
op("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", inplace=True, out=True)
op("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", out=True)
op("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor")
op("corrcoef(Tensor self) -> Tensor")

# Scans
op("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", meta=_scan, inplace=True, out="cast")
op("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", meta=_scan, inplace=True, out="cast")
op("cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor", function=False, method=False)
op("logcumsumexp(Tensor self, int dim) -> Tensor", out=True)
op(
    "_logcumsumexp(Tensor self, int dim) -> Tensor",
    meta=lambda self, dim: Spec(tuple(self.shape), as_float(self.dtype)),
    function=False,
    method=False,
    no_grad="an inner step of logcumsumexp, which has the derivative",
)
op("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", out=True)
op("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", method=False)
op("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", method=False)
op("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", method=False)
op("cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", method=False)

# Order statistics
for _name in ("median", "nanmedian"):
    op(f"{_name}(Tensor self) -> Tensor", meta=_full())
    op(
        f"{_name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        meta=_with_indices,
        out=True,
    )
op("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", meta=_with_indices, out=True)
for _name in ("quantile", "nanquantile"):
    op(
        f'{_name}(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor',
        out=True,
    )
    op(
        f'{_name}.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> '
        "Tensor",
        out=True,
    )

# Distinct values. The Python functions unique and unique_consecutive choose which of the outputs a caller sees.
op(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
    "Tensor, Tensor)",
    meta=_unknown_size("_unique2"),
    method=False,
)
op(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    meta=_unknown_size("unique_dim"),
    function=False,
    method=False,
)
op(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)"
    " -> (Tensor, Tensor, Tensor)",
    meta=_unknown_size("unique_consecutive"),
)
