"""Operators of other projects' compiled libraries that are written here, so that the package around them can be used.

torchaudio asks its library at import which parts it was built with, and takes two loops from it. The rest of its
operators is not here, and says so when it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor import Tensor
from .registry import OPERATORS, define


def _no_alignment() -> bool:
    """Whether torchaudio's alignment was built: no."""
    return False


def _no_cuda() -> None:
    """The CUDA that torchaudio was built for: none."""


def _filter_loop(windows: Tensor, coefficients: Tensor, output: Tensor) -> None:
    """A recursive filter: each sample less the products of the last outputs, for (batch, channel, time)."""
    samples, taps, out = windows.detach().numpy(), coefficients.detach().numpy(), output.detach().numpy()
    order = taps.shape[1]
    for t in range(samples.shape[2]):
        past = np.einsum("bck,ck->bc", out[:, :, t : t + order], taps)
        out[:, :, t + order - 1] = samples[:, :, t] - past


def _overdrive_loop(wave: Tensor, drive: Tensor, last_in: Tensor, last_out: Tensor, output: Tensor) -> None:
    """The overdriven signal: a high-pass filter of the distorted wave, mixed with the wave itself."""
    clean, bent, out = wave.detach().numpy(), drive.detach().numpy(), output.detach().numpy()
    before, state = last_in.detach().numpy(), last_out.detach().numpy()
    for t in range(clean.shape[-1]):
        state = bent[:, t] - before + 0.995 * state
        before = bent[:, t]
        out[:, t] = clean[:, t] * 0.5 + state * 0.75


_TORCHAUDIO: dict[str, tuple[str, Callable[..., Any]]] = {
    "_torchaudio::is_align_available() -> bool": ("", _no_alignment),
    "_torchaudio::cuda_version() -> int?": ("", _no_cuda),
    "torchaudio::_lfilter_core_loop(Tensor windows, Tensor coefficients, Tensor(a!) output) -> ()": (
        "cpu",
        _filter_loop,
    ),
    "torchaudio::_overdrive_core_loop(Tensor wave, Tensor drive, Tensor last_in, Tensor last_out, Tensor(a!) output)"
    " -> ()": ("cpu", _overdrive_loop),
}
_LIBRARIES = {"_torchaudio": _TORCHAUDIO, "libtorchaudio": _TORCHAUDIO}


def define_library(path: Any) -> bool:
    """Defines the operators of a library that are written here. False for a library of which none are."""
    wanted = _LIBRARIES.get(os.path.basename(os.fspath(path)).partition(".")[0])
    for declaration, (device, function) in (wanted or {}).items():
        space, _, rest = declaration.partition("::")
        if f"{space}::{rest.partition('(')[0]}" not in OPERATORS:
            define(space, rest).kernels[device] = function
    return wanted is not None
