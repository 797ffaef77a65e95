"""Declarations of Fourier transforms (`torch.fft`), short-time transforms and windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .rules import Spec
from .table import op

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def transform_order(shape: Sequence[int], strides: Sequence[int], dim: Sequence[int]) -> list[int]:
    """The order of dimensions in which a transform leaves its result in memory: the others from the largest stride
    to the smallest, then the transformed ones.
    """
    ndim = len(shape)
    inner = [d % ndim for d in dim]
    outer = sorted((d for d in range(ndim) if d not in inner), key=lambda d: -strides[d])
    return [*outer, *inner]


def _strides(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    out, step = [0] * len(shape), 1
    for d in reversed(order):
        out[d] = step
        step *= max(shape[d], 1)
    return tuple(out)


def _spec(self: Any, dim: Sequence[int], shape: Sequence[int], dtype: Any) -> Spec:
    return Spec(tuple(shape), dtype, _strides(shape, transform_order(self.shape, self.stride(), dim)))


def _shape_with_size(self: Any, dim: Sequence[int], size: int) -> list[int]:
    shape = list(self.shape)
    shape[dim[-1]] = size
    return shape


def _r2c(self: Any, dim: Sequence[int], normalization: int, onesided: bool) -> Spec:
    size = self.shape[dim[-1]]
    return _spec(self, dim, _shape_with_size(self, dim, size // 2 + 1 if onesided else size), self.dtype.to_complex())


def _c2r(self: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Spec:
    return _spec(self, dim, _shape_with_size(self, dim, last_dim_size), self.dtype.to_real())


def _c2c(self: Any, dim: Sequence[int], normalization: int, forward: bool) -> Spec:
    return _spec(self, dim, self.shape, self.dtype) if dim else Spec(tuple(self.shape), self.dtype)


op("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", meta=_r2c, method=False)
op("_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", meta=_c2r, method=False)
op("_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", meta=_c2c, method=False)

for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    op(
        f"fft_{_name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
        method=False,
        out=True,
        namespace="fft",
    )
    op(
        f"fft_{_name}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2,-1], str? norm=None) -> Tensor",
        method=False,
        out=True,
        namespace="fft",
    )
    op(
        f"fft_{_name}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        method=False,
        out=True,
        namespace="fft",
    )
op(f"fft_fftfreq(int n, float d=1., *, {_OPTIONS}) -> Tensor", method=False, out=True, namespace="fft")
op(f"fft_rfftfreq(int n, float d=1., *, {_OPTIONS}) -> Tensor", method=False, out=True, namespace="fft")
op("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", method=False, namespace="fft")
op("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", method=False, namespace="fft")

# --- short-time transforms; `torch.stft`, which pads, stands in front of this one
op(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
    "normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor"
)
op(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor"
)

# --- windows
for _name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
    op(f"{_name}_window(int window_length, *, {_OPTIONS}) -> Tensor", method=False)
    op(f"{_name}_window.periodic(int window_length, bool periodic, *, {_OPTIONS}) -> Tensor", method=False)
op(
    f"hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, {_OPTIONS}) -> Tensor",
    method=False,
)
op(
    f"hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, {_OPTIONS}) "
    "-> Tensor",
    method=False,
)
op(f"kaiser_window.beta(int window_length, bool periodic, float beta, *, {_OPTIONS}) -> Tensor", method=False)
