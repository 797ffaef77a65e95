"""NVIDIA's library for layers: not available. Settings are kept."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .. import _dtype as _dt
from . import _settings
from ._settings import Bool, Precision

CUDNN_TENSOR_DTYPES = {_dt.float16, _dt.float32, _dt.float64}
conv, rnn = _settings.operation("cudnn.conv"), _settings.operation("cudnn.rnn")


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None: there is no such library."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """False: no tensor is on a CUDA device."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
    _depthwise_kernel: str | None = None,
) -> tuple[Any, ...]:
    """Changes the settings that are given; returns all of them as they were before."""
    module = sys.modules[__name__]
    values = {
        "enabled": _enabled,
        "benchmark": _benchmark,
        "benchmark_limit": _benchmark_limit,
        "deterministic": _deterministic,
        "allow_tf32": _allow_tf32,
        "fp32_precision": _fp32_precision,
        "depthwise_kernel": _depthwise_kernel,
    }
    before = tuple(getattr(module, name) for name in values)
    for name, value in values.items():
        if value is not None and (name != "fp32_precision" or value != "none"):
            setattr(module, name, value)
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> Iterator[None]:
    """A block with these settings."""
    with _settings.allow_changes():
        before = set_flags(
            enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision, depthwise_kernel
        )
    try:
        yield
    finally:
        with _settings.allow_changes():
            set_flags(*before)


class _Cudnn(ModuleType):
    enabled = Bool(True, "cudnn", "enabled_cudnn")
    benchmark = Bool(False, "cudnn", "benchmark_cudnn")
    deterministic = Bool(False, "cudnn", "deterministic_cudnn")
    fp32_precision = Precision("cudnn")
    benchmark_limit: int | None = None
    depthwise_kernel: str = "auto"

    @property
    def allow_tf32(self) -> bool:
        """Whether convolutions may round float32 numbers to 19 bits."""
        return _settings.precision["cudnn.conv"] == "tf32"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        _settings.check_not_frozen("cudnn")
        if not isinstance(value, bool):
            raise RuntimeError(f"set_allow_tf32_cuDNN expects a bool, but got {type(value).__name__}")
        _settings.precision["cudnn.conv"] = _settings.precision["cudnn.rnn"] = "tf32" if value else "none"


_settings.become(sys.modules[__name__], _Cudnn)
