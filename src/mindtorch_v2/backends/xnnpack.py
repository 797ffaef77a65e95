"""A library for inference on small processors: not used here."""

from __future__ import annotations

enabled = False
