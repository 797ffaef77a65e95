"""Differences from torch_npu that are wanted, with their reasons. Patterns match `/program/path`."""
from __future__ import annotations

KNOWN: dict[str, str] = {
}
