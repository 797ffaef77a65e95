"""oneDNN, Intel's library for layers: used where it is installed. Settings of precision are only kept."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from . import _settings
from ._settings import Bool, Precision

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
conv, rnn, matmul = (_settings.operation(f"mkldnn.{n}") for n in ("conv", "rnn", "matmul"))


def is_available() -> bool:
    """Whether oneDNN was found: `pip install 'mindtorch_v2[fast]'` brings it."""
    from .._backends.onednn import library

    return library.version() is not None


def is_acl_available() -> bool:
    """False."""
    return False


class verbose:
    """A block in which that library would tell what it does; it is not used, so nothing is told."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        return None


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:
    """Changes the settings that are given; returns all of them as they were before."""
    module: Any = sys.modules[__name__]
    before = (module.enabled, module.deterministic, module.allow_tf32, module.fp32_precision)
    if _enabled is not None:
        module.enabled = _enabled
    if _deterministic is not None:
        module.deterministic = _deterministic
    if _fp32_precision != "none":
        module.fp32_precision = _fp32_precision
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> Iterator[None]:
    """A block with these settings."""
    with _settings.allow_changes():
        before = set_flags(enabled, deterministic, None, fp32_precision)
    try:
        yield
    finally:
        with _settings.allow_changes():
            set_flags(before[0], before[1], None, before[3])


class _Enabled(Bool):
    """Whether operators may use oneDNN."""

    def __set__(self, module: Any, value: Any) -> None:
        super().__set__(module, value)
        from .._backends.onednn import library

        if library.native is not None:
            library.native.set_enabled(value)


class _Mkldnn(ModuleType):
    enabled = _Enabled(True, "mkldnn", "enabled_mkldnn")
    deterministic = Bool(False, "mkldnn", "deterministic_mkldnn")
    fp32_precision = Precision("mkldnn")

    @property
    def allow_tf32(self) -> None:
        """None: no device rounds float32 numbers to 19 bits."""
        return None

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        warnings.warn(
            "TF32 acceleration on top of oneDNN is available for Intel GPUs. The current Torch version does not have "
            "Intel GPU Support.",
            stacklevel=2,
        )


_settings.become(sys.modules[__name__], _Mkldnn)
