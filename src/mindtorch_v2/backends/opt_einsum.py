"""The package opt_einsum, which finds a good order for `torch.einsum` of more than two tensors, where it is
installed.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .._python.einsum_paths import Setting, is_available
from . import _settings


def get_opt_einsum() -> Any:
    """The package, or None."""
    if not is_available():
        return None
    from importlib import import_module

    return import_module("opt_einsum")


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[bool, str | None]:
    """Changes the settings that are given; returns both as they were before."""
    module: Any = sys.modules[__name__]
    before = (module.enabled, module.strategy)
    if _enabled is not None:
        module.enabled = _enabled
    if _strategy is not None:
        module.strategy = _strategy
    return before


@contextlib.contextmanager
def flags(enabled: bool | None = None, strategy: str | None = None) -> Iterator[None]:
    """A block with these settings."""
    with _settings.allow_changes():
        before = set_flags(enabled, strategy)
    try:
        yield
    finally:
        with _settings.allow_changes():
            set_flags(*before)


class _OptEinsum(ModuleType):
    @property
    def enabled(self) -> bool:
        """Whether the package is used; at first, if it is installed."""
        return is_available() if Setting.enabled is None else Setting.enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        _settings.check_not_frozen("opt_einsum")
        if value and not is_available():
            raise ValueError(
                f"opt_einsum is not available, so setting `enabled` to {value} will not reap the benefits of "
                "calculating an optimal path for einsum. torch.einsum will fall back to contracting from left to "
                "right. To enable this optimal path calculation, please install opt-einsum."
            )
        Setting.enabled = bool(value)

    @property
    def strategy(self) -> str | None:
        """How orders are searched: "auto", "greedy" or "optimal"; None without the package."""
        return (Setting.strategy or "auto") if is_available() else None

    @strategy.setter
    def strategy(self, value: str | None) -> None:
        _settings.check_not_frozen("opt_einsum")
        if value is not None and not is_available():
            raise ValueError(
                f"opt_einsum is not available, so setting `strategy` to {value} will not be meaningful. torch.einsum "
                "will bypass path calculation and simply contract from left to right. Please install opt_einsum or "
                "unset `strategy`."
            )
        if value not in (None, "auto", "greedy", "optimal"):
            raise ValueError(f"`strategy` must be one of the following: [auto, greedy, optimal] but is {value}")
        Setting.strategy = value


_settings.become(sys.modules[__name__], _OptEinsum)
