"""`torch.stft` as programs call it: the signal is padded so that frames are centered. Importing this module puts it
in front of the op of that name.
"""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._dispatch.namespace import fronts
from .._tensor import Tensor


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The short-time Fourier transform of signals [time] or [batch, time]: [batch, frequency, frame].

    With `center`, frame t is centered at `t * hop_length`, for which the signal is padded on both sides by `n_fft //
    2` points.

    >>> torch.stft(torch.ones(8), n_fft=4, window=torch.ones(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    if center:
        if align_to_window:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        lead = 3 - input.dim()
        sides = n_fft // 2
        padded = aten.pad(aten.view(input, [1] * lead + list(input.shape)), [sides, sides], pad_mode)
        input = aten.view(padded, list(padded.shape[lead:]))
    return aten.overload("stft")(
        input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window
    )


FUNCTIONS: dict[str, Any] = {"stft": stft}
fronts.update(FUNCTIONS)
