"""`torch.fft` in terms of the three transforms (real to complex, complex to real, complex to complex)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _device
from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._dispatch.registry import composite
from ..._shape import normalize_dim
from . import spectral as _spectral  # noqa: F401  registers short-time transforms and windows

_NORMS = {None: 0, "backward": 0, "ortho": 1, "forward": 2}  # of forward transforms: see _backends/cpu/fft.py
_INVERSE_NORMS = {None: 2, "backward": 2, "ortho": 1, "forward": 0}


def _normalization(norm: str | None, forward: bool) -> int:
    try:
        return (_NORMS if forward else _INVERSE_NORMS)[norm]
    except KeyError:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"') from None


def _promote(self: Any, wants_complex: bool) -> Any:
    """The input in a type that can be transformed: integers become the default floating type."""
    kind = self.dtype if self.dtype.category >= 2 else dt.get_default_dtype()
    if kind not in (dt.float32, dt.float64, dt.complex64, dt.complex128):
        raise RuntimeError(f"Unsupported dtype {type_word(kind)}")
    if wants_complex:
        kind = kind.to_complex()
    return self if kind is self.dtype else aten.to(self, kind)


def _check_points(size: int) -> None:
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")


def _fit_sizes(self: Any, dims: Sequence[int], sizes: Sequence[int]) -> Any:
    """The input cut off or padded with zeros to the sizes; -1 keeps a dimension as it is."""
    padding, must_pad = [0] * (2 * self.dim()), False
    for d, size in zip(dims, sizes):
        if size == -1:
            continue
        _check_points(size)
        if self.shape[d] < size:
            padding[2 * (self.dim() - 1 - d) + 1] = size - self.shape[d]
            must_pad = True
        elif self.shape[d] > size:
            self = aten.slice(self, d, 0, size)
    return aten.constant_pad_nd(self, padding) if must_pad else self


def _conj(self: Any) -> Any:
    return aten.conj(self)


# --- along one dimension
def _one(
    self: Any, n: int | None, dim: int, wants_complex: bool, n_in: Callable[[int], int] | None = None
) -> tuple[Any, int]:
    """(input cut to the size that `n` asks for, the dimension counted from the front)."""
    self = _promote(self, wants_complex)
    d = normalize_dim(dim, self.dim())
    if self.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if n is not None:
        _check_points(n)
        self = _fit_sizes(self, [d], [n_in(n) if n_in else n])
    elif n_in is None:
        _check_points(self.shape[d])
    return self, d


def _real_only(name: str, self: Any) -> None:
    if self.dtype.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {type_word(self.dtype)}")


def _complex_transform(self: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    self, d = _one(self, n, dim, False)
    scale = _normalization(norm, forward)
    if self.dtype.is_complex:
        return aten._fft_c2c(self, [d], scale, forward)
    out = aten._fft_r2c(self, [d], scale, False)
    return out if forward else _conj(out)


def _to_real(self: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    self, d = _one(self, n, dim, True, lambda size: size // 2 + 1)
    size = n if n is not None else 2 * (self.shape[d] - 1)
    _check_points(size)
    return aten._fft_c2r(_conj(self) if forward else self, [d], _normalization(norm, forward), size)


@composite("fft_fft")
def fft(self: Any, n: int | None, dim: int, norm: str | None) -> Any:
    return _complex_transform(self, n, dim, norm, True)


@composite("fft_ifft")
def ifft(self: Any, n: int | None, dim: int, norm: str | None) -> Any:
    return _complex_transform(self, n, dim, norm, False)


@composite("fft_rfft")
def rfft(self: Any, n: int | None, dim: int, norm: str | None) -> Any:
    _real_only("rfft", self)
    self, d = _one(self, n, dim, False)
    return aten._fft_r2c(self, [d], _normalization(norm, True), True)


@composite("fft_irfft")
def irfft(self: Any, n: int | None, dim: int, norm: str | None) -> Any:
    return _to_real(self, n, dim, norm, False)


@composite("fft_hfft")
def hfft(self: Any, n: int | None, dim: int, norm: str | None) -> Any:
    return _to_real(self, n, dim, norm, True)


@composite("fft_ihfft")
def ihfft(self: Any, n: int | None, dim: int, norm: str | None) -> Any:
    _real_only("ihfft", self)
    self, d = _one(self, n, dim, False)
    return _conj(aten._fft_r2c(self, [d], _normalization(norm, False), True))


# --- along several dimensions
def _dims_and_sizes(self: Any, s: Sequence[int] | None, dim: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """The dimensions that are transformed, and the size asked for along each (-1: as it is)."""
    ndim = self.dim()
    if dim is not None:
        dims = [normalize_dim(d, ndim) for d in dim]
        if dims and not ndim:
            raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is None:
            return dims, [-1] * len(dims)
        if len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        return dims, list(s)
    if s is None:
        return list(range(ndim)), [-1] * ndim
    if len(s) > ndim:
        raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
    return list(range(ndim - len(s), ndim)), list(s)


def _many(self: Any, s: Sequence[int] | None, dim: Sequence[int] | None, name: str = "") -> tuple[Any, list[int]]:
    dims, sizes = _dims_and_sizes(self, s, dim)
    if name and not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    self = _fit_sizes(self, dims, sizes)
    for d in dims:
        _check_points(self.shape[d])
    return self, dims


def _many_to_real(
    self: Any, s: Sequence[int] | None, dim: Sequence[int] | None, name: str
) -> tuple[Any, list[int], int]:
    """(input of half the size along the last dimension, dimensions, whole size of the last one)."""
    self = _promote(self, True)
    dims, sizes = _dims_and_sizes(self, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = sizes[-1]
    if last == -1:
        last = 2 * (self.shape[dims[-1]] - 1)
    _check_points(last)
    return _fit_sizes(self, dims, [*sizes[:-1], last // 2 + 1]), dims, last


def _complex_transforms(
    self: Any, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None, forward: bool
) -> Any:
    self, dims = _many(_promote(self, True), s, dim)
    return aten._fft_c2c(self, sorted(dims), _normalization(norm, forward), forward)


@composite("fft_fftn", "fft_fft2")
def fftn(self: Any, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None) -> Any:
    return _complex_transforms(self, s, dim, norm, True)


@composite("fft_ifftn", "fft_ifft2")
def ifftn(self: Any, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None) -> Any:
    return _complex_transforms(self, s, dim, norm, False)


@composite("fft_rfftn", "fft_rfft2")
def rfftn(self: Any, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None) -> Any:
    if self.dtype.is_complex:
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {type_word(self.dtype)}")
    self, dims = _many(_promote(self, False), s, dim, "rfftn")
    return aten._fft_r2c(self, dims, _normalization(norm, True), True)


@composite("fft_irfftn", "fft_irfft2")
def irfftn(self: Any, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None) -> Any:
    self, dims, last = _many_to_real(self, s, dim, "irfftn")
    return aten._fft_c2r(self, dims, _normalization(norm, False), last)


@composite("fft_hfftn", "fft_hfft2")
def hfftn(self: Any, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None) -> Any:
    self, dims, last = _many_to_real(self, s, dim, "hfftn")
    scale = _normalization(norm, True)
    if len(dims) > 1:
        self = aten._fft_c2c(self, dims[:-1], scale, True)
    return aten._fft_c2r(_conj(self), dims[-1:], scale, last)


@composite("fft_ihfftn", "fft_ihfft2")
def ihfftn(self: Any, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None) -> Any:
    if self.dtype.is_complex:
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {type_word(self.dtype)}")
    self, dims = _many(_promote(self, False), s, dim, "ihfftn")
    scale = _normalization(norm, False)
    half = _conj(aten._fft_r2c(self, dims[-1:], scale, True))
    return aten._fft_c2c(half, dims[:-1], scale, False) if len(dims) > 1 else half


# --- frequencies
def _frequency_type(name: str, dtype: dt.dtype | None) -> dt.dtype:
    kind = dtype or dt.get_default_dtype()
    if kind.category < 2:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    return kind


@composite("fft_fftfreq")
def fftfreq(n: int, d: float, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any) -> Any:
    kind, where = _frequency_type("fftfreq", dtype), _device.resolve(device)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if n == 0:
        return aten.empty([0], dtype=kind, device=where)
    points = aten.arange(n, dtype=kind, device=where)
    middle = (n + 1) // 2
    aten.sub_(aten.slice(points, 0, middle, n), n)
    return aten.mul_(points, 1.0 / (n * d))


@composite("fft_rfftfreq")
def rfftfreq(n: int, d: float, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any) -> Any:
    kind, where = _frequency_type("rfftfreq", dtype), _device.resolve(device)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n // 2 + 1}: [{n // 2 + 1}]")
    points = aten.arange(n // 2 + 1, dtype=kind, device=where)
    return aten.mul_(points, 1.0 / (n * d)) if n else points


def _roll_dims(self: Any, dim: Sequence[int] | None, shift_of: Callable[[int], int]) -> Any:
    dims = list(range(self.dim())) if dim is None else [normalize_dim(d, self.dim()) for d in dim]
    if not dims:
        return aten.clone(self)
    return aten.roll(self, [shift_of(self.shape[d]) for d in dims], dims)


@composite("fft_fftshift")
def fftshift(self: Any, dim: Sequence[int] | None) -> Any:
    return _roll_dims(self, dim, lambda size: size // 2)


@composite("fft_ifftshift")
def ifftshift(self: Any, dim: Sequence[int] | None) -> Any:
    return _roll_dims(self, dim, lambda size: (size + 1) // 2)
