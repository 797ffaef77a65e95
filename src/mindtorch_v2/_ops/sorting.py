"""Declarations of the ops that order values and search in ordered ones."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .._shape import normalize_dim, reduced_shape
from .rules import Spec, alike
from .table import op

POSITIONS = "the result is a position"


def _sort_specs(self: Any, *rest: Any) -> tuple[Spec, Spec]:
    return alike(self), alike(self, dt.int64)


def _topk(self: Any, k: int, dim: int, *rest: Any) -> tuple[Spec, Spec]:
    shape = list(self.shape)
    if shape:
        shape[normalize_dim(dim, len(shape))] = k
    return Spec(tuple(shape), self.dtype), Spec(tuple(shape), dt.int64)


def _kthvalue(self: Any, k: int, dim: int, keepdim: bool) -> tuple[Spec, Spec]:
    dims = (normalize_dim(dim, self.dim()),) if self.dim() else ()
    shape = reduced_shape(self.shape, dims, keepdim)
    return Spec(shape, self.dtype), Spec(shape, dt.int64)


def _positions(values: int) -> Any:
    """For searches: the shape of the searched values (argument number `values`), in int64 or int32."""

    def rule(*args: Any) -> Spec:
        wanted = args[values]
        shape = tuple(wanted.shape) if hasattr(wanted, "shape") else ()
        return Spec(shape, dt.int32 if args[2] else dt.int64)

    return rule


op(
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    meta=_sort_specs,
    out=True,
)
op(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    meta=_sort_specs,
    out=True,
)
op("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor")
op("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", out=True)
op("msort(Tensor self) -> Tensor", out=True)
op(
    "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    meta=_topk,
    out=True,
)
op(
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    meta=_kthvalue,
    out=True,
)

_SEARCH = "bool out_int32=False, bool right=False"
op(
    f"searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, {_SEARCH}, str? side=None, Tensor? sorter=None) -> "
    "Tensor",
    meta=_positions(1),
    method=False,
    out=True,
    no_grad=POSITIONS,
)
op(
    f"searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, {_SEARCH}, str? side=None, Tensor? sorter=None) -> "
    "Tensor",
    meta=_positions(1),
    method=False,
    no_grad=POSITIONS,
)
op(
    f"bucketize.Tensor(Tensor self, Tensor boundaries, *, {_SEARCH}) -> Tensor",
    meta=_positions(0),
    method=False,
    out=True,
    no_grad=POSITIONS,
)
op(
    f"bucketize.Scalar(Scalar self, Tensor boundaries, *, {_SEARCH}) -> Tensor",
    meta=_positions(0),
    method=False,
    no_grad=POSITIONS,
)
