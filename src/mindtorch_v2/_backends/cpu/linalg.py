"""Matrix products. Decompositions, distances and attention stand in the files imported at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import inplace_kernel, kernel
from ..._native import accelerated, load_blas
from ..._ops.linalg import cannot_multiply, check_bmm
from ..._tensor import wrap
from .errors import not_implemented, type_word
from .whole_numbers import as_element

_BLAS = frozenset("fdFD")  # type characters that BLAS multiplies
load_blas()
_dot: Any = accelerated("matrix_product")(np.dot)  # with several threads, shared among those of the package
_matmul: Any = accelerated("batch_product")(np.matmul)


def _cpp_name(a: np.ndarray) -> str:
    return dt.BY_NUM[a.dtype.num].cpp_name


def sizes(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def check_expandable(shape: tuple[int, ...], target: tuple[int, ...], name: str = "Float") -> None:
    """RuntimeError, worded like that of `expand`, unless `shape` broadcasts to `target`."""
    if len(shape) > len(target):
        raise RuntimeError(
            f"expand(torch.{name}Tensor{{{sizes(shape)}}}, size={sizes(target)}): the number of sizes provided "
            f"({len(target)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    lead = len(target) - len(shape)
    for i in range(len(shape) - 1, -1, -1):
        if shape[i] not in (1, target[lead + i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({target[lead + i]}) must match the existing size ({shape[i]}) at "
                f"non-singleton dimension {lead + i}.  Target sizes: {sizes(target)}.  Tensor sizes: {sizes(shape)}"
            )


def _product(a: np.ndarray, b: np.ndarray, multiply: Any, name: str) -> np.ndarray:
    """The product of two arrays of one type that BLAS does not take."""
    if a.dtype == np.bool_:
        raise not_implemented(name, a)
    if a.dtype == np.float16:
        return multiply(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
    return multiply(a, b)


@kernel("mm")
def mm(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    if self.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    try:
        if self.dtype is mat2.dtype and self.dtype.char in _BLAS:
            return _dot(self, mat2)
    except ValueError:
        raise cannot_multiply(self.shape, mat2.shape) from None
    if self.shape[1] != mat2.shape[0]:
        raise cannot_multiply(self.shape, mat2.shape)
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {_cpp_name(self)} != {_cpp_name(mat2)}"
        )
    return _product(self, mat2, _dot, "addmm_impl_cpu_")


@kernel("bmm")
def bmm(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    if self.ndim != 3 or mat2.ndim != 3 or self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        check_bmm(self.shape, mat2.shape)
    if self.dtype is mat2.dtype and self.dtype.char in _BLAS:
        return _matmul(self, mat2)
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"expected scalar type {type_word(self)} but found {type_word(mat2)}")
    return _product(self, mat2, _matmul, "bmm")


@kernel("matmul")
def matmul(self: np.ndarray, other: np.ndarray) -> Any:
    """The product where no gradient is wanted and nobody watches: one call instead of views around `mm` or `bmm`."""
    n1, n2 = self.ndim, other.ndim
    if n1 == 2 and n2 == 2:
        return mm(self, other)
    if self.dtype is other.dtype and self.dtype.char in _BLAS and n1 and n2:
        if n2 == 2 and n1 > 2 and self.shape[-1] == other.shape[0] and self.flags.c_contiguous and self.size:
            return _dot(self.reshape(-1, self.shape[-1]), other).reshape(*self.shape[:-1], -1 if other.size else 0)
        try:
            return _matmul(self, other)
        except ValueError:
            pass  # shapes that do not fit: the steps say why
    from ..composite.linalg import matmul as in_steps

    return in_steps(wrap(self), wrap(other))._array


@kernel("dot")
def dot(self: np.ndarray, tensor: np.ndarray) -> Any:
    if self.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    if self.dtype != tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {type_word(self)} and {type_word(tensor)}"
        )
    if self.size != tensor.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self.size}] and src [{tensor.size}] to have the same "
            f"number of elements, but got {self.size} and {tensor.size} elements respectively"
        )
    if self.dtype.char in _BLAS:
        return _dot(self, tensor)
    return _product(self, tensor, _dot, "dot")


@kernel("vdot")
def vdot(self: np.ndarray, other: np.ndarray) -> Any:
    return dot(self.conj() if self.dtype.kind == "c" else self, other)


@kernel("_trilinear")
def trilinear(
    i1: np.ndarray,
    i2: np.ndarray,
    i3: np.ndarray,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int,
) -> np.ndarray:
    rank = i1.ndim + len(expand1)
    labels: list[Any] = [[d for d in range(rank) if d not in new_dims] for new_dims in (expand1, expand2, expand3)]
    kept: Any = [d for d in range(rank) if d not in sumdim]
    arrays: list[Any] = [a.astype(np.float32) if a.dtype == np.float16 else a for a in (i1, i2, i3)]
    product = np.einsum(arrays[0], labels[0], arrays[1], labels[1], arrays[2], labels[2], kept, optimize=True)
    return np.ascontiguousarray(product, i1.dtype)


# --- sums with a product --------------------------------------------------------------------------------------------


def _factor(number: Any, array: np.ndarray) -> Any:
    """`beta` or `alpha` as a number of the array's kind: integers are multiplied by integers."""
    return as_element(array, int(number)) if array.dtype.kind in "iu" else number


