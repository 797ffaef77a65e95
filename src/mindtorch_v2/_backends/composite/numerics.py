"""Numerical tools made of other ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._dispatch.return_types import tuple_type
from ..._ops.table import find
from ..._shape import normalize_dim


@composite("trapz.x")
def trapz(y: Any, x: Any, dim: int) -> Any:
    return aten.trapezoid(y, x, dim=dim)


@composite("trapz.dx")
def trapz_dx(y: Any, dx: float, dim: int) -> Any:
    return aten.trapezoid(y, dx=dx, dim=dim)


@composite("vander")
def vander(x: Any, N: int | None, increasing: bool) -> Any:
    """Powers of a vector's elements: by columns from the highest to 0, or the other way."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    powers = aten.linalg_vander(x, N=n) if n > 0 else aten.new_empty(x, [x.shape[0], 0])
    return powers if increasing else aten.flip(powers, [1])


@composite("empty_permuted")
def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    if len(physical_layout) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for i, d in enumerate(physical_layout):
        if not 0 <= d < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index {i}).  "
                "NB: negative dims not currently supported; file an issue if you want it."
            )
    if len(set(physical_layout)) != len(size):
        raise RuntimeError("Duplicate dim not allowed")
    stored = aten.empty([size[d] for d in physical_layout], dtype=dtype, device=device)
    return aten.permute(stored, [list(physical_layout).index(d) for d in range(len(size))])


@composite("norm_except_dim")
def norm_except_dim(v: Any, pow: int, dim: int) -> Any:
    """The norms over all dimensions but one, which is kept; dim = -1 is over all."""
    if dim == -1:
        return aten.linalg_vector_norm(v, pow)
    rest = [d for d in range(v.dim()) if d != dim % v.dim()]
    return aten.linalg_vector_norm(v, pow, rest, True)


@composite("_weight_norm")
def weight_norm(v: Any, g: Any, dim: int) -> Any:
    return aten.mul(v, aten.div(g, aten.norm_except_dim(v, 2, dim)))


@composite("conv_tbc")
def conv_tbc(self: Any, weight: Any, bias: Any, pad: int) -> Any:
    """A convolution over time of [time, batch, channels] with weights [kernel, in, out]."""
    out = aten.conv1d(aten.permute(self, [1, 2, 0]), aten.permute(weight, [2, 1, 0]), bias, 1, pad)
    return aten.permute(out, [2, 0, 1])


# --- segments
_START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}


@composite("segment_reduce")
def segment_reduce(
    data: Any, reduce: str, lengths: Any, indices: Any, offsets: Any, axis: int, unsafe: bool, initial: Any
) -> Any:
    """Reductions of stretches of a dimension, given by their lengths or their borders, one after another."""
    reduce = reduce.removeprefix("a") if reduce in ("amax", "amin") else reduce
    if reduce not in _START:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = normalize_dim(axis, data.dim())
    counts = aten.diff(offsets, dim=axis) if lengths is None else lengths
    if lengths is not None and not unsafe and bool(aten.any(aten.lt(lengths, 0))):
        raise RuntimeError("lengths contains negative value!")
    rows = aten.reshape(counts, [-1, counts.shape[-1]])
    flat = aten.reshape(data, [rows.shape[0], data.shape[axis], *data.shape[axis + 1 :]])
    start = _START[reduce] if initial is None else initial
    borders = [[0, *aten.cumsum(row, 0).tolist()] for row in rows]
    if offsets is not None:
        borders = [row.tolist() for row in aten.reshape(offsets, [-1, offsets.shape[-1]])]
    parts = [
        [
            _reduce_segment(aten.slice(flat[i], 0, low, high), reduce, start, initial)
            for low, high in zip(row[:-1], row[1:])
        ]
        for i, row in enumerate(borders)
    ]
    stacked = aten.stack([aten.stack(row) if row else aten.new_empty(flat, [0, *flat.shape[2:]]) for row in parts])
    return aten.reshape(stacked, [*counts.shape, *data.shape[axis + 1 :]])


