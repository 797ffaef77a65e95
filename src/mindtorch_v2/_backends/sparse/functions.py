"""What operators do with sparse tensors: by name, in terms of positions and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch import aten
from ..._shape import normalize_dim, normalize_dims
from ..._tensor import Tensor, sparse_coo, sparse_csc, sparse_csr, wrap
from .tensor import SparseTensor, coo, make_sparse, zeros_for

HANDLERS: dict[str, Callable[..., Any]] = {}
# Functions of zero that are zero: they change the values only.
_ELEMENTWISE = (
    "neg",
    "abs",
    "sqrt",
    "sin",
    "tan",
    "tanh",
    "sinh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "expm1",
    "log1p",
    "relu",
    "sign",
    "sgn",
    "floor",
    "ceil",
    "round",
    "trunc",
    "erf",
    "erfinv",
    "square",
    "positive",
    "deg2rad",
    "rad2deg",
    "negative",
    "conj",
    "real",
    "imag",
    "nan_to_num",
    "isnan",
    "isinf",
)


def handles(*names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for name in names:
            HANDLERS[name] = function
        return function

    return register


def call(name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """The operator `name` where at least one argument is sparse."""
    short = name[2:-2] if name.startswith("__") and name.endswith("__") else name
    handler = HANDLERS.get(short)
    if handler is None and short in _ELEMENTWISE:
        source = coalesce(args[0]) if args[0].layout is sparse_coo else args[0]
        return source._with_values(getattr(aten, short)(source._parts[-1], *args[1:], **kwargs))
    if handler is None:
        raise NotImplementedError(f"{name}: no implementation for sparse tensors; call .to_dense() first")
    if "input" in kwargs:
        args, kwargs = (kwargs["input"], *args), {k: v for k, v in kwargs.items() if k != "input"}
    return handler(*args, **kwargs)


def is_sparse(t: Any) -> bool:
    return isinstance(t, SparseTensor)


# --- conversions
def _flat(indices: Any, shape: Sequence[int]) -> Any:
    """Positions of the flattened sparse dimensions."""
    if not indices.shape[0]:
        return aten.zeros(indices.shape[1:], dtype=indices.dtype, device=indices.device)
    flat = aten.select(indices, 0, 0)
    for d in range(1, len(shape)):
        flat = flat * shape[d] + aten.select(indices, 0, d)
    return flat


@handles("coalesce")
def coalesce(self: Any) -> Any:
    """The same tensor with its positions sorted and values of one position added."""
    indices, values = self._coordinates("coalesce")
    if self._is_coalesced:
        return self
    if self._nnz() == 0:
        return coo(indices, values, self.shape, True)
    lead = tuple(self.shape[: indices.shape[0]])
    keys, inverse = np.unique(_flat(indices, lead)._array, return_inverse=True)
    total = zeros_for(values, (len(keys), *values.shape[1:]))
    summed = aten.index_add(total, 0, wrap(inverse.reshape(-1).astype(np.int64)), values)
    coordinates = np.array(np.unravel_index(keys, lead), np.int64).reshape(len(lead), len(keys))
    return coo(wrap(coordinates), summed, self.shape, True)


@handles("to_dense")
def to_dense(self: Any, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    if not is_sparse(self):
        return self
    indices, values = as_coo(self)._parts
    lead = tuple(self.shape[: indices.shape[0]])
    flat = aten.index_add(zeros_for(values, (prod(lead), *values.shape[1:])), 0, _flat(indices, lead), values)
    dense = aten.reshape(flat, list(self.shape))
    return dense if dtype is None else aten.to(dense, dtype)


@handles("to_sparse_coo")
def as_coo(self: Any) -> Any:
    if self._layout is sparse_coo:
        return self
    borders, plain, values = self._parts
    counts = np.diff(borders._array)
    outer = wrap(np.repeat(np.arange(len(counts), dtype=np.int64), counts))
    pair = (outer, plain) if self._layout is sparse_csr else (plain, outer)
    return coo(aten.stack([aten.to(p, dt.int64) for p in pair]), values, self.shape, self._layout is sparse_csr)


def to_compressed(self: Any, kind: Any) -> Any:
    """The tensor in compressed rows (or columns)."""
    if self._layout is kind:
        return self
    source = coalesce(as_coo(self))
    if len(source.shape) != 2:
        raise RuntimeError(f"conversion to {kind} expects a matrix, got a tensor of {len(source.shape)} dimensions")
    outer, inner = (0, 1) if kind is sparse_csr else (1, 0)
    indices, values = source._parts
    order = np.lexsort((indices._array[inner], indices._array[outer]))
    borders = np.zeros(source.shape[outer] + 1, np.int64)
    np.cumsum(np.bincount(indices._array[outer], minlength=source.shape[outer]), out=borders[1:])
    order_index = wrap(order.astype(np.int64))
    return make_sparse(
        kind,
        (
            wrap(borders),
            aten.index_select(aten.select(indices, 0, inner), 0, order_index),
            aten.index_select(values, 0, order_index),
        ),
        self.shape,
        True,
    )


@handles("to_sparse_csr")
def to_sparse_csr(self: Any, dense_dim: Any = None) -> Any:
    return to_compressed(self, sparse_csr)


@handles("to_sparse_csc")
def to_sparse_csc(self: Any, dense_dim: Any = None) -> Any:
    return to_compressed(self, sparse_csc)


def to_coordinates(self: Any, sparse_dim: int | None = None) -> Any:
    """A dense tensor in coordinates; its first `sparse_dim` dimensions are sparse."""
    count = self.dim() if sparse_dim is None else sparse_dim
    filled = self._array != 0
    coordinates = np.argwhere(filled.any(axis=tuple(range(count, self.dim()))) if count < self.dim() else filled).T
    indices = wrap(np.ascontiguousarray(coordinates, np.int64).reshape(count, coordinates.shape[-1]))
    lead = tuple(self.shape[:count])
    flat = aten.reshape(self, [prod(lead), *self.shape[count:]])
    return coo(indices, aten.index_select(flat, 0, _flat(indices, lead)), self.shape, True)


@handles("to_sparse")
def to_sparse(
    self: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Any:
    kind = layout or sparse_coo
    if not is_sparse(self):
        self = to_coordinates(self, sparse_dim)
    if kind is sparse_coo:
        return as_coo(self)
    if kind in (sparse_csr, sparse_csc):
        return to_compressed(self, kind)
    raise RuntimeError(f"to_sparse: layout {kind} is not supported; sparse_coo, sparse_csr and sparse_csc are")


@handles("to")
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self._with_values(aten.to(self._parts[-1], *args, **kwargs))


for _name, _type in (
    ("float", dt.float32),
    ("double", dt.float64),
    ("half", dt.float16),
    ("long", dt.int64),
    ("int", dt.int32),
    ("bool", dt.bool_),
):
    HANDLERS[_name] = lambda self, _type=_type: to(self, _type)


@handles("clone", "contiguous", "cpu")
def clone(self: Any, *, memory_format: Any = None) -> Any:
    return make_sparse(self._layout, tuple(aten.clone(p) for p in self._parts), self.shape, self._is_coalesced)


@handles("detach", "detach_")
def detach(self: Any) -> Any:
    return self._with_values(aten.detach(self._parts[-1]))


@handles("zeros_like", "empty_like")
def zeros_like(self: Any, **kwargs: Any) -> Any:
    source = as_coo(self)
    count, values = source.sparse_dim(), source._parts[1]
    kind = kwargs.get("dtype") or values.dtype
    made = coo(
        wrap(np.zeros((count, 0), np.int64)),
        aten.new_zeros(values, [0, *values.shape[1:]], dtype=kind),
        self.shape,
        True,
    )
    return made if self._layout is sparse_coo else to_compressed(made, self._layout)


@handles("ones_like")
def ones_like(self: Any, **kwargs: Any) -> Any:
    return aten.new_ones(self._parts[-1], list(self.shape))


# --- arithmetic
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


def _elements_at(dense: Any, sparse: Any) -> Any:
    """The elements of a dense tensor, broadcast to the sparse one's shape, at its positions."""
    indices = sparse._parts[0]
    lead = tuple(sparse.shape[: indices.shape[0]])
    whole = aten.expand(dense, list(sparse.shape))
    return aten.index_select(aten.reshape(whole, [prod(lead), *sparse.shape[len(lead) :]]), 0, _flat(indices, lead))


