"""Windows of signal processing: `torch.signal.windows`.

A window has M points. It is symmetric (`sym=True`, for filters) or one period of a periodic function (`sym=False`,
for spectra).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ... import _dtype as dt
from ..._dispatch.namespace import public
from ..._python.creation import tensor
from ..._tensor import Tensor, strided

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _check(name: str, M: int, dtype: dt.dtype | None, layout: Any) -> dt.dtype:
    """The type of the window; ValueError for a length, layout or type that there is no window of."""
    kind = dtype or dt.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if kind not in (dt.float32, dt.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    return kind


def _range(M: int, sym: bool, low: float, high: float, kind: dt.dtype, device: Any, requires_grad: bool) -> Tensor:
    """M points that reach `high` at the last one (symmetric), or would at one after it (periodic)."""
    step = 0.0 if M == 1 else (high - low) / (M - 1 if sym else M)
    return public.linspace(low, low + step * (M - 1), M, dtype=kind, device=device, requires_grad=requires_grad)


def _empty(M: int, kind: dt.dtype, device: Any, requires_grad: bool) -> Tensor:
    return public.empty((M,), dtype=kind, device=device, requires_grad=requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-|n - center| / tau).

    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    kind = _check("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return _empty(M, kind, device, requires_grad)
    middle = (M if not sym and M > 1 else M - 1) / 2 if center is None else center
    points = public.linspace(
        -middle / tau, (-middle + M - 1) / tau, M, dtype=kind, device=device, requires_grad=requires_grad
    )
    return public.exp(-public.abs(points))


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """sin(pi * (n + 0.5) / M), half a wave.

    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    kind = _check("cosine", M, dtype, layout)
    if M == 0:
        return _empty(M, kind, device, requires_grad)
    step = math.pi / (M if sym or M == 1 else M + 1)
    points = public.linspace(0.5 * step, (M - 0.5) * step, M, dtype=kind, device=device, requires_grad=requires_grad)
    return public.sin(points)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-(n / std)^2 / 2), n counted from the middle.

    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    kind = _check("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return _empty(M, kind, device, requires_grad)
    scale = 1 / (std * math.sqrt(2))
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    points = public.linspace(
        start * scale, (start + M - 1) * scale, M, dtype=kind, device=device, requires_grad=requires_grad
    )
    return public.exp(-(points**2))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """I0(beta * sqrt(1 - x^2)) / I0(beta), x from -1 to 1.

    >>> torch.signal.windows.kaiser(3)
    tensor([5.2773e-05, 1.0000e+00, 5.2773e-05])
    """
    kind = _check("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M == 0:
        return _empty(M, kind, device, requires_grad)
    if M == 1:
        return public.ones((1,), dtype=kind, device=device, requires_grad=requires_grad)
    points = _range(M, sym, -beta, beta, kind, device, requires_grad)
    root = public.sqrt(public.clamp(beta**2 - public.pow(points, 2), min=0.0))
    return public.i0(root) / public.i0(public.full((), beta, dtype=kind, device=device))


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """1 - |x|, x from -1 to 1: a triangle.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    kind = _check("bartlett", M, dtype, layout)
    if M == 0:
        return _empty(M, kind, device, requires_grad)
    if M == 1:
        return public.ones((1,), dtype=kind, device=device, requires_grad=requires_grad)
    return 1 - public.abs(_range(M, sym, -1.0, 1.0, kind, device, requires_grad))


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """a[0] - a[1] cos(x) + a[2] cos(2 x) - ..., x over one turn.

    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    kind = _check("general_cosine", M, dtype, layout)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    factors = list(a)
    if not factors:
        raise ValueError("Coefficients cannot be empty")
    if M == 0:
        return _empty(M, kind, device, requires_grad)
    if M == 1:
        return public.ones((1,), dtype=kind, device=device, requires_grad=requires_grad)
    angle = _range(M, sym, 0.0, 2 * math.pi, kind, device, requires_grad)
    signed = tensor([factor * (-1) ** i for i, factor in enumerate(factors)], dtype=kind, device=device)
    multiples = public.arange(len(factors), dtype=kind, device=device)
    return public.sum(signed.unsqueeze(-1) * public.cos(multiples.unsqueeze(-1) * angle), 0)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) cos(x).

    >>> torch.signal.windows.general_hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.54 - 0.46 cos(x).

    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.5 - 0.5 cos(x).

    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.42 - 0.5 cos(x) + 0.08 cos(2 x).

    >>> torch.signal.windows.blackman(3, dtype=torch.float64).shape
    torch.Size([3])
    """
    _check("blackman", M, dtype, layout)
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: dt.dtype | None = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of four cosines, after Nuttall.

    >>> torch.signal.windows.nuttall(5).shape
    torch.Size([5])
    """
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )
