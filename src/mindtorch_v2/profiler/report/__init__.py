"""The report: one self-contained page that shows a profile. `write` makes it from stores."""

from __future__ import annotations

from .page import write

__all__ = ["write"]
