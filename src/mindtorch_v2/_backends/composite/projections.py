"""Pseudo-inverse, rank, bilinear forms and distances, made of other ops."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._dispatch.registry import composite
from ..._dtype import finfo
from ..._shape import broadcast_shapes

# --- tolerances -------------------------------------------------------------------------------------------------------


def _real(self: Any) -> Any:
    return self.dtype.to_real()


def _tolerances(self: Any, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Absolute and relative tolerance as tensors; the relative one is eps * max(m, n) unless an absolute one is
    given.
    """
    where = {"dtype": _real(self), "device": self.device}
    given = atol is not None
    if atol is None:
        atol = aten.zeros([], **where)
    elif isinstance(atol, (int, float)):
        atol = aten.full([], atol, **where)
    if rtol is None:
        default = finfo(self.dtype).eps * max(self.shape[-2:])
        if given:
            rtol = aten.where(aten.gt(atol, 0), 0.0, default)
        else:
            rtol = aten.full([], default, **where)
    elif isinstance(rtol, (int, float)):
        rtol = aten.full([], rtol, **where)
    return atol, rtol


def _threshold(largest: Any, atol: Any, rtol: Any) -> Any:
    relative = aten.mul(aten.unsqueeze(rtol, -1), largest)
    return aten.max(aten.unsqueeze(atol, -1), relative)


# --- rank -------------------------------------------------------------------------------------------------------------