@handles("mul", "rmul", "multiply")
def mul(self: Any, other: Any) -> Any:
    sparse, factor = (self, other) if is_sparse(self) else (other, self)
    if not isinstance(factor, Tensor) or (not is_sparse(factor) and factor.dim() == 0):
        return sparse._with_values(sparse._parts[-1] * factor)
    source = coalesce(as_coo(sparse))
    made = source._with_values(source._parts[1] * _elements_at(to_dense(factor), source))
    return made if sparse._layout is sparse_coo else to_compressed(made, sparse._layout)


@handles("div", "truediv", "true_divide", "divide")
def div(self: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    if not is_sparse(self):
        return aten.div(self, to_dense(other), rounding_mode=rounding_mode)
    if isinstance(other, Tensor) and (is_sparse(other) or other.dim() > 0):
        source = coalesce(as_coo(self))
        return source._with_values(source._parts[1] / _elements_at(to_dense(other), source))
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


# --- products
@handles("mm", "matmul", "rmatmul", "spmm", "smm", "bmm")
def matmul(self: Any, other: Any) -> Any:
    if is_sparse(self) and is_sparse(other):
        made = _sparse_product(as_coo(self), as_coo(other))
        return made if self._layout is sparse_coo else to_compressed(made, self._layout)
    if is_sparse(self):
        vector = other.dim() == 1
        out = _sparse_dense(as_coo(self), aten.unsqueeze(other, -1) if vector else other)
        return aten.squeeze(out, -1) if vector else out
    out = _sparse_dense(transpose(as_coo(other), 0, 1), aten.t(self) if self.dim() == 2 else aten.unsqueeze(self, -1))
    return aten.t(out) if self.dim() == 2 else aten.squeeze(out, -1)


HANDLERS["mv"] = matmul


def _sparse_dense(self: Any, other: Any) -> Any:
    """A sparse matrix [m, n] times a dense one [n, k]: rows of the dense one, weighted and added."""
    if len(self.shape) != 2 or other.dim() != 2 or self.shape[1] != other.shape[0]:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({'x'.join(map(str, self.shape))} and {'x'.join(map(str, other.shape))})"
        )
    indices, values = self._parts
    rows = aten.index_select(other, 0, aten.select(indices, 0, 1))
    weighted = aten.mul(rows, aten.unsqueeze(values, -1))
    return aten.index_add(
        aten.new_zeros(weighted, [self.shape[0], other.shape[1]]), 0, aten.select(indices, 0, 0), weighted
    )


