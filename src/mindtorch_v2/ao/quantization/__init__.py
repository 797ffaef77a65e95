"""`torch.ao.quantization`: dynamic quantisation of linear layers, observers, and the marks of quantisable models.

Static quantisation and training towards it are refused: they compute on quantised tensors.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .fuse_modules import fuse_modules
from .observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_weight_observer,
)
from .qconfig import (
    QConfig,
    default_dynamic_qconfig,
    default_qconfig,
    float16_dynamic_qconfig,
    per_channel_dynamic_qconfig,
)
from .quantize import convert, prepare, prepare_qat, quantize_dynamic
from .stubs import DeQuantStub, QuantStub, QuantWrapper

__all__ = [
    "DeQuantStub",
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "QConfig",
    "QuantStub",
    "QuantWrapper",
    "convert",
    "default_dynamic_qconfig",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_qconfig",
    "default_weight_observer",
    "float16_dynamic_qconfig",
    "fuse_modules",
    "per_channel_dynamic_qconfig",
    "prepare",
    "prepare_qat",
    "quantize_dynamic",
]


def __getattr__(name: str) -> Any:
    if name in ("fuse_modules_qat", "get_default_qconfig", "get_default_qat_qconfig", "quantize", "quantize_qat"):

        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise NotImplementedError(f"torch.ao.quantization.{name} is for static quantisation, which is not here")

        return refuse
    raise AttributeError(f"module 'torch.ao.quantization' has no attribute '{name}'")
