"""Sparse tensors: `torch.sparse`, and the functions of `torch` that make them."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .. import _dtype as dt
from .._backends.sparse import functions as _functions
from .._backends.sparse.tensor import coo, make_sparse
from .._shape import Size
from .._tensor import Tensor, sparse_coo, sparse_csc, sparse_csr

__all__ = ["addmm", "check_sparse_tensor_invariants", "mm", "sum", "softmax", "log_softmax", "sampled_addmm", "spdiags"]


def _dense(data: Any, dtype: Any = None, device: Any = None) -> Any:
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device or data.device, dtype or data.dtype)
    return torch.tensor(data, dtype=dtype, device=device)


class check_sparse_tensor_invariants:
    """Whether the parts of new sparse tensors are checked, in a block or from here on."""

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self._wanted, self._before = enable, False

    @staticmethod
    def is_enabled() -> bool:
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self) -> check_sparse_tensor_invariants:
        self._before = check_sparse_tensor_invariants._enabled
        check_sparse_tensor_invariants._enabled = self._wanted
        return self

    def __exit__(self, *error: object) -> None:
        check_sparse_tensor_invariants._enabled = self._before


def _sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    layout: Any = None,
) -> Tensor:
    """A tensor of `size` whose elements at `indices` [dimensions, n] are `values` [n, ...] and zero elsewhere.

    Values of one position are added. `size` may be left out: it then is as small as the positions allow. With a size
    alone, an empty one.
    """
    if values is None:
        size = tuple(indices) if size is None else size
        empty = torch.zeros((0,), dtype=dtype, device=device)
        return coo(torch.zeros((len(size), 0), dtype=torch.int64), empty, Size(size), True).requires_grad_(
            requires_grad
        )
    positions = _dense(indices).to(torch.int64)
    numbers = _dense(values, dtype, device)
    if positions.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(positions.shape)}")
    if numbers.dim() == 0:
        numbers = numbers.expand(positions.shape[1])
    if numbers.shape[0] != positions.shape[1]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {positions.shape[1]}, nnz from values: "
            f"{numbers.shape[0]}"
        )
    if size is None:
        lead = [int(n) + 1 for n in positions.max(1).values] if positions.shape[1] else [0] * positions.shape[0]
        size = (*lead, *numbers.shape[1:])
    if len(size) != positions.shape[0] + numbers.dim() - 1:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({positions.shape[0]}) + dense_dim ({numbers.dim() - 1}), "
            f"but got {len(size)}"
        )
    if check_invariants or (check_invariants is None and check_sparse_tensor_invariants._enabled):
        _check_positions(positions, size)
    made = coo(positions, numbers.detach() if requires_grad else numbers, Size(size), bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def _check_positions(positions: Any, size: Any) -> None:
    for d, n in enumerate(size[: positions.shape[0]]):
        if positions.shape[1] and int(positions[d].min()) < 0:
            raise RuntimeError(f"found negative index {int(positions[d].min())} for dim {d}")
        if positions.shape[1] and int(positions[d].max()) >= n:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {n} but found index {int(positions[d].max())}"
            )


def _compressed_tensor(
    kind: Any, compressed: Any, plain: Any, values: Any, size: Any, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    borders, positions, numbers = _dense(compressed), _dense(plain), _dense(values, dtype, device)
    if size is None:
        inner = int(positions.max()) + 1 if positions.numel() else 0
        size = (borders.shape[-1] - 1, inner) if kind is sparse_csr else (inner, borders.shape[-1] - 1)
    if borders.dim() != 1:
        raise NotImplementedError("batches of compressed sparse matrices are not supported; use one tensor for each")
    made = make_sparse(kind, (borders, positions, numbers.detach() if requires_grad else numbers), Size(size), True)
    return made.requires_grad_() if requires_grad else made


def _sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    layout: Any = None,
) -> Tensor:
    """A matrix in compressed rows: row i has the columns and values from crow_indices[i] to crow_indices[i + 1]."""
    return _compressed_tensor(sparse_csr, crow_indices, col_indices, values, size, dtype, device, requires_grad)


def _sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    layout: Any = None,
) -> Tensor:
    """A matrix in compressed columns."""
    return _compressed_tensor(sparse_csc, ccol_indices, row_indices, values, size, dtype, device, requires_grad)


def _sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A matrix in compressed rows or columns, as `layout` says."""
    if layout not in (sparse_csr, sparse_csc):
        raise RuntimeError(f"sparse_compressed_tensor: expected layout sparse_csr or sparse_csc, got {layout}")
    return _compressed_tensor(layout, compressed_indices, plain_indices, values, size, dtype, device, requires_grad)


for _function in (_sparse_coo_tensor, _sparse_csr_tensor, _sparse_csc_tensor, _sparse_compressed_tensor):
    _function.__name__ = _function.__qualname__ = _function.__name__.removeprefix("_")
sparse_coo_tensor, sparse_csr_tensor = _sparse_coo_tensor, _sparse_csr_tensor
sparse_csc_tensor, sparse_compressed_tensor = _sparse_csc_tensor, _sparse_compressed_tensor


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix and a sparse or dense one."""
    if reduce is not None and reduce != "sum":
        raise NotImplementedError(f"sparse.mm: reduce={reduce!r} is not supported; 'sum' is")
    return torch.mm(mat1, mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), mat1 being sparse."""
    return torch.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: Any = None, dtype: dt.dtype | None = None) -> Tensor:  # noqa: A001 - torch.sparse.sum
    """The sum over the given dimensions (sparse if a sparse dimension is left), or over all."""
    return (
        torch.sum(input if dtype is None else input.to(dtype), dim)
        if dim is not None
        else torch.sum(input, dtype=dtype)
    )


def softmax(input: Tensor, dim: int, *, dtype: dt.dtype | None = None) -> Tensor:
    """softmax along a dimension; positions without an entry count as minus infinity."""
    return _functions.softmax(input if dtype is None else input.to(dtype), dim, False)


def log_softmax(input: Tensor, dim: int, *, dtype: dt.dtype | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _functions.softmax(input if dtype is None else input.to(dtype), dim, True)


def sampled_addmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) at the positions of the sparse `input` alone."""
    source = _functions.coalesce(_functions.as_coo(input))
    rows, columns = source._parts[0].unbind(0)
    products = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(-1)
    made = source._with_values(source._parts[1] * beta + products * alpha)
    return made if input.layout is sparse_coo else _functions.to_compressed(made, input.layout)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix with the given rows on its diagonals; diagonal k holds element (j - k, j) at position j."""
    if diagonals.dim() == 1:
        diagonals, offsets = diagonals.unsqueeze(0), offsets.reshape(1)
    rows, columns = shape
    positions, values = [], []
    for line, k in zip(diagonals, offsets.tolist()):
        low, high = max(0, k), min(columns, rows + k, line.shape[0])
        j = torch.arange(low, max(low, high))
        positions.append(torch.stack([j - k, j]))
        values.append(line[low : max(low, high)])
    made = _functions.coalesce(sparse_coo_tensor(torch.cat(positions, 1), torch.cat(values), shape))
    return made if layout in (None, sparse_coo) else _functions.to_compressed(made, layout)
