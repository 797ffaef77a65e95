"""Sparse tensors: `torch.sparse`, and the functions of `torch` that make them."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .. import _dtype as dt
from .._backends.sparse import conversion as _conversion
from .._backends.sparse import products as _products
from .._backends.sparse import reduction as _reduction
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
    indices: Any = None,
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

    Values of one index are added. `size` may be left out: it then is as small as the indices allow. With a size
    alone, an empty one.

    >>> torch.sparse_coo_tensor([[0, 2]], [3., 4.], (3,)).to_dense()
    tensor([3., 0., 4.])
    """
    if values is None:
        if indices is None and size is None:
            raise TypeError("sparse_coo_tensor(): expected indices and values, or a size")
        size = tuple(indices) if size is None else size
        empty = torch.zeros((0,), dtype=dtype, device=device)
        return coo(torch.zeros((len(size), 0), dtype=torch.int64), empty, Size(size), True).requires_grad_(
            requires_grad
        )
    index = _dense(indices).to(torch.int64)
    elements = _dense(values, dtype, device)
    if index.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(index.shape)}")
    if elements.dim() == 0:
        elements = elements.expand(index.shape[1])
    if elements.shape[0] != index.shape[1]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {index.shape[1]}, nnz from values: "
            f"{elements.shape[0]}"
        )
    if size is None:
        lead = [int(n) + 1 for n in index.max(1).values] if index.shape[1] else [0] * index.shape[0]
        size = (*lead, *elements.shape[1:])
    if len(size) != index.shape[0] + elements.dim() - 1:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({index.shape[0]}) + dense_dim ({elements.dim() - 1}), "
            f"but got {len(size)}"
        )
    if check_invariants or (check_invariants is None and check_sparse_tensor_invariants._enabled):
        _check_indices(index, size)
    made = coo(index, elements.detach() if requires_grad else elements, Size(size), bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def _check_indices(index: Any, size: Any) -> None:
    for d, n in enumerate(size[: index.shape[0]]):
        if index.shape[1] and int(index[d].min()) < 0:
            raise RuntimeError(f"found negative index {int(index[d].min())} for dim {d}")
        if index.shape[1] and int(index[d].max()) >= n:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {n} but found index {int(index[d].max())}"
            )


def _compressed_tensor(
    kind: Any,
    compressed: Any,
    plain: Any,
    values: Any,
    size: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    check_invariants: bool | None,
) -> Tensor:
    borders, columns, elements = _dense(compressed), _dense(plain), _dense(values, dtype, device)
    if size is None:
        inner = int(columns.max()) + 1 if columns.numel() else 0
        size = (borders.shape[-1] - 1, inner) if kind is sparse_csr else (inner, borders.shape[-1] - 1)
    if borders.dim() != 1:
        raise NotImplementedError("batches of compressed sparse matrices are not supported; use one tensor for each")
    if check_invariants or (check_invariants is None and check_sparse_tensor_invariants._enabled):
        _check_compressed(kind, borders, columns, elements, size)
    made = make_sparse(kind, (borders, columns, elements.detach() if requires_grad else elements), Size(size), True)
    return made.requires_grad_() if requires_grad else made


def _check_compressed(kind: Any, borders: Any, plain: Any, values: Any, size: Any) -> None:
    outer, inner = size[:2] if kind is sparse_csr else (size[1], size[0])
    first, second = ("crow", "col") if kind is sparse_csr else ("ccol", "row")
    if borders.shape[0] != outer + 1:
        raise RuntimeError(f"{first}_indices.shape[-1] must be equal to {outer + 1}, but got {borders.shape[0]}")
    if plain.dim() != 1 or values.shape[:1] != plain.shape:
        raise RuntimeError(f"{second}_indices and values must have the same number of elements")
    if int(borders[0]) != 0:
        raise RuntimeError(f"`{first}_indices[..., 0] == 0` is not satisfied.")
    if int(borders[-1]) != plain.shape[0]:
        raise RuntimeError(f"`{first}_indices[..., -1] == nnz` is not satisfied.")
    if bool((borders.diff() < 0).any()):
        raise RuntimeError(f"`0 <= {first}_indices[..., 1:] - {first}_indices[..., :-1]` is not satisfied.")
    if plain.shape[0] and (int(plain.min()) < 0 or int(plain.max()) >= inner):
        raise RuntimeError(f"`0 <= {second}_indices < {inner}` is not satisfied.")


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
    """A matrix in compressed rows: row i has the columns and values from crow_indices[i] to crow_indices[i + 1].

    >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [3., 4.], (2, 2)).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    return _compressed_tensor(
        sparse_csr, crow_indices, col_indices, values, size, dtype, device, requires_grad, check_invariants
    )


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
    """A matrix in compressed columns.

    >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [3., 4.], (2, 2)).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    return _compressed_tensor(
        sparse_csc, ccol_indices, row_indices, values, size, dtype, device, requires_grad, check_invariants
    )


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
    """A matrix in compressed rows or columns, as `layout` says.

    >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3., 4.], (2, 2), layout=torch.sparse_csr).values()
    tensor([3., 4.])
    """
    if layout not in (sparse_csr, sparse_csc):
        raise RuntimeError(f"sparse_compressed_tensor: expected layout sparse_csr or sparse_csc, got {layout}")
    return _compressed_tensor(
        layout, compressed_indices, plain_indices, values, size, dtype, device, requires_grad, check_invariants
    )


for _function in (_sparse_coo_tensor, _sparse_csr_tensor, _sparse_csc_tensor, _sparse_compressed_tensor):
    _function.__name__ = _function.__qualname__ = _function.__name__.removeprefix("_")
sparse_coo_tensor, sparse_csr_tensor = _sparse_coo_tensor, _sparse_csr_tensor
sparse_csc_tensor, sparse_compressed_tensor = _sparse_csc_tensor, _sparse_compressed_tensor


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix and a sparse or dense one.

    With `reduce` ("sum", "mean", "amax" or "amin") a CSR matrix times a dense one, whose terms are reduced so; rows
    without entries give zeros.
    """
    return torch.mm(mat1, mat2) if reduce is None else _products.mm_reduce(mat1, mat2, reduce)


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
    return _reduction.softmax(input if dtype is None else input.to(dtype), dim, False)


def log_softmax(input: Tensor, dim: int, *, dtype: dt.dtype | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _reduction.softmax(input if dtype is None else input.to(dtype), dim, True)


def sampled_addmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) at the positions of the sparse `input` alone."""
    source = _conversion.coalesce(_conversion.as_coo(input))
    rows, columns = source._parts[0].unbind(0)
    products = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(-1)
    made = source._with_values(source._parts[1] * beta + products * alpha)
    return made if input.layout is sparse_coo else _conversion.to_compressed(made, input.layout)


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
    made = _conversion.coalesce(sparse_coo_tensor(torch.cat(positions, 1), torch.cat(values), shape))
    return made if layout in (None, sparse_coo) else _conversion.to_compressed(made, layout)


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor"):  # the old constructors FloatTensor, LongTensor, ...
        from ._legacy import TYPED

        if name in TYPED:
            return TYPED[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