def _sparse_product(a: Any, b: Any) -> Any:
    """Two sparse matrices: every entry of a row of the first meets the entries of the second's row of that number."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    b = coalesce(b)
    (ai, av), (bi, bv) = a._parts, b._parts
    inner, rows = ai._array[1], bi._array[0]
    starts = np.searchsorted(rows, inner, "left")
    counts = np.searchsorted(rows, inner, "right") - starts
    left = np.repeat(np.arange(len(inner)), counts)
    right = np.repeat(
        starts - np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else starts, counts
    ) + np.arange(counts.sum())
    lefts, rights = wrap(left.astype(np.int64)), wrap(right.astype(np.int64))
    values = aten.index_select(av, 0, lefts) * aten.index_select(bv, 0, rights)
    indices = aten.stack(
        [aten.index_select(aten.select(ai, 0, 0), 0, lefts), aten.index_select(aten.select(bi, 0, 1), 0, rights)]
    )
    return coalesce(coo(indices, values, (a.shape[0], b.shape[1])))


@handles("addmm")
def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return (
        add(self * beta if beta != 1 else self, matmul(mat1, mat2), alpha=alpha)
        if is_sparse(self)
        else aten.add(self * beta if beta != 1 else self, to_dense(matmul(mat1, mat2)), alpha=alpha)
    )


# --- shapes and reductions
@handles("transpose", "swapaxes")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    if self._layout is not sparse_coo:
        other = sparse_csc if self._layout is sparse_csr else sparse_csr
        return make_sparse(other, self._parts, (self.shape[1], self.shape[0]), True)
    a, b = normalize_dim(dim0, len(self.shape)), normalize_dim(dim1, len(self.shape))
    lead = self.sparse_dim()
    if a >= lead or b >= lead:
        raise RuntimeError("transpose: only sparse dimensions can be exchanged")
    order, shape = list(range(lead)), list(self.shape)
    order[a], order[b] = order[b], order[a]
    shape[a], shape[b] = shape[b], shape[a]
    return coo(aten.index_select(self._parts[0], 0, wrap(np.array(order, np.int64))), self._parts[1], shape, False)


@handles("t", "adjoint", "mT", "T")
def t(self: Any) -> Any:
    return transpose(self, 0, 1)


@handles("sum")
def total(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dim is None or dim == []:
        return aten.sum(self._parts[-1], dtype=dtype)
    source = as_coo(self)
    indices, values = source._parts
    lead = source.sparse_dim()
    dims = sorted(normalize_dims(dim, len(self.shape)))
    inner = [d - lead + 1 for d in dims if d >= lead]
    if inner:
        values = aten.sum(values, inner)
    kept = [d for d in range(lead) if d not in dims]
    if not kept:
        return aten.sum(values, [0], dtype=dtype)
    shape = [n for d, n in enumerate(self.shape) if d not in dims]
    made = coalesce(coo(aten.index_select(indices, 0, wrap(np.array(kept, np.int64))), values, shape))
    return made if not keepdim else aten.sum(to_dense(self), dims, True)


@handles("cat", "concat")
def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    parts = [as_coo(p) for p in tensors]
    d = normalize_dim(dim, len(parts[0].shape))
    lead, shape = parts[0].sparse_dim(), list(parts[0].shape)
    if d >= lead:
        raise RuntimeError("cat: sparse tensors are joined along sparse dimensions")
    coordinates, offset = [], 0
    for p in parts:
        shift = np.zeros((lead, 1), np.int64)
        shift[d] = offset
        coordinates.append(p._parts[0] + wrap(shift))
        offset += p.shape[d]
    shape[d] = offset
    return coo(aten.cat(coordinates, 1), aten.cat([p._parts[1] for p in parts]), shape, False)


@handles("index_select")
def index_select(self: Any, dim: int, index: Any) -> Any:
    source = coalesce(as_coo(self))
    d = normalize_dim(dim, len(self.shape))
    indices, values = source._parts
    column = indices._array[d]
    wanted = index._array.reshape(-1)
    order = np.argsort(column, kind="stable")
    low, high = np.searchsorted(column[order], wanted, "left"), np.searchsorted(column[order], wanted, "right")
    columns = np.concatenate([order[a:b] for a, b in zip(low, high)] or [np.zeros(0, np.int64)]).astype(np.int64)
    moved = indices._array[:, columns].copy()
    moved[d] = np.repeat(np.arange(len(wanted)), high - low)
    shape = list(self.shape)
    shape[d] = len(wanted)
    return coo(wrap(moved), aten.index_select(values, 0, wrap(columns)), shape, False)


@handles("select", "getitem")
def select(self: Any, dim: Any, index: Any = None) -> Any:
    if index is None:
        dim, index = 0, dim
    if not isinstance(index, int):
        raise NotImplementedError("sparse tensors can be indexed by one integer; call .to_dense() first")
    n = self.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {n}")
    picked = index_select(self, dim, wrap(np.array([index % n], np.int64)))
    lead = picked.sparse_dim()
    kept = [d for d in range(lead) if d != dim % len(self.shape)]
    shape = [s for d, s in enumerate(self.shape) if d != dim % len(self.shape)]
    if not kept:
        return aten.sum(picked._parts[1], [0])
    return coo(aten.index_select(picked._parts[0], 0, wrap(np.array(kept, np.int64))), picked._parts[1], shape, False)


@handles("sparse_mask")
def sparse_mask(self: Any, mask: Any) -> Any:
    source = coalesce(as_coo(mask))
    made = source._with_values(_elements_at(to_dense(self), source))
    return made if mask._layout is sparse_coo else to_compressed(made, mask._layout)


@handles("norm", "linalg_vector_norm")
def norm(self: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    if dim is not None:
        return aten.linalg_vector_norm(to_dense(self), p, dim, keepdim)
    source = coalesce(as_coo(self))
    return aten.linalg_vector_norm(source._parts[1], 2 if p in (None, "fro") else p)


@handles("equal", "allclose")
def equal(self: Any, other: Any, **options: Any) -> bool:
    return (
        aten.allclose(to_dense(self), to_dense(other), **options)
        if options
        else bool(aten.equal(to_dense(self), to_dense(other)))
    )


@handles("numpy", "item", "tolist", "data_ptr", "stride", "storage_offset", "view", "reshape")
def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise TypeError(f"can't convert {self.layout} layout tensor to numpy. Use Tensor.to_dense() first.")


def softmax(self: Any, dim: int, logarithm: bool) -> Any:
    """softmax over the given entries of each line along a sparse dimension; the others count as minus infinity."""
    source = coalesce(as_coo(self))
    indices, values = source._parts
    d = normalize_dim(dim, len(self.shape))
    lead = source.sparse_dim()
    if d >= lead:
        return source._with_values((aten.log_softmax if logarithm else aten.softmax)(values, d - lead + 1))
    others = [i for i in range(lead) if i != d]
    lines = (
        np.unique(indices._array[others], axis=1, return_inverse=True)[1].reshape(-1)
        if others
        else np.zeros(source._nnz(), int)
    )
    count = int(lines.max(initial=-1)) + 1
    line = wrap(lines.astype(np.int64))
    highest = np.full((count, *values.shape[1:]), -math.inf)
    np.maximum.at(highest, lines, values.detach()._array)
    shifted = values - wrap(highest.astype(values._array.dtype))[line]
    sums = aten.index_add(zeros_for(values, (count, *values.shape[1:])), 0, line, aten.exp(shifted))
    at = aten.index_select(sums, 0, line)
    return source._with_values(shifted - aten.log(at) if logarithm else aten.exp(shifted) / at)


# --- methods
_OPERATORS = {
    "__add__": add,
    "__radd__": add,
    "__sub__": sub,
    "__mul__": mul,
    "__rmul__": mul,
    "__truediv__": div,
    "__matmul__": matmul,
    "__rmatmul__": lambda self, other: matmul(other, self),
    "__iadd__": add_,
    "__isub__": HANDLERS["sub_"],
    "__imul__": mul_,
    "__itruediv__": HANDLERS["div_"],
    "__pow__": power,
    "__getitem__": select,
    "__neg__": lambda self: self.neg(),
    "__rsub__": lambda self, other: add(other, self, alpha=-1),
}


def _method(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(name, (self, *args), kwargs)

    method.__name__ = name
    return method


def _install() -> None:
    """Every function is a method of sparse tensors, too."""
    for name in (*HANDLERS, *_ELEMENTWISE):
        if name not in ("T", "mT", "cat", "concat", "getitem", "real", "imag") and name not in SparseTensor.__dict__:
            setattr(SparseTensor, name, _method(name))
    for name, function in _OPERATORS.items():
        setattr(SparseTensor, name, function)
    for name in ("T", "mT"):
        setattr(SparseTensor, name, property(t))


_install()
