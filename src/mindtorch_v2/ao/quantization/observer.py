"""Observers: modules that watch tensors pass and say which scale and zero point suit their values."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

from ..._dispatch import aten
from ..._python.creation import tensor
from ..._python.quantized_types import (
    per_channel_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
)
from ..._tensor import Tensor
from ...nn.modules.module import Module

__all__ = [
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_weight_observer",
]


class ObserverBase(Module):
    """What all observers have: the type that values are to be quantised to. Calling one gives its input back."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def calculate_qparams(self) -> Any:
        """Scale and zero point."""
        raise RuntimeError(f"{type(self).__name__} computes no scale and zero point")

    @classmethod
    def with_args(cls, **kwargs: Any) -> Any:
        """A function that makes observers with these settings."""
        made = partial(cls, **kwargs)
        return _Factory(made)


class _Factory:
    """A function that makes observers, with `with_args` for more settings."""

    def __init__(self, function: partial[Any]) -> None:
        self.p = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.p(*args, **kwargs)

    def with_args(self, **kwargs: Any) -> _Factory:
        """The same with further settings."""
        return _Factory(partial(self.p, **kwargs))

    def __repr__(self) -> str:
        return repr(self.p)


class PlaceholderObserver(ObserverBase):
    """Watches nothing: it only carries the type."""

    def __init__(self, dtype: Any = None, custom_op_name: str = "", is_dynamic: bool = False, **settings: Any) -> None:
        from ... import float32

        super().__init__(float32 if dtype is None else dtype, is_dynamic)
        self.custom_op = custom_op_name

    def forward(self, x: Any) -> Any:
        return x


class NoopObserver(ObserverBase):
    """Watches nothing."""

    def __init__(self, dtype: Any = None, custom_op_name: str = "") -> None:
        from ... import float16

        super().__init__(float16 if dtype is None else dtype)
        self.custom_op = custom_op_name

    def forward(self, x: Any) -> Any:
        return x


class MinMaxObserver(ObserverBase):
    """Remembers the smallest and the largest value.

    >>> watch = torch.ao.quantization.MinMaxObserver(dtype=torch.quint8)
    >>> _ = watch(torch.tensor([-1.0, 0.0, 1.55]))
    >>> watch.calculate_qparams()
    (tensor([0.0100]), tensor([100], dtype=torch.int32))
    """

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        dtype: Any = quint8,
        qscheme: Any = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Any = None,
        eps: float = 2.0**-23,
        *,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if qscheme not in (per_tensor_affine, per_tensor_symmetric, per_channel_affine, per_channel_symmetric):
            raise NotImplementedError(f"{type(self).__name__} does not have the scheme {qscheme}")
        super().__init__(dtype, is_dynamic)
        self.qscheme, self.reduce_range, self.eps = qscheme, reduce_range, eps
        if quant_min is None or quant_max is None:
            quant_min, quant_max = (
                (-128, 127) if str(dtype).endswith("qint8") or str(dtype) == "torch.int8" else (0, 255)
            )
            if reduce_range:
                quant_min, quant_max = quant_min // 2, quant_max // 2
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("min_val", tensor(float("inf")))
        self.register_buffer("max_val", tensor(float("-inf")))

    def _extremes(self, x: Tensor) -> Any:
        return aten.aminmax(x)

    def _joined(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        return aten.minimum(low, self.min_val), aten.maximum(high, self.max_val)

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            low, high = self._extremes(x_orig.detach().to(self.min_val.dtype))
            self.min_val, self.max_val = self._joined(low, high)
        return x_orig

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Scale and zero point for the values seen."""
        from ... import int32, int64, zeros_like

        low, high = self.min_val, self.max_val
        if not low.numel() or bool((low > high).any()):
            return tensor([1.0]), tensor([0])
        low, high = low.clamp(max=0), high.clamp(min=0)
        steps = float(self.quant_max - self.quant_min)
        if self.qscheme in (per_tensor_symmetric, per_channel_symmetric):
            scale = (aten.maximum(-low, high) / (steps / 2)).clamp(min=self.eps)
            middle = (self.quant_min + self.quant_max + 1) // 2 if self.dtype == quint8 else 0
            zero = zeros_like(scale).to(int64) + middle
        else:
            scale = ((high - low) / steps).clamp(min=self.eps)
            zero = (self.quant_min - (low / scale).round().to(int32)).clamp(self.quant_min, self.quant_max)
        return scale.reshape(-1), zero.reshape(-1)

    def reset_min_max_vals(self) -> None:
        """Forgets what was seen."""
        self.min_val, self.max_val = tensor(float("inf")), tensor(float("-inf"))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Remembers moving averages of the extremes of each tensor that passes."""

    def __init__(self, averaging_constant: float = 0.01, dtype: Any = quint8, **settings: Any) -> None:
        super().__init__(dtype=dtype, **settings)
        self.averaging_constant = averaging_constant

    def _joined(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        if bool(self.min_val > self.max_val):
            return low, high
        part = self.averaging_constant
        return self.min_val + part * (low - self.min_val), self.max_val + part * (high - self.max_val)


class PerChannelMinMaxObserver(MinMaxObserver):
    """Remembers the extremes of each channel."""

    def __init__(
        self, ch_axis: int = 0, dtype: Any = quint8, qscheme: Any = per_channel_affine, **settings: Any
    ) -> None:
        super().__init__(dtype=dtype, qscheme=qscheme, **settings)
        self.ch_axis = ch_axis

    def _extremes(self, x: Tensor) -> Any:
        return aten.aminmax(x.transpose(0, self.ch_axis).flatten(1), dim=1)


class HistogramObserver(ObserverBase):
    """Refused: static quantisation, which needs it, is not here."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("HistogramObserver is for static quantisation, which is not here; see MinMaxObserver")


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=qint8, qscheme=per_channel_symmetric)
default_placeholder_observer = PlaceholderObserver
