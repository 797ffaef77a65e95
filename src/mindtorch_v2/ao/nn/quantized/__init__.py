"""`torch.ao.nn.quantized`: the functions of quantisable models as modules. Layers on quantised tensors are not here."""

from __future__ import annotations

from . import dynamic
from .functional_modules import FloatFunctional

__all__ = ["FloatFunctional", "dynamic"]
