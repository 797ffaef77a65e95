"""Layers with weights of 8 or 16 bits, whose inputs are quantised when they come."""

from __future__ import annotations

from typing import Any

from ....._dispatch import aten
from ....._dtype import int8
from ....._tensor import Tensor
from .....nn.modules.module import Module

__all__ = ["Linear"]
_LEVELS = 127  # of inputs: seven bits, so that sums of products of pairs fit into 16 bits, as on PyTorch's x86 engines


class Linear(Module):
    """A linear layer with a weight of 8-bit integers. Each input is brought to seven bits by its own extremes; products
    are summed exactly and scaled back. `torch.ao.quantization.quantize_dynamic` makes them.

    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> _ = torch.nn.init.constant_(layer.weight, 0.5)
    >>> small = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(layer))[0]
    >>> small.weight_integers
    tensor([[127, 127]], dtype=torch.int8)
    """

    weight_integers: Tensor
    weight_scale: Tensor

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features, self.dtype = in_features, out_features, dtype

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """The layer for a float layer, whose `qconfig` says how its weight is quantised."""
        observer = mod.qconfig.weight()
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        weight, bias = mod.weight.detach(), mod.bias
        if observer.dtype.is_floating_point:
            made.register_buffer("weight_half", weight.to(observer.dtype))
        else:
            observer(weight)
            scale, zero = observer.calculate_qparams()
            if bool((zero != 0).any()):
                raise NotImplementedError("weights are quantised symmetrically here (a zero point of 0)")
            shape = (-1, 1) if scale.numel() > 1 else ()
            integers = (weight / scale.reshape(shape)).round().clamp(observer.quant_min, observer.quant_max)
            made.register_buffer("weight_integers", integers.to(int8))
            made.register_buffer("weight_scale", scale)
        made.register_buffer("bias", None if bias is None else bias.detach().clone())
        made.training = mod.training
        return made

    def weight(self) -> Tensor:
        """The weight as floats. (PyTorch gives a quantised tensor.)"""
        if "weight_half" in self._buffers:
            return self.weight_half.float()  # type: ignore[operator, union-attr]
        scale = self.weight_scale
        return self.weight_integers.float() * (scale.reshape(-1, 1) if scale.numel() > 1 else scale)

    def forward(self, x: Tensor) -> Tensor:
        from .....nn import functional as F

        if "weight_half" in self._buffers:
            return F.linear(x, self.weight(), self.bias)  # type: ignore[arg-type]
        low, high = (float(v) for v in aten.aminmax(x)) if x.numel() else (0.0, 0.0)
        low, high = min(low, 0.0), max(high, 0.0)
        step = (high - low) / _LEVELS or 1.0
        zero = round(-low / step)
        integers = ((x / step).round() + zero).clamp(0, _LEVELS) - zero
        sums = F.linear(integers, self.weight_integers.to(x.dtype)) * (self.weight_scale.to(x.dtype) * step)
        return sums if self.bias is None else sums + self.bias  # type: ignore[operator]

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        """Sizes and the type of the weight."""
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.dtype}"
