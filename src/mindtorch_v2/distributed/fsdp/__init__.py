"""`torch.distributed.fsdp`: modules whose parameters are spread over processes (see docs/distributed.md)."""

from __future__ import annotations

from ._fully_shard import FSDPModule, fully_shard
from .fully_sharded_data_parallel import FullyShardedDataParallel, ShardingStrategy

__all__ = ["FSDPModule", "FullyShardedDataParallel", "ShardingStrategy", "fully_shard"]
