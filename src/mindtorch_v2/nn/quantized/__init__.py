"""`torch.nn.quantized`: the old name of `torch.ao.nn.quantized`."""

from __future__ import annotations

from ...ao.nn.quantized import FloatFunctional, dynamic

__all__ = ["FloatFunctional", "dynamic"]
