"""Declarations of numerical tools: histograms, integrals, segments, Householder and LDL factors, parts of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _dtype as dt
from .._shape import broadcast_shapes, contiguous_strides
from .rules import Rule, Spec, alike
from .table import op

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
COUNTED = "counts do not change with the values"


def _frexp(self: Any) -> tuple[Spec, Spec]:
    return alike(self), alike(self, dt.int32)


def _by_columns(shape: Sequence[int], dtype: dt.dtype) -> Spec:
    """Matrices as LAPACK leaves them."""
    rows, columns = shape[-2:]
    step = max(rows * columns, 1)
    return Spec(tuple(shape), dtype, (*(step * s for s in contiguous_strides(shape[:-2])), 1, max(rows, 1)))


def _ldl_solved(LD: Any, pivots: Any, B: Any, *rest: Any) -> Spec:
    return _by_columns((*broadcast_shapes(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B.dtype)


def _geqrf(self: Any) -> tuple[Spec, Spec]:
    return _by_columns(self.shape, self.dtype), Spec((*self.shape[:-2], min(self.shape[-2:])), self.dtype)


def _ldl(self: Any, *rest: Any) -> tuple[Spec, ...]:
    return (
        _by_columns(self.shape, self.dtype),
        Spec(tuple(self.shape[:-1]), dt.int32),
        Spec(tuple(self.shape[:-2]), dt.int32),
    )


def _histogram_by_count(self: Any, bins: int, *rest: Any) -> tuple[Spec, Spec]:
    return Spec((bins,), self.dtype), Spec((bins + 1,), self.dtype)


def _histogram_by_edges(self: Any, bins: Any, *rest: Any) -> tuple[Spec, Spec]:
    return Spec((bins.shape[0] - 1,), self.dtype), Spec(tuple(bins.shape), self.dtype)


def _histogramdd(self: Any, bins: Sequence[Any], *rest: Any) -> Spec:
    return Spec(tuple(len(b) - 1 for b in bins), self.dtype)


def _fixed_count(self: Any, size: int, fill_value: int = -1) -> Spec:
    return Spec((size, self.dim()), dt.int64)


op("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", meta=_frexp, out=True)
op("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", method=False)
op("trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor", method=False)
op("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", method=False)
op(
    "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
    meta=_fixed_count,
    out=True,
    no_grad="positions have none",
)
op(f"empty_permuted(SymInt[] size, int[] physical_layout, *, {_OPTIONS}) -> Tensor", method=False)
op("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", method=False)
op("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", method=False)
op("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", method=False)
op(
    "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
    Rule(None, "numpy"),
    no_grad=COUNTED,
    out=True,
    meta=lambda self, dim, keepdim, mode: Spec(_reduced_shape(self, dim, keepdim), dt.BY_NAME["uint64"]),
)
op(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int "
    "axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    method=False,
)

# --- histograms
op(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> "
    "(Tensor hist, Tensor bin_edges)",
    meta=_histogram_by_count,
    out=True,
    no_grad=COUNTED,
)
op(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, "
    "Tensor bin_edges)",
    meta=_histogram_by_edges,
    out=True,
    no_grad=COUNTED,
)
op(
    "_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor",
    meta=_histogramdd,
    method=False,
    no_grad=COUNTED,
)

# --- matrices
op(
    "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
    method=False,
    namespace="linalg",
)
op("geqrf(Tensor self) -> (Tensor a, Tensor tau)", meta=_geqrf, out=True)
op("linalg_householder_product(Tensor input, Tensor tau) -> Tensor", method=False, out=True, namespace="linalg")
op("orgqr(Tensor self, Tensor input2) -> Tensor", out=True)
op("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", out=True)
op(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor "
    "pivots, Tensor info)",
    meta=_ldl,
    method=False,
    out=True,
    namespace="linalg",
)
op(
    "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    method=False,
    out=True,
    namespace="linalg",
)
op(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    method=False,
    out=True,
    namespace="linalg",
    meta=_ldl_solved,
)
op("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", out=True)


def _reduced_shape(self: Any, dim: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    dims = {d % max(self.dim(), 1) for d in dim} or set(range(self.dim()))
    return tuple(1 if i in dims else n for i, n in enumerate(self.shape) if keepdim or i not in dims)
