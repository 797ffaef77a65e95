"""`torch.utils.data.datapipes`: streams and maps of samples that are built from others."""

from __future__ import annotations

from . import iter, map  # noqa: A004 - PyTorch's names

__all__ = ["iter", "map"]