def _add_scaled(product: np.ndarray, self: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    """`beta * self + alpha * product`, written into `product`. What is in self does not matter where beta is 0."""
    if alpha != 1:
        product *= _factor(alpha, product)
    if beta == 1:
        product += self
    elif beta != 0:
        product += self * _factor(beta, self)
    return product


def _write_scaled(self: np.ndarray, product: np.ndarray, beta: Any, alpha: Any) -> None:
    """The same, written into `self`."""
    if alpha != 1:
        product *= _factor(alpha, product)
    if beta == 0:
        self[...] = product
        return
    if beta != 1:
        self *= _factor(beta, self)
    self += product


def _check_addmm(self: np.ndarray, mat1: np.ndarray, mat2: np.ndarray) -> None:
    """Says why `addmm` refuses these operands; returns when it does not."""
    for name, mat in (("mat1", mat1), ("mat2", mat2)):
        if mat.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {mat.ndim}-D tensor")
    if mat1.shape[1] != mat2.shape[0]:
        raise cannot_multiply(mat1.shape, mat2.shape)
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {type_word(self)} and {type_word(mat2)}")
    if mat1.dtype != mat2.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {type_word(mat1)} and {type_word(mat2)}")
    check_expandable(self.shape, (mat1.shape[0], mat2.shape[1]), type_word(self))


@kernel("addmm")
def addmm(self: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    kind = self.dtype
    if mat1.ndim == 2 and mat2.ndim == 2 and kind is mat1.dtype and kind is mat2.dtype and kind.char in _BLAS:
        try:
            if beta == 1 and alpha == 1:
                out = _dot(mat1, mat2)
                out += self
                return out
            if beta != 0:
                return _add_scaled(_dot(mat1, mat2), self, beta, alpha)
        except ValueError:
            pass  # shapes that do not fit: told below
    _check_addmm(self, mat1, mat2)
    if kind == np.float16:
        wide = _add_scaled(_dot(mat1.astype(np.float32), mat2.astype(np.float32)), self.astype(np.float32), beta, alpha)
        return wide.astype(np.float16)
    return _add_scaled(_product(mat1, mat2, _dot, "addmm_impl_cpu_"), self, beta, alpha)


@inplace_kernel("addmm")
def addmm_(self: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, beta: Any, alpha: Any) -> None:
    if mat1.ndim == 2 == mat2.ndim and self.shape != (mat1.shape[0], mat2.shape[1]) and mat1.shape[1] == mat2.shape[0]:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {sizes(self.shape)} and output tensor size "
            f"{sizes((mat1.shape[0], mat2.shape[1]))} should match"
        )
    _check_addmm(self, mat1, mat2)
    if self.dtype == np.float16:
        self[...] = addmm(self, mat1, mat2, beta, alpha)
    else:
        _write_scaled(self, _product(mat1, mat2, _dot, "addmm_impl_cpu_"), beta, alpha)


def _check_addmv(self: np.ndarray, mat: np.ndarray, vec: np.ndarray) -> None:
    if self.ndim > 1 or mat.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0] or self.size not in (1, mat.shape[0]):
        raise RuntimeError(
            f"size mismatch, got input ({self.size}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    if not self.dtype == mat.dtype == vec.dtype:
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{type_word(self)}, {type_word(mat)}, and {type_word(vec)}"
        )


