"""Short-time Fourier transforms and windows, made of other ops."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ... import _device
from ... import _dtype as dt
from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._dispatch.registry import composite
from ..cpu.linalg import sizes


# --- short-time transforms
def _word(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _window_text(window: Any) -> str:
    return "None" if window is None else f"torch.{type_word(window.dtype)}Tensor{{{sizes(window.shape)}}}"


def _padded_window(window: Any, win_length: int, n_fft: int, like: Any) -> Any:
    """A window of n_fft points with the given one in its middle; ones stand for no window."""
    if window is not None and win_length == n_fft:
        return window
    kind = like.dtype.to_real() if window is None else window.dtype
    if window is None and win_length == n_fft:
        return aten.ones([n_fft], dtype=kind, device=like.device)
    left = (n_fft - win_length) // 2
    inner = aten.ones([win_length], dtype=kind, device=like.device) if window is None else window
    return aten.constant_pad_nd(inner, [left, n_fft - win_length - left])


def _check_stft(self: Any, rows: Any, n_fft: int, hop: int, win_length: int, window: Any, told: str) -> None:
    if self.dtype.category < 2:
        raise RuntimeError(f"{told}expected a tensor of floating point or complex values")
    if self.dim() > 2 or self.dim() < 1:
        raise RuntimeError(f"{told}expected a 1D or 2D tensor")
    if not 0 < n_fft <= rows.shape[-1]:
        raise RuntimeError(f"{told}expected 0 < n_fft < {rows.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{told}expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{told}expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and tuple(window.shape) != (win_length,):
        raise RuntimeError(
            f"{told}expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{sizes(window.shape)}"
        )


_warned: set[str] = set()


def _warn_of_missing_window(function: str, advice: str) -> None:
    """Once in a process for each function."""
    if function not in _warned:
        _warned.add(function)
        warnings.warn(
            f"A window was not provided. A rectangular window will be applied{advice}", UserWarning, stacklevel=5
        )


@composite("stft")
def stft(
    self: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Any:
    is_complex = self.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    hop, length = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    told = (
        f"stft(torch.{type_word(self.dtype)}Tensor{sizes(self.shape)}, n_fft={n_fft}, hop_length={hop}, "
        f"win_length={length}, "
        f"window={_window_text(window)}, normalized={_word(normalized)}, onesided={_word(onesided)}, "
        f"return_complex={_word(return_complex)}, align_to_window={_word(align_to_window)}) : "
    )
    rows = aten.unsqueeze(self, 0) if self.dim() == 1 else self
    _check_stft(self, rows, n_fft, hop, length, window, told)
    if align_to_window and length < n_fft:
        raise NotImplementedError(
            "stft: align_to_window=True with win_length < n_fft is not implemented; pass align_to_window=None"
        )
    if is_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if window is None:
        _warn_of_missing_window(
            "stft",
            ",which is known to cause spectral leakage. Other windows such as torch.hann_window or "
            "torch.hamming_window are recommended to reduce spectral leakage.To suppress this warning and use a "
            "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.",
        )
    frames = aten.unfold(rows, -1, n_fft, hop)
    if window is not None or length < n_fft:
        frames = aten.mul(frames, _padded_window(window, length, n_fft, self))
    scale = 1 if normalized else 0
    if is_complex:
        spectrum = aten._fft_c2c(frames, [frames.dim() - 1], scale, True)
    else:
        spectrum = aten._fft_r2c(frames, [frames.dim() - 1], scale, onesided is not False)
    spectrum = aten.transpose_(spectrum, 1, 2)
    if self.dim() == 1:
        spectrum = aten.squeeze_(spectrum, 0)
    return spectrum if return_complex is not False else aten.view_as_real(spectrum)


def _check_istft(
    self: Any, n_fft: int, hop: int, win_length: int, window: Any, onesided: bool | None, told: str
) -> bool:
    """RuntimeError for what cannot be transformed back. Returns whether the spectrum is one-sided."""
    if not self.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if self.numel() == 0:
        raise RuntimeError(f"{told} : input tensor cannot be empty.")
    if self.dim() not in (2, 3):
        raise RuntimeError(f"{told} : expected a tensor with 3 or 4 dimensions, but got {self.dim() + 1}")
    bins = self.shape[-2]
    one_sided = onesided if onesided is not None else bins != n_fft
    if one_sided and bins != n_fft // 2 + 1:
        raise RuntimeError(
            f"{told} : expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 "
            f"when onesided=True, but got {bins}"
        )
    if not one_sided and bins != n_fft:
        raise RuntimeError(
            f"{told} : expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
            f"onesided=False, but got {bins}"
        )
    if not 0 < hop <= win_length:
        raise RuntimeError(f"{told} : expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{told} : expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (win_length,):
        raise RuntimeError(f"{told} : Invalid window shape. window has to be 1D and length of `win_length`")
    return one_sided


def _overlap_add(frames: Any, total: int, n_fft: int, hop: int) -> Any:
    """The sum of frames of shape [batch, frames, n_fft] at their positions in a signal of `total` points."""
    return aten.unfold_backward(frames, [frames.shape[0], total], 1, n_fft, hop)


@composite("istft")
def istft(
    self: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Any:
    hop, size = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    told = (
        f"istft(CPU{type_word(self.dtype)}Type{sizes(self.shape)}, n_fft={n_fft}, hop_length={hop}, win_length={size}, "
        f"window={_window_text(window)}, center={int(center)}, normalized={int(normalized)}, "
        f"onesided={_word(onesided)}, length={length}, return_complex={int(return_complex)})"
    )
    one_sided = _check_istft(self, n_fft, hop, size, window, onesided, told)
    if one_sided and return_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if window is None:
        _warn_of_missing_window(
            "istft",
            ".Please provide the same window used by stft to make the inversion lossless.To suppress this warning and "
            "use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.",
        )
    shape = _padded_window(window, size, n_fft, self)
    spectrum = aten.transpose(aten.unsqueeze(self, 0) if self.dim() == 2 else self, 1, 2)
    scale = 1 if normalized else 2
    if return_complex:
        frames = aten._fft_c2c(spectrum, [2], scale, False)
    else:
        half = spectrum if one_sided else aten.slice(spectrum, -1, 0, n_fft // 2 + 1)
        frames = aten._fft_c2r(half, [2], scale, n_fft)
    count = frames.shape[1]
    total = n_fft + hop * (count - 1)
    signal = _overlap_add(aten.mul(frames, aten.view(shape, [1, 1, n_fft])), total, n_fft, hop)
    weight = _overlap_add(
        aten.expand(aten.view(aten.pow(shape, 2), [1, 1, n_fft]), [1, count, n_fft]), total, n_fft, hop
    )
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal, weight = aten.slice(signal, 1, start, end), aten.slice(weight, 1, start, end)
    lowest = aten.min(aten.abs(weight))
    if not weight.is_meta and not bool(lowest > 1e-11):
        raise RuntimeError(f"{told} window overlap add min: 1")
    signal = aten.div(signal, weight)
    if self.dim() == 2:
        signal = aten.squeeze(signal, 0)
    return aten.constant_pad_nd(signal, [0, end - max(total, start)]) if end > total else signal


# --- windows
def _points(name: str, window_length: int, periodic: bool, dtype: dt.dtype | None, device: Any, layout: Any) -> Any:
    """(count, 0 ... window_length - 1 as a tensor, or None for a window of at most one point, its type)."""
    kind, where = dtype or dt.get_default_dtype(), _device.resolve(device)
    if not kind.is_floating_point:
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={kind.cpp_name}, device={where}, "
            "layout=Strided (default), requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))"
        )
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    count = window_length + 1 if periodic and window_length > 1 else window_length
    if window_length <= 1:
        return count, None, aten.ones([window_length], dtype=kind, device=where)
    return count, aten.arange(count, dtype=kind, device=where), None


def _cut(window: Any, count: int, window_length: int) -> Any:
    return aten.narrow(window, 0, 0, window_length) if count != window_length else window


def _cosine_sum(
    name: str, window_length: int, periodic: bool, factors: tuple[float, ...], dtype: Any, layout: Any, device: Any
) -> Any:
    """factors[0] - factors[1] * cos(x) + factors[2] * cos(2 * x), with x from 0 to a whole turn."""
    count, points, short = _points(name, window_length, periodic, dtype, device, layout)
    if points is None:
        return short
    angle = aten.mul_(points, 2.0 * math.pi / (count - 1))
    second = aten.mul_(aten.cos(aten.mul(angle, 2.0)), factors[2]) if len(factors) > 2 else None
    window = aten.add_(aten.mul_(aten.cos_(angle), -factors[1]), factors[0])
    return _cut(window if second is None else aten.add_(window, second), count, window_length)


@composite("hann_window.periodic")
def hann_window(window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return _cosine_sum("hann_window", window_length, periodic, (0.5, 0.5), dtype, layout, device)


@composite("hamming_window.periodic_alpha_beta")
def hamming_window(
    window_length: int, periodic: bool, alpha: float, beta: float, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return _cosine_sum("hamming_window", window_length, periodic, (alpha, beta), dtype, layout, device)


@composite("hamming_window.periodic_alpha")
def hamming_window_alpha(
    window_length: int, periodic: bool, alpha: float, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return hamming_window(window_length, periodic, alpha, 0.46, dtype, layout, device, pin_memory)


@composite("hamming_window.periodic")
def hamming_window_periodic(
    window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return hamming_window(window_length, periodic, 0.54, 0.46, dtype, layout, device, pin_memory)


@composite("blackman_window.periodic")
def blackman_window(window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return _cosine_sum("blackman_window", window_length, periodic, (0.42, 0.5, 0.08), dtype, layout, device)


@composite("bartlett_window.periodic")
def bartlett_window(window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    count, points, short = _points("bartlett_window", window_length, periodic, dtype, device, layout)
    if points is None:
        return short
    rise = aten.mul_(points, 2.0 / (count - 1))
    return _cut(aten.where(rise > 1, 2.0 - rise, rise), count, window_length)


@composite("kaiser_window.beta")
def kaiser_window(
    window_length: int, periodic: bool, beta: float, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    count, points, short = _points("kaiser_window", window_length, periodic, dtype, device, layout)
    if points is None:
        return short
    x = aten.sub(aten.mul_(points, 2.0 / (count - 1)), 1.0)
    window = aten.div(
        aten.i0(aten.mul(aten.sqrt(aten.clamp(1.0 - aten.mul(x, x), 0.0)), beta)),
        aten.i0(aten.full([], beta, dtype=x.dtype, device=x.device)),
    )
    return _cut(window, count, window_length)


@composite("kaiser_window.periodic")
def kaiser_window_periodic(
    window_length: int, periodic: bool, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return kaiser_window(window_length, periodic, 12.0, dtype, layout, device, pin_memory)


def _declare_default(name: str) -> None:
    """The overload without `periodic`: windows are periodic unless told otherwise."""

    @composite(f"{name}_window")
    def window(window_length: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
        return aten.overload(f"{name}_window.periodic")(window_length, True, dtype=dtype, layout=layout, device=device)


for _name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
    _declare_default(_name)
