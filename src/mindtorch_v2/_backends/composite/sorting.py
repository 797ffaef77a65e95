"""Sorting ops that are made of others."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..._dispatch.registry import composite


@composite("argsort")
def argsort(self: Any, dim: int, descending: bool) -> Any:
    return aten.sort(self, dim, descending)[1]


@composite("argsort.stable")
def argsort_stable(self: Any, stable: bool, dim: int, descending: bool) -> Any:
    return aten.sort(self, stable=stable, dim=dim, descending=descending)[1]


@composite("msort")
def msort(self: Any) -> Any:
    return aten.sort(self, 0, False)[0]