@composite("linalg_matrix_rank.atol_rtol_tensor", "linalg_matrix_rank.atol_rtol_float")
def linalg_matrix_rank(input: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    atol, rtol = _tolerances(input, atol, rtol)
    if input.numel() == 0:
        return aten.zeros(list(input.shape[:-2]), dtype=aten.gt(atol, 0).long().dtype, device=input.device)
    if hermitian:
        values = aten.abs(aten.linalg_eigvalsh(input))
        largest = aten.amax(values, [-1], True)
    else:
        values = aten.linalg_svdvals(input)
        largest = aten.narrow(values, -1, 0, 1)
    return aten.sum(aten.gt(values, _threshold(largest, atol, rtol)), [-1])


@composite("linalg_matrix_rank", "linalg_matrix_rank.tol_tensor")
def linalg_matrix_rank_tol(self: Any, tol: Any, hermitian: bool) -> Any:
    if isinstance(tol, (int, float)):
        return linalg_matrix_rank(self, float(tol), 0.0, hermitian)
    return linalg_matrix_rank(self, tol, aten.zeros([], dtype=tol.dtype, device=tol.device), hermitian)


# --- pseudo-inverse ---------------------------------------------------------------------------------------------------


@composite("linalg_pinv.atol_rtol_tensor")
def linalg_pinv(self: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if self.dim() < 2 or self.dtype.category < 2:
        shape = ", ".join(map(str, self.shape))
        raise RuntimeError(
            f"linalg.pinv({type_word(self.dtype)}{{[{shape}]}}): expected a tensor with 2 or more dimensions of "
            "float, double, cfloat or cdouble types"
        )
    atol, rtol = _tolerances(self, atol, rtol)
    if self.numel() == 0:
        u, s, v = aten.svd(self)
        return aten.matmul(aten.mul(v, aten.unsqueeze(aten.reciprocal(s), -2)), aten.mH(u))
    if hermitian:
        values, vectors = aten.linalg_eigh(self)
        u = v = vectors
        size = aten.abs(values)
        largest = aten.amax(size, [-1], True)
    else:
        u, values, v = aten.svd(self)
        size = values
        largest = aten.narrow(values, -1, 0, 1)
    threshold = _threshold(largest, atol, rtol)
    zero = aten.zeros([], dtype=values.dtype, device=self.device)
    reciprocal = aten.reciprocal(values)
    inverse = aten.to(aten.where(aten.gt(size, threshold), reciprocal, zero), self.dtype)
    uh = aten.mH(u)
    return aten.matmul(aten.mul(v, aten.unsqueeze(inverse, -2)), uh)


@composite("linalg_pinv.atol_rtol_float")
def linalg_pinv_float(self: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    atol, rtol = _tolerances(self, 0.0 if atol is None else atol, rtol)
    return aten.linalg_pinv(self, atol=atol, rtol=rtol, hermitian=hermitian)


@composite("linalg_pinv", "linalg_pinv.rcond_tensor")
def linalg_pinv_rcond(self: Any, rcond: Any, hermitian: bool) -> Any:
    atol, rtol = _tolerances(self, 0.0, rcond)
    return aten.linalg_pinv(self, atol=atol, rtol=rtol, hermitian=hermitian)


@composite("pinverse")
def pinverse(self: Any, rcond: float) -> Any:
    return aten.linalg_pinv(self, rcond, False)


# --- bilinear ---------------------------------------------------------------------------------------------------------


@composite("bilinear")
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any) -> Any:
    _check_bilinear(input1, input2, weight, bias)
    outer = tuple(input1.shape[:-1])
    flat1 = aten.reshape(input1, (-1, input1.shape[-1]))
    flat2 = aten.reshape(input2, (-1, input2.shape[-1]))
    out = aten.reshape(aten._trilinear(flat1, weight, flat2, [1, 3], [0], [1, 2], [2, 3]), (*outer, weight.shape[0]))
    return out if bias is None else aten.add(out, bias)


def _check_bilinear(input1: Any, input2: Any, weight: Any, bias: Any) -> None:
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for i in range(input1.dim() - 1):
        if input1.shape[i] != input2.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {input1.shape[i]} and "
                f"{input2.shape[i]}"
            )
    for which, t, dim in (("input1", input1, 1), ("input2", input2, 2)):
        if t.shape[-1] != weight.shape[dim]:
            raise RuntimeError(
                f"bilinear(): {which} size does not match weight size: got {t.shape[-1]} but expected "
                f"{weight.shape[dim]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )


# --- distances --------------------------------------------------------------------------------------------------------

_FEW_ROWS = 25  # up to this many, PyTorch takes differences instead of a matrix product


@composite("cdist")
def cdist(x1: Any, x2: Any, p: float, compute_mode: int | None) -> Any:
    for name, t in (("X1", x1), ("X2", x2)):
        if t.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {t.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, t in (("X1", x1), ("X2", x2)):
        if not t.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {type_word(t.dtype)}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    mode = compute_mode or 0
    if not 0 <= mode <= 2:
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {mode}")
    many = max(x1.shape[-2], x2.shape[-2]) > _FEW_ROWS
    if p != 2 or not (mode == 1 or (mode == 0 and many)) or not x1.numel() or not x2.numel():
        return aten._cdist_forward(x1, x2, p, compute_mode)
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    shape1, shape2 = (*batch, *x1.shape[-2:]), (*batch, *x2.shape[-2:])
    left = aten.view(aten.expand(x1, shape1), shape1)
    right = aten.view(aten.expand(x2, shape2), shape2)
    return aten.view(aten._euclidean_dist(left, right), (*batch, x1.shape[-2], x2.shape[-2]))


@composite("_euclidean_dist")
def euclidean_dist(x1: Any, x2: Any) -> Any:
    """|a - b|^2 = |a|^2 - 2ab + |b|^2, all pairs by one product of widened matrices."""
    norm1 = aten.sum(aten.pow(x1, 2), [-1], keepdim=True)
    ones1 = aten.ones_like(norm1)
    norm2 = aten.sum(aten.pow(x2, 2), [-1], keepdim=True)
    ones2 = aten.ones_like(norm2)
    left = aten.cat([aten.mul(x1, -2), norm1, ones1], -1)
    right = aten.cat([x2, ones2, norm2], -1)
    return aten.sqrt_(aten.clamp_min_(aten.matmul(left, aten.mT(right)), 0))


@composite("pdist")
def pdist(self: Any, p: float) -> Any:
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if not self.dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return aten._pdist_forward(aten.contiguous(self), p)
