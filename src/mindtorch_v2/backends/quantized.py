"""Engines for quantised layers: there are none."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from . import _settings

supported_engines: list[str] = []


class _Quantized(ModuleType):
    @property
    def engine(self) -> str:
        """ "none": layers are not computed on quantised numbers here."""
        return "none"

    @engine.setter
    def engine(self, value: Any) -> None:
        if value != "none":
            raise RuntimeError(
                f"{value} is not a valid value for quantized engine: layers are not computed on quantised numbers here"
            )


_settings.become(sys.modules[__name__], _Quantized)
