"""The class of sparse tensors.

A sparse tensor holds its positions and its values as dense tensors. Whatever is computed from it is computed from
them by ordinary operators, so that gradients reach the values without further rules. As a tensor of its own it lies
on the meta device: an operator that does not know about sparse tensors finds no data, instead of zeros.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.overrides import become
from ..._keys import META
from ..._shape import Size
from ..._tensor import Tensor, layout, sparse_coo, sparse_csc, sparse_csr, wrap


class SparseTensor(Tensor):
    """Coordinates [sparse dimensions, n] and values [n, ...] (COO), or compressed rows or columns (CSR, CSC)."""

    _layout: layout
    _parts: tuple[Any, ...]  # (indices, values), or (compressed, plain, values)
    _is_coalesced: bool
    is_meta = False
    _is_layout = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from .methods import call

        return call(getattr(func, "__name__", str(func)), args, kwargs or {})

    # --- what it is
    @property
    def layout(self) -> Any:
        return self._layout

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        return self._layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        return self._layout is sparse_csr

    @property
    def device(self) -> Any:
        return self._parts[-1].device

    @property
    def is_cpu(self) -> bool:
        return self._parts[-1].is_cpu

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:  # type: ignore[override]
        return self._parts[-1].requires_grad

    @property
    def grad_fn(self) -> Any:
        return self._parts[-1].grad_fn

    @property
    def is_leaf(self) -> bool:
        return self._parts[-1].is_leaf

    @property  # type: ignore[misc]
    def grad(self) -> Any:  # type: ignore[override]
        """The gradient of the values, as a sparse tensor with the same positions."""
        g = self._parts[-1].grad
        if g is None or self._layout is not sparse_coo or self._is_coalesced:
            return None if g is None else self._with_values(g)
        # entries of one position have one gradient
        first = np.unique(self._parts[0]._array, axis=1, return_index=True)[1]
        index = wrap(first.astype(np.int64))
        return make_sparse(
            sparse_coo, (aten.index_select(self._parts[0], 1, index), aten.index_select(g, 0, index)), self.shape, True
        )

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Makes the tensor a leaf of the graph: its values are taken out of the tensor that they were given as."""
        if requires_grad != self.requires_grad:
            self._parts = (*self._parts[:-1], self._parts[-1].detach().requires_grad_(requires_grad))
        return self

    def sparse_dim(self) -> int:
        return self._parts[0].shape[0] if self._layout is sparse_coo else 2

    def dense_dim(self) -> int:
        return self._parts[-1].dim() - 1

    def _nnz(self) -> int:
        return self._parts[-1].shape[0]

    def is_coalesced(self) -> bool:
        return self._is_coalesced

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        """Says whether the indices are sorted and unique, without a look at them."""
        self._coordinates("_coalesced_")
        self._is_coalesced = coalesced
        return self

    def __len__(self) -> int:
        return self.shape[0]

    # --- its parts
    def _coordinates(self, method: str) -> tuple[Any, ...]:
        if self._layout is not sparse_coo:
            raise RuntimeError(f"{method} expected sparse coordinate tensor layout but got {_word(self._layout)}")
        return self._parts

    def _indices(self) -> Any:
        return self._coordinates("_indices")[0]

    def _values(self) -> Any:
        return self._coordinates("_values")[1]

    def indices(self) -> Any:
        parts = self._coordinates("indices")
        if not self._is_coalesced:
            raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
        return parts[0]

    def values(self) -> Any:
        if self._layout is sparse_coo and not self._is_coalesced:
            raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
        return self._parts[-1]

    def _compressed_part(self, wanted: Any, method: str, index: int) -> Any:
        if self._layout is not wanted:
            raise RuntimeError(
                f"{method} expected sparse {'row' if wanted is sparse_csr else 'column'} compressed tensor layout but "
                f"got {_word(self._layout)}"
            )
        return self._parts[index]

    def crow_indices(self) -> Any:
        return self._compressed_part(sparse_csr, "crow_indices", 0)

    def col_indices(self) -> Any:
        return self._compressed_part(sparse_csr, "col_indices", 1)

    def ccol_indices(self) -> Any:
        return self._compressed_part(sparse_csc, "ccol_indices", 0)

    def row_indices(self) -> Any:
        return self._compressed_part(sparse_csc, "row_indices", 1)

    def _with_values(self, values: Any, is_coalesced: bool | None = None) -> SparseTensor:
        """A tensor with the same positions and other values."""
        known = self._is_coalesced if is_coalesced is None else is_coalesced
        return make_sparse(self._layout, (*self._parts[:-1], values), self.shape, known)

    def __repr__(self, **kwargs: Any) -> str:
        names = {
            "sparse_coo": ("indices", "values"),
            "sparse_csr": ("crow_indices", "col_indices", "values"),
            "sparse_csc": ("ccol_indices", "row_indices", "values"),
        }[self._layout.name]
        texts = [f"{n}={_indent(_without_type(repr(p.detach())), 8 + len(n))}" for n, p in zip(names, self._parts)]
        grad = (
            ""
            if not self.requires_grad
            else ", requires_grad=True"
            if self.is_leaf
            else f", grad_fn=<{self.grad_fn.name()}>"
        )
        kind = "" if self.dtype in (dt.get_default_dtype(), dt.int64, dt.bool_) else f", dtype={self.dtype}"
        body = ",\n       ".join(texts)
        return f"tensor({body},\n       size={tuple(self.shape)}, nnz={self._nnz()}{kind}, layout={self._layout}{grad})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return make_sparse, (
            self._layout,
            tuple(p.detach() for p in self._parts),
            tuple(self.shape),
            self._is_coalesced,
        )

    def __deepcopy__(self, memo: Any) -> SparseTensor:
        return make_sparse(self._layout, tuple(p.detach().clone() for p in self._parts), self.shape, self._is_coalesced)

    def __bool__(self) -> bool:
        raise RuntimeError("Boolean value of a sparse tensor is not defined; use to_dense() first")


def _word(kind: Any) -> str:
    return {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc"}[kind.name]


def _without_type(text: str) -> str:
    """The text of a tensor without its type, which is told once for all parts."""
    return re.sub(r",\s*dtype=torch\.\w+", "", text)


def _indent(text: str, width: int) -> str:
    return text.replace("\n", "\n" + " " * width)


def make_sparse(kind: Any, parts: tuple[Any, ...], shape: Any, is_coalesced: bool = False) -> SparseTensor:
    """A sparse tensor of these parts; nothing is checked."""
    values = parts[-1]
    array = np.broadcast_to(np.zeros((), values._array.dtype), tuple(shape))
    made = become(wrap(array, values.dtype, META), SparseTensor)
    made._layout, made._parts, made._is_coalesced = kind, parts, is_coalesced
    return made


def coo(indices: Any, values: Any, shape: Any, is_coalesced: bool = False) -> SparseTensor:
    return make_sparse(sparse_coo, (indices, values), Size(shape), is_coalesced)


def zeros_for(values: Any, shape: Any) -> Any:
    return aten.new_zeros(values, list(shape))
