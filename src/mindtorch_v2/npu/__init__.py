"""Ascend NPU: `torch.npu`. This version has no backend; the questions are answered truthfully."""
from __future__ import annotations

from .._npu_missing import explain_missing

__all__ = ["current_device", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether an NPU can be used. Never raises."""
    return False


def device_count() -> int:
    """How many NPUs can be used."""
    return 0


def current_device() -> int:
    raise RuntimeError(explain_missing())


def synchronize(device: object = None) -> None:
    raise RuntimeError(explain_missing())
