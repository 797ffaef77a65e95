"""Discrete Fourier transforms: `torch.fft`."""

from __future__ import annotations

from ._python.install import NamespaceModule as _NamespaceModule

__getattr__, __dir__ = _NamespaceModule("fft", "fft_").hooks(globals())
