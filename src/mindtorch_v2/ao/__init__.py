"""`torch.ao`: quantisation of layers, as far as it needs no quantised tensors."""

from __future__ import annotations

from .._lazy_parts import lazy_parts as _lazy_parts

__all__ = ["nn", "quantization"]


__getattr__, __dir__ = _lazy_parts(__name__, __all__)
