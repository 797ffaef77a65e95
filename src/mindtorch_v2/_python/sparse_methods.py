"""Methods of dense tensors that lead to sparse ones. What they need is imported when first called."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor, sparse_csc, sparse_csr


def _conversion() -> Any:
    from .._backends.sparse import conversion

    return conversion


def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The elements that are not zero, in coordinates or in the given sparse layout.

    >>> torch.eye(2).to_sparse().values()
    tensor([1., 1.])
    """
    return _conversion().to_sparse(self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor in coordinate format.

    >>> torch.eye(2).to_sparse_coo().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    return _conversion().to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix in compressed sparse row format.

    >>> torch.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return _conversion().to_sparse(self, layout=sparse_csr)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix in compressed sparse column format.

    >>> torch.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return _conversion().to_sparse(self, layout=sparse_csc)


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, in another type if one is given.

    >>> torch.eye(2).to_sparse().to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return self if dtype is None else self.to(dtype)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the positions of a sparse tensor."""
    from .._backends.sparse import shapes

    return shapes.sparse_mask(self, mask)


def install() -> None:
    for function in (to_sparse, to_sparse_coo, to_sparse_csr, to_sparse_csc, to_dense, sparse_mask):
        setattr(Tensor, function.__name__, function)
    if "is_sparse_csr" not in Tensor.__dict__:
        Tensor.is_sparse_csr = False  # type: ignore[attr-defined]


install()
