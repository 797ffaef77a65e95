"""`torch.distributed.optim`: optimizers whose state is spread over processes, or that average parameters."""

from __future__ import annotations

from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
