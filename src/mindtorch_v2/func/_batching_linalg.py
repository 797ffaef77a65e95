"""Rules of matrix products, solvers and shapes of matrices on batched tensors (see _batching.py)."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from ._batched import inner
from ._batching import in_batch, pad_rank, rule, size_of


@rule("mm", "bmm")
def _mm(level: int, self: Any, mat2: Any) -> Any:
    rank = self.dim()
    return aten.matmul(pad_rank(self, level, rank), pad_rank(mat2, level, rank))


@rule("mv")
def _mv(level: int, self: Any, vec: Any) -> Any:
    return aten.matmul(inner(self, level), inner(vec, level).unsqueeze(-1)).squeeze(-1)


@rule("dot")
def _dot(level: int, self: Any, tensor: Any) -> Any:
    return (inner(self, level) * inner(tensor, level)).sum(-1)


@rule("vdot")
def _vdot(level: int, self: Any, other: Any) -> Any:
    return (inner(self, level).conj() * inner(other, level)).sum(-1)


def _scaled_sum(level: int, self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """`beta * self + alpha * product`, the product given with its batch; a beta of 0 ignores even NaN of self."""
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    added = pad_rank(self, level, product.dim() - 1)
    return product + (added if beta == 1 else added * beta)


@rule("addmm", "baddbmm")
def _addmm(level: int, self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    return _scaled_sum(level, self, aten.matmul(in_batch(mat1, level), in_batch(mat2, level)), beta, alpha)


@rule("addmv")
def _addmv(level: int, self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    product = aten.matmul(in_batch(mat, level), in_batch(vec, level).unsqueeze(-1)).squeeze(-1)
    return _scaled_sum(level, self, product, beta, alpha)


@rule("addr")
def _addr(level: int, self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    product = in_batch(vec1, level).unsqueeze(2) * in_batch(vec2, level).unsqueeze(1)
    return _scaled_sum(level, self, product, beta, alpha)


@rule("addbmm")
def _addbmm(level: int, self: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    product = aten.matmul(in_batch(batch1, level), in_batch(batch2, level)).sum(1)
    return _scaled_sum(level, self, product, beta, alpha)


@rule("linalg_cross")
def _cross(level: int, self: Any, other: Any, dim: int) -> Any:
    rank = self.dim()
    if rank != other.dim() or not -rank <= dim < rank:
        return NotImplemented
    return aten.linalg_cross(in_batch(self, level), in_batch(other, level), dim=dim % rank + 1)


@rule("trace")
def _trace(level: int, self: Any) -> Any:
    return NotImplemented if self.dim() != 2 else self._value.diagonal(0, 1, 2).sum(1)


@rule("diag_embed")
def _diag_embed(level: int, self: Any, offset: int, dim1: int, dim2: int) -> Any:
    rank = self.dim() + 1
    if not self.dim() or not all(-rank <= d < rank for d in (dim1, dim2)):
        return NotImplemented
    return aten.diag_embed(self._value, offset, dim1 % rank + 1, dim2 % rank + 1)


@rule("block_diag")
def _block_diag(level: int, tensors: Any) -> Any:
    """Each block with zeros on both sides, one below the other."""
    if any(t.dim() > 2 for t in tensors):
        return NotImplemented
    shapes = [(*[1] * (2 - t.dim()), *t.shape) for t in tensors]
    blocks = [in_batch(t, level).reshape([size_of(level), *shape]) for t, shape in zip(tensors, shapes)]
    width, left, rows = sum(shape[1] for shape in shapes), 0, []
    for block in blocks:
        rows.append(aten.constant_pad_nd(block, [left, width - left - block.shape[2]], 0))
        left += block.shape[2]
    return aten.cat(rows, 1)


@rule("_linalg_solve_ex")
def _solve(level: int, A: Any, B: Any, left: bool, check_errors: bool) -> Any:
    """One right side is told from several by the ranks, so it gets exactly the dimensions before the matrix."""
    matrices, sides = in_batch(A, level), in_batch(B, level)
    if B.dim() == 1 and A.dim() > 2:
        sides = sides.reshape([size_of(level), *[1] * (A.dim() - 2), B.shape[0]]).expand(list(matrices.shape[:-1]))
    elif B.dim() > 1 and tuple(B.shape) != tuple(A.shape)[:-1]:
        rank = max(A.dim(), B.dim())
        matrices, sides = [
            v.reshape([v.shape[0], *[1] * (rank + 1 - v.dim()), *v.shape[1:]]) for v in (matrices, sides)
        ]
    return aten._linalg_solve_ex(matrices, sides, left=left, check_errors=check_errors)


@rule("_linalg_check_errors")
def _check_errors(level: int, info: Any, api_name: str, is_matrix: bool) -> None:
    """The first sample that failed is named as an element of a batch of matrices is."""
    aten._linalg_check_errors(info._value, api_name, is_matrix=False)


@rule("linalg_lstsq")
def _lstsq(level: int, self: Any, b: Any, rcond: Any, driver: Any) -> Any:
    if tuple(b.shape)[: self.dim() - 1] != tuple(self.shape)[:-1]:
        return NotImplemented
    made = aten.linalg_lstsq(in_batch(self, level), in_batch(b, level), rcond, driver=driver)
    size = size_of(level)  # what a driver does not compute is empty, without the batch
    return type(made)(*(m if m.shape[0] == size else m.new_empty([size, 0]) for m in made))
