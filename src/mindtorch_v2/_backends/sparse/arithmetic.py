"""Sums, products by elements and powers of sparse tensors."""

from __future__ import annotations

from math import prod
from typing import Any

from ..._dispatch import aten
from ..._tensor import Tensor, sparse_coo
from .conversion import as_coo, coalesce, flat_index, to_compressed, to_dense, zeros_like
from .handlers import HANDLERS, handles, is_sparse
from .tensor import coo


@handles("add", "radd")
def add(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    if is_sparse(self) and is_sparse(other):
        a, b = as_coo(self), as_coo(other)
        if a.shape != b.shape:
            raise RuntimeError(
                f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
            )
        values = aten.cat([a._parts[1], b._parts[1] if alpha == 1 else b._parts[1] * alpha])
        made = coalesce(coo(aten.cat([a._parts[0], b._parts[0]], 1), values, a.shape))
        return made if self._layout is sparse_coo else to_compressed(made, self._layout)
    if not isinstance(other, Tensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    return aten.add(to_dense(self), to_dense(other), alpha=alpha)


@handles("sub", "subtract")
def sub(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return add(self, other, alpha=-alpha)


@handles("add_", "iadd", "sub_", "isub")
def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Adds in place: into a dense tensor row by row, into a sparse one by joining the positions."""
    if is_sparse(self):
        self._parts, self._is_coalesced = add(self, other, alpha=alpha)._parts, True
        return self
    source = as_coo(other)
    indices, values = source._parts
    lead = source.sparse_dim()
    if lead == 1:
        return aten.index_add_(self, 0, aten.select(indices, 0, 0), values, alpha=alpha)
    return aten.add_(self, to_dense(source), alpha=alpha)


HANDLERS["sub_"] = HANDLERS["isub"] = lambda self, other, alpha=1: add_(self, other, alpha=-alpha)


def elements_at(dense: Any, sparse: Any) -> Any:
    """The elements of a dense tensor, broadcast to the sparse one's shape, at its positions."""
    indices = sparse._parts[0]
    lead = tuple(sparse.shape[: indices.shape[0]])
    whole = aten.expand(dense, list(sparse.shape))
    return aten.index_select(
        aten.reshape(whole, [prod(lead), *sparse.shape[len(lead) :]]), 0, flat_index(indices, lead)
    )


@handles("mul", "rmul", "multiply")
def mul(self: Any, other: Any) -> Any:
    sparse, factor = (self, other) if is_sparse(self) else (other, self)
    if not isinstance(factor, Tensor) or (not is_sparse(factor) and factor.dim() == 0):
        return sparse._with_values(sparse._parts[-1] * factor)
    source = coalesce(as_coo(sparse))
    made = source._with_values(source._parts[1] * elements_at(to_dense(factor), source))
    return made if sparse._layout is sparse_coo else to_compressed(made, sparse._layout)


@handles("div", "truediv", "true_divide", "divide")
def div(self: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    if not is_sparse(self):
        return aten.div(self, to_dense(other), rounding_mode=rounding_mode)
    if isinstance(other, Tensor) and (is_sparse(other) or other.dim() > 0):
        source = coalesce(as_coo(self))
        return source._with_values(source._parts[1] / elements_at(to_dense(other), source))
    return self._with_values(self._parts[-1] / other)


@handles("mul_", "imul", "div_", "itruediv")
def mul_(self: Any, other: Any) -> Any:
    aten.mul_(self._parts[-1], other)
    return self


HANDLERS["div_"] = HANDLERS["itruediv"] = lambda self, other: mul_(self, 1 / other)


@handles("pow")
def power(self: Any, exponent: Any) -> Any:
    source = coalesce(as_coo(self)) if self._layout is sparse_coo else self
    return source._with_values(aten.pow(source._parts[-1], exponent))


@handles("zero_")
def zero_(self: Any) -> Any:
    self._parts, self._is_coalesced = zeros_like(self)._parts, True
    return self
