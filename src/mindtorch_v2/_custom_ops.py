"""Older names of `torch.library`, which libraries still import."""

from __future__ import annotations

from .library import get_ctx

__all__ = ["get_ctx"]
