"""Linear algebra made of the factorisations: solvers, determinants, norms, and the older names of all that."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import inf, prod
from typing import Any

import numpy as np

from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._dispatch.return_types import tuple_type
from ..._ops.table import find
from ..._shape import normalize_dim
from ..cpu.decompositions import raise_failure
from .linalg import check_square


def _outputs(name: str, *values: Any) -> Any:
    """The named tuple that the op returns."""
    return tuple_type(find(name))(*values)


# --- errors -----------------------------------------------------------------------------------------------------------


@composite("_linalg_check_errors")
def check_errors(info: Any, api_name: str, is_matrix: bool) -> None:
    """Raises for the first matrix whose info is not zero."""
    if not info.is_meta and aten.item(aten.any(info)):
        raise_failure(np.array(info.tolist(), np.int32), api_name)


# --- inverse, solve, determinant


@composite("linalg_inv")
def linalg_inv(A: Any) -> Any:
    result, info = aten.linalg_inv_ex(A)
    aten._linalg_check_errors(info, "linalg.inv", is_matrix=A.dim() == 2)
    return result


@composite("inverse")
def inverse(self: Any) -> Any:
    return aten.linalg_inv(self)


@composite("linalg_solve_ex")
def linalg_solve_ex(A: Any, B: Any, left: bool, check_errors: bool) -> Any:
    result, _, _, info = aten._linalg_solve_ex(A, B, left=left)
    if check_errors:
        aten._linalg_check_errors(info, "linalg.solve_ex", is_matrix=A.dim() == 2)
    return _outputs("linalg_solve_ex", result, info)


@composite("linalg_solve")
def linalg_solve(A: Any, B: Any, left: bool) -> Any:
    result, info = aten.linalg_solve_ex(A, B, left=left)
    aten._linalg_check_errors(info, "torch.linalg.solve", is_matrix=A.dim() == 2)
    return result


@composite("linalg_det")
def linalg_det(A: Any) -> Any:
    return aten._linalg_det(A)[0]


@composite("det")
def det(self: Any) -> Any:
    return aten.linalg_det(self)


@composite("linalg_slogdet")
def linalg_slogdet(A: Any) -> Any:
    return _outputs("linalg_slogdet", *aten._linalg_slogdet(A)[:2])


@composite("slogdet")
def slogdet(self: Any) -> Any:
    return _outputs("slogdet", *aten.linalg_slogdet(self))


@composite("logdet")
def logdet(self: Any) -> Any:
    sign, logabsdet = aten.linalg_slogdet(self)
    if self.dtype.is_complex:
        return aten.add(aten.log(sign), logabsdet)
    return aten.where(aten.eq(sign, -1), float("nan"), logabsdet)


@composite("linalg_tensorsolve")
def linalg_tensorsolve(self: Any, other: Any, dims: Sequence[int] | None) -> Any:
    if dims is not None:
        self = aten.movedim(self, list(dims), [self.dim() - len(dims) + i for i in range(len(dims))])
    rest = tuple(self.shape[other.dim() :])
    rows, columns = prod(self.shape[: other.dim()]), prod(rest)
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {columns} != {rows}"
        )
    solved = aten.linalg_solve(aten.reshape(self, (columns, columns)), aten.flatten(other))
    return aten.reshape(solved, rest)


@composite("linalg_tensorinv")
def linalg_tensorinv(self: Any, ind: int) -> Any:
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = tuple(self.shape[:ind]), tuple(self.shape[ind:])
    if prod(first) != prod(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{prod(last)} != {prod(first)}"
        )
    result, info = aten.linalg_inv_ex(aten.reshape(self, (prod(last), prod(first))))
    aten._linalg_check_errors(info, "linalg.tensorinv", is_matrix=True)
    return aten.reshape(result, (*last, *first))


# --- factorisations


@composite("linalg_cholesky")
def linalg_cholesky(self: Any, upper: bool) -> Any:
    result, info = aten.linalg_cholesky_ex(self, upper=upper)
    aten._linalg_check_errors(info, "linalg.cholesky", is_matrix=self.dim() == 2)
    return result


def _warn_deprecated(old: str, new: str) -> None:
    warnings.warn(
        f"torch.{old} is deprecated in favor of torch.{new} and will be removed in a future PyTorch release.",
        stacklevel=4,
    )


@composite("cholesky")
def cholesky(self: Any, upper: bool) -> Any:
    _warn_deprecated("cholesky", "linalg.cholesky")
    result, info = aten.linalg_cholesky_ex(self, upper=upper)
    aten._linalg_check_errors(info, "cholesky", is_matrix=self.dim() == 2)
    return result


@composite("linalg_svd")
def linalg_svd(A: Any, full_matrices: bool, driver: str | None) -> Any:
    return _outputs("linalg_svd", *aten._linalg_svd(A, full_matrices, True, driver=driver))


@composite("linalg_svdvals")
def linalg_svdvals(A: Any, driver: str | None) -> Any:
    # Its gradient needs the singular vectors.
    return aten._linalg_svd(A, False, A.requires_grad, driver=driver)[1]


@composite("svd")
def svd(self: Any, some: bool, compute_uv: bool) -> Any:
    if compute_uv:
        u, s, vh = aten.linalg_svd(self, not some)
    else:
        s = aten.linalg_svdvals(self)
        m, n = self.shape[-2:]
        u = aten.zeros((*self.shape[:-2], m, m), dtype=self.dtype, device=self.device)
        vh = aten.zeros((*self.shape[:-2], n, n), dtype=self.dtype, device=self.device)
    return _outputs("svd", u, s, aten.mH(vh))


@composite("qr")
def qr(self: Any, some: bool) -> Any:
    _warn_deprecated("qr", "linalg.qr")
    return _outputs("qr", *aten.linalg_qr(self, "reduced" if some else "complete"))


@composite("linalg_eigh")
def linalg_eigh(self: Any, UPLO: str) -> Any:
    return _outputs("linalg_eigh", *aten._linalg_eigh(self, UPLO))


@composite("linalg_eigvalsh")
def linalg_eigvalsh(self: Any, UPLO: str) -> Any:
    return aten._linalg_eigh(self, UPLO, self.requires_grad)[0]


@composite("linalg_eigvals")
def linalg_eigvals(self: Any) -> Any:
    return aten.linalg_eig(self)[0] if self.requires_grad else aten._linalg_eigvals(self)


@composite("linalg_lu_factor")
def linalg_lu_factor(A: Any, pivot: bool) -> Any:
    lu, pivots, info = aten.linalg_lu_factor_ex(A, pivot=pivot)
    aten._linalg_check_errors(info, "torch.linalg.lu_factor", is_matrix=A.dim() == 2)
    return _outputs("linalg_lu_factor", lu, pivots)


@composite("linalg_lu")
def linalg_lu(A: Any, pivot: bool) -> Any:
    if not pivot:
        raise RuntimeError("linalg.lu: LU without pivoting is not implemented on the CPU")
    lu, pivots, _ = aten.linalg_lu_factor_ex(A, pivot=pivot)
    return _outputs("linalg_lu", *aten.lu_unpack(lu, pivots, True, pivot))


@composite("triangular_solve")
def triangular_solve(self: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    matrix = aten.mT(A) if transpose else A
    solution = aten.linalg_solve_triangular(matrix, self, upper=upper != transpose, unitriangular=unitriangular)
    return _outputs("triangular_solve", solution, aten.clone(A))


# --- norms


@composite("linalg_norm", "linalg_norm.ord_str")
def linalg_norm(self: Any, ord: Any, dim: Sequence[int] | None, keepdim: bool, dtype: Any) -> Any:
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if (
        ord is not None
        and dim is None
        and self.dim() not in (1, 2)
        and not (self.dim() == 0 and not isinstance(ord, str))
    ):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    matrix = isinstance(ord, str) or (ord is not None and (len(dim) == 2 if dim is not None else self.dim() == 2))
    if matrix:
        return aten.linalg_matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    return aten.linalg_vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def _matrix_dims(self: Any, dim: Sequence[int]) -> tuple[int, int]:
    """The two dimensions of the matrices, checked."""
    if self.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if self.dtype.category < 2:
        from ..._dispatch.checks import type_word

        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {type_word(self.dtype)}"
        )
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dim))}")
    first, second = (normalize_dim(d, self.dim()) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


def _singular_values(self: Any, dims: tuple[int, int], keepdim: bool, dtype: Any, reduce: Any) -> Any:
    """A reduction of the singular values of the matrices in `dims`."""
    if dtype is not None:
        self = aten.to(self, dtype)
    rank = self.dim()
    rest = [d for d in range(rank) if d not in dims]
    result = reduce(aten.linalg_svdvals(aten.permute(self, [*rest, *dims])), keepdim)
    if not keepdim:
        return result
    order = [*rest, *dims]
    return aten.permute(aten.unsqueeze(result, -1), [order.index(d) for d in range(rank)])


@composite("linalg_matrix_norm.str_ord")
def matrix_norm_by_name(self: Any, ord: str, dim: Sequence[int], keepdim: bool, dtype: Any) -> Any:
    dims = _matrix_dims(self, dim)
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if ord == "fro":
        return aten.linalg_vector_norm(self, 2, dims, keepdim, dtype=dtype)
    return _singular_values(self, dims, keepdim, dtype, lambda s, keep: aten.sum(s, [-1], keepdim=keep))


@composite("linalg_matrix_norm")
def matrix_norm(self: Any, ord: Any, dim: Sequence[int], keepdim: bool, dtype: Any) -> Any:
    first, second = _matrix_dims(self, dim)
    if abs(ord) not in (1, 2, inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord:g} not supported.")
    extreme = aten.amax if ord > 0 else aten.amin
    if abs(ord) == 2:
        return _singular_values(self, (first, second), keepdim, dtype, lambda s, keep: extreme(s, [-1], keep))
    if abs(ord) == inf:
        first, second = second, first
    sums = aten.linalg_vector_norm(self, 1, [first], keepdim, dtype=dtype)
    return extreme(sums, [second - (not keepdim and second > first)], keepdim)


@composite("nuclear_norm")
def nuclear_norm(self: Any, keepdim: bool) -> Any:
    return aten.linalg_matrix_norm(self, "nuc", [-2, -1], keepdim)


@composite("nuclear_norm.dim")
def nuclear_norm_dim(self: Any, dim: Sequence[int], keepdim: bool) -> Any:
    return aten.linalg_matrix_norm(self, "nuc", dim, keepdim)


@composite("frobenius_norm.dim")
def frobenius_norm_dim(self: Any, dim: Sequence[int], keepdim: bool) -> Any:
    return aten.overload("norm.ScalarOpt_dim")(self, 2, dim, keepdim)


# --- condition, rank, pseudo-inverse


@composite("linalg_cond")
def linalg_cond(self: Any, p: Any) -> Any:
    if p is None or abs(p) == 2:
        values = aten.linalg_svdvals(self)
        largest, smallest = aten.narrow(values, -1, 0, 1), aten.narrow(values, -1, values.shape[-1] - 1, 1)
        ratio = aten.div(smallest, largest) if p == -2 else aten.div(largest, smallest)
        return aten.squeeze(ratio, -1)
    return _cond_by_inverse(self, p, f"linalg.cond(ord={p:g})")


@composite("linalg_cond.p_str")
def linalg_cond_by_name(self: Any, p: str) -> Any:
    if p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p == "nuc":
        values = aten.linalg_svdvals(self)
        inverses = aten.sum(aten.reciprocal(values), [-1])
        return aten.mul(aten.sum(values, [-1]), inverses)
    return _cond_by_inverse(self, p, f"linalg.cond(ord={p})")


def _cond_by_inverse(self: Any, p: Any, function: str) -> Any:
    check_square(self, function)
    result, info = aten.linalg_inv_ex(self)
    info = aten.unsqueeze_(aten.unsqueeze_(info, -1), -1)
    result = aten.masked_fill(result, aten.gt(info, 0), inf)
    # 0 * inf: a matrix without inverse has an infinite condition number.
    number = aten.mul(aten.linalg_matrix_norm(self, p), aten.linalg_matrix_norm(result, p))
    return aten.nan_to_num(number, inf, inf, -inf)