def _reduce_segment(part: Any, reduce: str, start: float, initial: Any) -> Any:
    """One stretch, of shape [length, ...]."""
    if part.shape[0] == 0:
        empty = float("nan") if reduce == "mean" and initial is None else start
        return aten.new_full(part, part.shape[1:], empty)
    if reduce in ("max", "min"):
        extreme = aten.amax(part, [0]) if reduce == "max" else aten.amin(part, [0])
        return extreme if initial is None else (aten.clamp_min if reduce == "max" else aten.clamp_max)(extreme, initial)
    if reduce == "prod":
        product = aten.prod(part, 0)
        return product if initial is None else product * initial
    total = aten.sum(part, [0])
    if initial is not None:
        total = total + initial
    return total / part.shape[0] if reduce == "mean" else total


# --- matrices
@composite("linalg_diagonal")
def linalg_diagonal(A: Any, offset: int, dim1: int, dim2: int) -> Any:
    return aten.diagonal(A, offset, dim1, dim2)


def _reflect(v: Any, tau: Any, other: Any) -> Any:
    """(I - tau v v^H) other, for column vectors v [..., m, 1]."""
    return other - tau[..., None, None] * (v @ (v.mH @ other))


def _vector(packed: Any, i: int) -> Any:
    """The i-th reflection's vector: zeros, a one, and what is stored below the diagonal."""
    m = packed.shape[-2]
    head = aten.new_zeros(packed, [*packed.shape[:-2], m, 1])
    head[..., i, 0] = 1
    mask = aten.unsqueeze(aten.gt(aten.arange(m, device=packed.device), i), -1)
    return head + aten.mul(aten.slice(packed, -1, i, i + 1), aten.to(mask, packed.dtype))


@composite("linalg_householder_product")
def householder_product(input: Any, tau: Any) -> Any:
    """The first n columns of the product of reflections whose vectors stand below a matrix's diagonal."""
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.householder_product: input must have at least 2 dimensions.")
    m, n = input.shape[-2:]
    if m < n:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if n < tau.shape[-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    q = aten.expand(aten.eye(m, n, dtype=input.dtype, device=input.device), [*input.shape[:-2], m, n])
    for i in reversed(range(tau.shape[-1])):
        q = _reflect(_vector(input, i), tau[..., i], q)
    return q if tau.shape[-1] else aten.add(q, aten.mul(input, 0))


@composite("orgqr")
def orgqr(self: Any, input2: Any) -> Any:
    return aten.linalg_householder_product(self, input2)


@composite("ormqr")
def ormqr(self: Any, input2: Any, input3: Any, left: bool, transpose: bool) -> Any:
    """Q times a matrix, or Q^H, or from the right, without forming Q: the product of reflections (self, input2)."""
    if self.dim() < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if input3.dim() < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    if input2.shape[-1] > min(input3.shape[-2 if left else -1], self.shape[-1]):
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])")
    if not left:
        return ormqr(self, input2, input3.mH, True, not transpose).mH
    count = input2.shape[-1]
    out = input3
    for i in range(count) if transpose else reversed(range(count)):
        tau = input2[..., i]
        out = _reflect(_vector(self, i), tau.conj() if transpose and tau.dtype.is_complex else tau, out)
    return out


@composite("linalg_ldl_factor")
def ldl_factor(self: Any, hermitian: bool) -> Any:
    packed, pivots, info = aten.linalg_ldl_factor_ex(self, hermitian=hermitian, check_errors=False)
    aten._linalg_check_errors(info, "torch.linalg.ldl_factor_ex", is_matrix=self.dim() == 2)
    return tuple_type(find("linalg_ldl_factor"))(packed, pivots)


@composite("lu_solve")
def lu_solve(self: Any, LU_data: Any, LU_pivots: Any) -> Any:
    return aten.linalg_lu_solve(LU_data, LU_pivots, self)
