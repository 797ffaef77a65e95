"""Old names of products of sparse matrices, conversions of compressed indices, and typed constructors such as
`torch.sparse.FloatTensor`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import mindtorch_v2 as torch

from .. import _dtype as dt
from .._backends.sparse.conversion import as_coo
from .._backends.sparse.tensor import SparseTensor, coo
from .._dispatch.checks import type_word
from .._tensor import Tensor, sparse_coo, wrap


def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a dense matrix: `torch.mm`.

    >>> torch.dsmm(torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return torch.mm(input, mat2)


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a dense matrix: `torch.mm`.

    >>> torch.spmm(torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return torch.mm(input, mat2)


def smm(input: Tensor, mat: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a sparse matrix.

    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 2)).to_dense()
    tensor([[1., 1.],
            [1., 1.]])
    """
    return torch.mm(input, mat).to_sparse()


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a matrix whose rows are sparse and whose columns are dense: it has the
    rows in which `mat1` has entries.

    >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 2)).to_dense()
    tensor([[1., 1.],
            [1., 1.]])
    """
    rows, position = np.unique(as_coo(mat1)._parts[0]._array[0], return_inverse=True)
    source = as_coo(mat1)
    compact = torch.stack([wrap(position.reshape(-1).astype(np.int64)), source._parts[0][1]])
    values = torch.mm(coo(compact, source._parts[1], (len(rows), mat1.shape[1])), mat2)
    return coo(wrap(rows.astype(np.int64)[None]), values, (mat1.shape[0], mat2.shape[1]))


hsmm = hspmm


def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) for sparse `input` and `mat1`, as a sparse matrix.

    >>> torch.sspaddmm(torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), torch.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    return torch.add(input * beta, smm(mat1, mat2), alpha=alpha)


saddmm = sspaddmm


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """For sorted row indices of a matrix with `size` rows, where each row begins: [size + 1]."""
    borders = np.searchsorted(input._array, np.arange(size + 1), "left")
    return wrap(borders.astype(np.int32 if out_int32 else np.int64))


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The row and column of every entry of a compressed matrix: [2, n], columns first if `transpose`."""
    counts = np.diff(crow_indices._array)
    rows = np.repeat(np.arange(len(counts)), counts)
    pair = (col_indices._array, rows) if transpose else (rows, col_indices._array)
    return wrap(np.stack(pair).astype(np.int32 if out_int32 else np.int64))


class TypedSparse:
    """`torch.sparse.FloatTensor` and its kin: makes COO tensors of one type, and answers isinstance for them."""

    def __init__(self, dtype: dt.dtype) -> None:
        self.dtype = dtype
        self.__name__ = self.__qualname__ = f"{type_word(dtype)}Tensor"
        self.__module__ = "mindtorch_v2.sparse"

    def __call__(self, *args: Any, device: Any = None) -> Tensor:
        """Of sizes, or of indices, values and, if given, a size."""
        warnings.warn(
            f"torch.sparse.{self.__name__} is deprecated, use torch.sparse_coo_tensor instead",
            UserWarning,
            stacklevel=2,
        )
        if not args or isinstance(args[0], int):
            return torch.sparse_coo_tensor(tuple(args) or (0,), dtype=self.dtype, device=device)
        if len(args) == 1 and isinstance(args[0], tuple):
            return torch.sparse_coo_tensor(args[0], dtype=self.dtype, device=device)
        if len(args) > 1 and args[1].dtype is not self.dtype:
            raise TypeError(f"expected values of type {self.dtype}, got {args[1].dtype}")
        return torch.sparse_coo_tensor(*args, device=device)

    def __instancecheck__(self, obj: Any) -> bool:
        return isinstance(obj, SparseTensor) and obj.layout is sparse_coo and obj.dtype is self.dtype

    def __reduce__(self) -> str:
        return self.__name__  # pickled by name

    def __repr__(self) -> str:
        return f"<class 'torch.sparse.{self.__name__}'>"


TYPED = {
    f"{type_word(d)}Tensor": TypedSparse(d)
    for d in (dt.float32, dt.float64, dt.int64, dt.int32, dt.int16, dt.int8, dt.uint8, dt.bfloat16, dt.float16)
}
