"""Tensors without data that PyTorch's compiler runs programs on. The meta device has such tensors here."""

from __future__ import annotations

from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
