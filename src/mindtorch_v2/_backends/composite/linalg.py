"""Matrix products made of others. Einsum, linear algebra and attention stand in the files imported at the end."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ..._dispatch import aten
from ..._dispatch.registry import composite, stepwise
from ..._shape import broadcast_shapes, normalize_dim
from ..cpu.linalg import sizes
from . import kernel_steps as _kernel_steps  # noqa: F401  registers steps

Kernel = Callable[..., Any]


# --- what PyTorch does inside its products, listed when a profile asks for it -----------------------------------------


def _expand_to(self: Any, shape: tuple[int, ...]) -> Any:
    return self if tuple(self.shape) == shape else aten.expand(self, shape)


@stepwise("addmv")
def addmv(kernel: Kernel, self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    if mat.dim() == 2 and self.numel() == 1:
        self = _expand_to(self, (mat.shape[0],))
    return kernel(self, mat, vec, beta, alpha)


@stepwise("mv")
def mv(kernel: Kernel, self: Any, vec: Any) -> Any:
    out = aten.empty(list(self.shape[:1]), dtype=vec.dtype, device=vec.device)
    return aten.addmv_(out, self, vec, beta=0)


@stepwise("vdot")
def vdot(kernel: Kernel, self: Any, other: Any) -> Any:
    return kernel(self, other) if self.dtype.is_complex else aten.dot(self, other)


# --- matmul and linear ------------------------------------------------------------------------------------------------


@composite("matmul")
def matmul(self: Any, other: Any) -> Any:
    n1, n2 = self._array.ndim, other._array.ndim
    if n1 == 2 and n2 == 2:
        return aten.mm(self, other)
    if n1 == 0 or n2 == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n1}D and {n2}D")
    if n1 == 1 and n2 == 1:
        return aten.dot(self, other)
    if n1 == 2 and n2 == 1:
        return aten.mv(self, other)
    if n1 == 1 and n2 == 2:
        return aten.squeeze_(aten.mm(aten.unsqueeze(self, 0), other), 0)
    return _folded_product(self, other) if _folds(self, other) else _batched_product(self, other)


def _folds(tensor1: Any, tensor2: Any) -> bool:
    """Whether the batch dimensions of one operand can become rows of a matrix, the other being a matrix or a vector."""
    first_is_larger = tensor1.dim() >= tensor2.dim()
    if max(tensor1.dim(), tensor2.dim()) < 3 or min(tensor1.dim(), tensor2.dim()) > 2:
        return False
    large, small = (tensor1, tensor2) if first_is_larger else (aten.mT(tensor2), tensor1)
    if small.requires_grad:
        return True  # else its gradient would be as large as the whole batch
    if tensor1.dim() == 2:
        return False
    if large.numel() == 0:
        return True
    shape, strides = large.shape, large.stride()
    return all(strides[i] == strides[i + 1] * shape[i + 1] for i in range(len(shape) - 2))


def _folded_product(tensor1: Any, tensor2: Any) -> Any:
    first_is_larger = tensor1.dim() >= tensor2.dim()
    large = tensor1 if first_is_larger else aten.mT(tensor2)
    small = tensor2 if first_is_larger else tensor1 if tensor1.dim() == 1 else aten.t(tensor1)
    outer = tuple(large.shape[:-1])
    rows = aten.reshape(large, (prod(outer), large.shape[-1]))
    if small.dim() == 1:
        return aten._unsafe_view(aten.mv(rows, small), outer)
    product = aten._unsafe_view(aten.mm(rows, small), (*outer, small.shape[1]))
    return product if first_is_larger else aten.contiguous(aten.mT(product))


def _batched_product(tensor1: Any, tensor2: Any) -> Any:
    shape1, shape2 = tuple(tensor1.shape), tuple(tensor2.shape)
    n, m1 = (1, *shape1)[-2:]
    m2, p = shape2[-2:] if len(shape2) > 1 else (shape2[-1], 1)
    batch = broadcast_shapes(shape1[:-2], shape2[:-2])
    count = prod(batch)
    left = aten.reshape(aten.expand(tensor1, (*batch, n, m1)), (count, n, m1))
    if len(shape2) == 1:
        right = aten.unsqueeze(aten.reshape(aten.expand(tensor2, (*batch, m2)), (count, m2)), 2)
    else:
        right = aten.reshape(aten.expand(tensor2, (*batch, m2, p)), (count, m2, p))
    out = (*batch, *((n,) if len(shape1) > 1 else ()), *((p,) if len(shape2) > 1 else ()))
    return aten._unsafe_view(aten.bmm(left, right), out)


@composite("linear")
def linear(input: Any, weight: Any, bias: Any) -> Any:
    if bias is None:
        return aten.matmul(input, aten.t(weight))
    ndim = input._array.ndim
    if ndim == 2:
        return aten.addmm(bias, input, aten.t(weight))
    if (
        input._array.flags.c_contiguous
        and weight._array.ndim == 2
        and ndim > 0
        and (ndim == 3 or bias._array.ndim == 1)
    ):
        outer = input.shape[:-1]
        rows = aten.view(input, (prod(outer), input.shape[-1]))
        return aten.view(aten.addmm(bias, rows, aten.t(weight)), (*outer, weight.shape[0]))
    return aten.add_(aten.matmul(input, aten.t(weight)), bias)


@composite("linalg_matmul")
def linalg_matmul(self: Any, other: Any) -> Any:
    return aten.matmul(self, other)


# --- vectors ----------------------------------------------------------------------------------------------------------


@composite("outer")
def outer(self: Any, vec2: Any) -> Any:
    for name, t in (("self", self), ("vec2", vec2)):
        if t.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t.dim()}-D")
    return aten.mul(aten.reshape(self, (self.shape[0], 1)), vec2)


@composite("ger")
def ger(self: Any, vec2: Any) -> Any:
    return aten.outer(self, vec2)


@composite("inner")
def inner(self: Any, other: Any) -> Any:
    if self.dim() == 0 or other.dim() == 0:
        return aten.mul(self, other)
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{sizes(self.shape)} and {sizes(other.shape)}"
        )
    return aten.tensordot(self, other, [self.dim() - 1], [other.dim() - 1])


@composite("linalg_vecdot")
def linalg_vecdot(x: Any, y: Any, dim: int) -> Any:
    if x.dim() == 1 and y.dim() == 1:
        return aten.vdot(x, y)
    return aten.sum(aten.mul(aten.conj(x) if x.dtype.is_complex else x, y), [dim])


@composite("cross")
def cross(self: Any, other: Any, dim: int | None) -> Any:
    if dim is None:
        dim = next((i for i, n in enumerate(self.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross "
            "in a future release.",
            stacklevel=3,
        )
    return aten.linalg_cross(self, other, dim=dim)


@composite("linalg_vander")
def linalg_vander(x: Any, N: int | None) -> Any:
    if x.dim() == 0:
        x = aten.unsqueeze(x, 0)
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = aten.cumprod(aten.expand(aten.unsqueeze(x, -1), (*x.shape, n - 1)), -1)
    return aten.cat([aten.new_ones(powers, (*x.shape, 1)), powers], -1)


# --- tensors ----------------------------------------------------------------------------------------------------------


@composite("tensordot")
def tensordot(self: Any, other: Any, dims_self: Sequence[int], dims_other: Sequence[int]) -> Any:
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    for d1, d2 in zip(dims_self, dims_other):
        if self.shape[d1] != other.shape[d2] and 1 not in (self.shape[d1], other.shape[d2]):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {self.shape[d1]} in dim {d1} and second "
                f"has size {other.shape[d2]} in dim {d2}"
            )
    gone1 = [normalize_dim(d, self.dim()) for d in dims_self]
    gone2 = [normalize_dim(d, other.dim()) for d in dims_other]
    for d1, d2 in zip(gone1, gone2):  # a size of 1 stands for as many as the other has
        if self.shape[d1] != other.shape[d2]:
            if self.shape[d1] == 1:
                other = aten.sum(other, [d2], keepdim=True, dtype=other.dtype)
            else:
                self = aten.sum(self, [d1], keepdim=True, dtype=self.dtype)
    kept1 = [d for d in range(self.dim()) if d not in gone1]
    kept2 = [d for d in range(other.dim()) if d not in gone2]
    out = (*(self.shape[d] for d in kept1), *(other.shape[d] for d in kept2))
    first, second = [*kept1, *gone1], [*gone2, *kept2]
    if not out:
        return aten.reshape(_full_contraction(aten.permute(self, first), aten.permute(other, second)), out)
    middle = prod(self.shape[d] for d in gone1)
    rows = aten.reshape(aten.permute(self, first), (prod(self.shape[d] for d in kept1), middle))
    columns = aten.reshape(aten.permute(other, second), (middle, prod(other.shape[d] for d in kept2)))
    return aten.reshape(aten.mm(rows, columns), out)


def _full_contraction(left: Any, right: Any) -> Any:
    """The sum of the products of all elements of two tensors of one shape."""
    if left.is_contiguous() and right.is_contiguous():
        return aten.dot(aten.flatten(left), aten.flatten(right))
    products = aten.mul(aten.squeeze(left), aten.squeeze(right))
    return aten.sum(products, dtype=products.dtype)  # narrow integers stay what they are, as in dot


@composite("kron")
def kron(self: Any, other: Any) -> Any:
    rank = max(self.dim(), other.dim())
    shape1 = (1,) * (rank - self.dim()) + tuple(self.shape)
    shape2 = (1,) * (rank - other.dim()) + tuple(other.shape)
    left = aten._unsafe_view(self, [n for a in shape1 for n in (a, 1)])
    right = aten._unsafe_view(other, [n for b in shape2 for n in (1, b)])
    return aten._unsafe_view(aten.mul(left, right), [a * b for a, b in zip(shape1, shape2)])


# --- chains -----------------------------------------------------------------------------------------------------------


def _cheapest_order(dims: Sequence[int]) -> list[list[int]]:
    """split[i][j]: where the product of matrices i..j is best cut in two; matrix k has the shape (dims[k],
    dims[k+1]).
    """
    count = len(dims) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + dims[i] * dims[k + 1] * dims[j + 1], k) for k in range(i, j)]
            cost[i][j], split[i][j] = min(options)
    return split


def _multiply(matrices: Sequence[Any], split: list[list[int]], i: int, j: int) -> Any:
    if i == j:
        return matrices[i]
    k = split[i][j]
    return aten.mm(_multiply(matrices, split, i, k), _multiply(matrices, split, k + 1, j))


@composite("linalg_multi_dot")
def linalg_multi_dot(tensors: Sequence[Any]) -> Any:
    matrices = list(tensors)
    count = len(matrices)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    out: list[int] = []
    for dim, i in ((0, 0), (-1, count - 1)):  # the ends may be vectors
        t = matrices[i]
        if t.dim() == 1:
            matrices[i] = aten.unsqueeze(t, dim)
        elif t.dim() == 2:
            out.append(t.shape[dim])
        else:
            word = "first" if i == 0 else "last"
            raise RuntimeError(f"multi_dot(): the {word} tensor must be 1D or 2D but got {t.dim()}D")
    for i, t in enumerate(matrices):
        if t.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.dim()}D")
    for i in range(count - 1):
        if matrices[i].shape[1] != matrices[i + 1].shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {sizes(matrices[i].shape)} and "
                f"{sizes(matrices[i + 1].shape)} cannot be multiplied"
            )
    dims = [m.shape[0] for m in matrices] + [matrices[-1].shape[1]]
    return aten.view(_multiply(matrices, _cheapest_order(dims), 0, count - 1), out)


@composite("chain_matmul")
def chain_matmul(matrices: Sequence[Any]) -> Any:
    for i, t in enumerate(matrices):
        if t.dim() != 2:
            raise RuntimeError(f"Tensor {i} has {t.dim()} dimensions, but expected 2 dimensions")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    return aten.clone(matrices[0]) if len(matrices) == 1 else linalg_multi_dot(matrices)


def check_square(A: Any, function: str) -> None:
    if A.dim() < 2:
        raise RuntimeError(f"{function}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{function}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )


@composite("matrix_power", "linalg_matrix_power")
def matrix_power(self: Any, n: int) -> Any:
    check_square(self, "linalg.matrix_power")
    if n == 0:
        made = aten.clone(self)
        return aten.copy_(made, aten.eye(self.shape[-1], dtype=self.dtype, device=self.device))
    if n == 1:
        return aten.clone(self)
    base = aten.linalg_inv(self) if n < 0 else self
    left, result, power = abs(n), None, base
    if left == 3:
        return aten.matmul(aten.matmul(base, base), base)
    while True:
        if left & 1:
            result = power if result is None else aten.matmul(result, power)
        left >>= 1
        if not left:
            return result
        power = aten.matmul(power, power)


@composite("matrix_exp")
def matrix_exp(self: Any) -> Any:
    return aten.linalg_matrix_exp(self)


from . import attention, decompositions, einsum, projections  # noqa: E402,F401  - they register their composites
