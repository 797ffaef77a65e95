"""`torch.distributed.tensor.experimental`: functions of what each process holds."""

from __future__ import annotations

from ._local_map import local_map

__all__ = ["local_map"]
