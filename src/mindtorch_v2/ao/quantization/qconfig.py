"""How a layer is quantised: which observers its results and its weight get."""

from __future__ import annotations

from collections import namedtuple

from ... import float16
from ..._python.quantized_types import quint8
from .observer import (
    PlaceholderObserver,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = [
    "QConfig",
    "default_dynamic_qconfig",
    "default_qconfig",
    "float16_dynamic_qconfig",
    "per_channel_dynamic_qconfig",
]


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Two functions that make observers: for a layer's results, and for its weight."""

    __slots__ = ()


_dynamic = PlaceholderObserver.with_args(dtype=quint8, is_dynamic=True)
default_qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
default_dynamic_qconfig = QConfig(activation=_dynamic, weight=default_weight_observer)
per_channel_dynamic_qconfig = QConfig(activation=_dynamic, weight=default_per_channel_weight_observer)
float16_dynamic_qconfig = QConfig(
    activation=PlaceholderObserver.with_args(dtype=float16, is_dynamic=True),
    weight=PlaceholderObserver.with_args(dtype=float16),
)