@kernel("addmv")
def addmv(self: np.ndarray, mat: np.ndarray, vec: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    _check_addmv(self, mat, vec)
    if self.dtype == np.float16:
        wide = _add_scaled(_dot(mat.astype(np.float32), vec.astype(np.float32)), self.astype(np.float32), beta, alpha)
        return wide.astype(np.float16)
    return _add_scaled(_product(mat, vec, _dot, "addmv_impl_cpu"), self, beta, alpha)


@kernel("mv")
def mv(self: np.ndarray, vec: np.ndarray) -> np.ndarray:
    if (
        self.ndim == 2
        and vec.ndim == 1
        and self.dtype is vec.dtype
        and self.dtype.char in _BLAS
        and self.shape[1] == vec.shape[0]
    ):
        return _dot(self, vec)
    return addmv(np.zeros(self.shape[:1], vec.dtype), self, vec, 0, 1)


@inplace_kernel("addmv")
def addmv_(self: np.ndarray, mat: np.ndarray, vec: np.ndarray, beta: Any, alpha: Any) -> None:
    _check_addmv(self, mat, vec)
    if self.shape != mat.shape[:1]:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {sizes(self.shape)} and output tensor size {sizes(mat.shape[:1])} "
            "should match"
        )
    if self.dtype == np.float16:
        self[...] = addmv(self, mat, vec, beta, alpha)
        return
    _write_scaled(self, _product(mat, vec, _dot, "addmv_impl_cpu"), beta, alpha)


def _check_batches(
    name: str, self: np.ndarray, batch1: np.ndarray, batch2: np.ndarray, target: tuple[int, ...]
) -> None:
    check_expandable(self.shape, target, type_word(self))
    for which, batch in (("batch1", batch1), ("batch2", batch2)):
        if batch.ndim != 3:
            raise RuntimeError(f"{which} must be a 3D tensor")
    if name == "addbmm" and batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )


@kernel("baddbmm")
def baddbmm(self: np.ndarray, batch1: np.ndarray, batch2: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    if not self.dtype == batch1.dtype == batch2.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {_cpp_name(self)}, batch1: {_cpp_name(batch1)}, "
            f"batch2: {_cpp_name(batch2)}"
        )
    half = self.dtype == np.float16
    if half:
        self, batch1, batch2 = (a.astype(np.float32) for a in (self, batch1, batch2))
    product = bmm(batch1, batch2)
    check_expandable(self.shape, product.shape, type_word(self))
    out = _add_scaled(product, self, beta, alpha)
    return out.astype(np.float16) if half else out


@kernel("addbmm")
def addbmm(self: np.ndarray, batch1: np.ndarray, batch2: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    target = (batch1.shape[1], batch2.shape[-1])
    _check_batches("addbmm", self, batch1, batch2, target)
    b, n, m = batch1.shape
    if batch2.shape[1] != m:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({n}x{m} and {batch2.shape[1]}x{batch2.shape[2]})")
    # The sum of the products is one product of the matrices laid side by side.
    return addmm(
        self, batch1.transpose(1, 0, 2).reshape(n, b * m), batch2.reshape(b * m, batch2.shape[-1]), beta, alpha
    )


@kernel("addr")
def addr(self: np.ndarray, vec1: np.ndarray, vec2: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    for name, vec in (("vec1", vec1), ("vec2", vec2)):
        if vec.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vec.ndim}-D")
    check_expandable(self.shape, (vec1.size, vec2.size), type_word(self))
    common = dt.promote_types(
        dt.BY_NUM[self.dtype.num], dt.promote_types(dt.BY_NUM[vec1.dtype.num], dt.BY_NUM[vec2.dtype.num])
    )
    for name, number in (("beta", beta), ("alpha", alpha)):
        if common.category < 2 and isinstance(number, float):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    product = vec1.astype(common.np, copy=False)[:, None] * vec2.astype(common.np, copy=False)
    if common is dt.bool_:
        return (self & bool(beta)) | (product & bool(alpha))
    return _add_scaled(product, self, beta, alpha)


@kernel("linalg_cross")
def linalg_cross(self: np.ndarray, other: np.ndarray, dim: int) -> np.ndarray:
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if not -self.ndim <= dim < self.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-self.ndim}, {self.ndim - 1}], but got {dim})"
        )
    if self.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[dim]} and {other.shape[dim]}"
        )
    a0, a1, a2 = np.moveaxis(self, dim, 0)
    b0, b1, b2 = np.moveaxis(other, dim, 0)
    return np.stack((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0), axis=dim)


from . import attention, decompositions, distances  # noqa: E402,F401  - they register their kernels
