"""Kernels that write (copies, fills, masks) and kernels on the parts of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import inplace_kernel, kernel
from ..._quiet import convert_into, in_range
from ..._shape import broadcast_shapes
from ..._storage import restride
from . import select
from .movement_elements import copy_in_stripes, is_copied_in_stripes
from .unsupported import not_implemented, type_word
from .whole_numbers import as_element as as_element


# --- copies and fills
def check_target_shape(target: np.ndarray, *others: np.ndarray) -> None:
    """RuntimeError, as PyTorch words it, unless the others broadcast to the shape of `target`."""
    whole = broadcast_shapes(target.shape, *(o.shape for o in others))
    if whole != target.shape:
        raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(whole)}")


@kernel("copy_")
def copy_(self: np.ndarray, src: np.ndarray, non_blocking: bool) -> None:
    if self.shape != src.shape:
        check_target_shape(self, src)
    elif (
        self.dtype == src.dtype
        and self.flags.c_contiguous
        and is_copied_in_stripes(src)
        and not np.may_share_memory(self, src)
    ):
        copy_in_stripes(self, src)
        return
    if src.dtype.kind == "c" and self.dtype.kind not in "cb" and not dt.BY_NUM[self.dtype.num].is_complex:
        src = src.real
    convert_into(self, src if self.dtype.num < dt.FIRST_USER_NUM else in_range(src, self.dtype))


@kernel("fill_.Scalar")
def fill_scalar(self: np.ndarray, value: Any) -> None:
    self[...] = as_element(self, value)


@kernel("zero_")
def zero_(self: np.ndarray) -> None:
    self.fill(0)


def _put(self: np.ndarray, mask: np.ndarray, value: Any) -> None:
    if self.shape != mask.shape:
        check_target_shape(self, mask)
    select.put(self, mask, value)


def _element(self: np.ndarray, mask: np.ndarray, value: Any) -> Any:
    """The value to write in the type of `self`, after the checks of masked_fill."""
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {dt.BY_NUM[mask.dtype.num].cpp_name}"
        )
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        value = value.item()
    return as_element(self, value)


@kernel("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(self: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    element = _element(self, mask, value)
    shape = self.shape if self.shape == mask.shape else broadcast_shapes(mask.shape, self.shape)
    out = np.empty(shape, self.dtype)
    out[...] = self
    _put(out, mask, element)
    return out


@inplace_kernel("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill_into(self: np.ndarray, mask: np.ndarray, value: Any) -> None:
    _put(self, mask, _element(self, mask, value))


# --- complex numbers
@kernel("_conj", "_conj_physical", ufunc=np.conjugate)
def conj(self: np.ndarray) -> Any:
    return np.conjugate(self) if self.dtype.kind == "c" else self.copy()


@kernel("view_as_real")
def view_as_real(self: np.ndarray) -> np.ndarray:
    if not dt.BY_NUM[self.dtype.num].is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    half = self.itemsize // 2
    return restride(self, (*self.shape, 2), (*self.strides, half), np.dtype(f"f{half}"))


@kernel("view_as_complex")
def view_as_complex(self: np.ndarray) -> np.ndarray:
    if self.dtype.kind != "f" or dt.BY_NUM[self.dtype.num] in dt.FLOAT8:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{type_word(self)}"
        )
    if self.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    item = self.itemsize
    if not self.size:
        return np.empty(self.shape[:-1], dt.BY_NUM[self.dtype.num].to_complex().np)
    if self.strides[-1] != item:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % (2 * item) for s, n in zip(self.strides[:-1], self.shape) if n > 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return self.view(dt.BY_NUM[self.dtype.num].to_complex().np)[..., 0]


def _check_parts(first: np.ndarray, second: np.ndarray) -> None:
    if first.dtype.kind != "f" or second.dtype.kind != "f":
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{type_word(first)} and {type_word(second)}"
        )
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {type_word(first)} but got scalar type {type_word(second)} for second "
            "argument"
        )


def _join(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    shape = np.broadcast_shapes(real.shape, imag.shape)
    out = np.empty(shape, np.complex128 if real.dtype.char == "d" else np.complex64)
    out.real, out.imag = real, imag
    return out


@kernel("complex")
def make_complex(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    _check_parts(real, imag)
    return _join(real, imag)


@kernel("polar")
def polar(abs: np.ndarray, angle: np.ndarray) -> np.ndarray:
    _check_parts(abs, angle)
    if abs.dtype.char == "e":
        raise not_implemented("polar_cpu", abs)
    return _join(abs * np.cos(angle), abs * np.sin(angle))
