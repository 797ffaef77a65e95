"""`torch.distributed._composable`: where programs before PyTorch 2.6 find `fully_shard`."""

from __future__ import annotations

from ..fsdp import fully_shard

__all__ = ["fully_shard"]
