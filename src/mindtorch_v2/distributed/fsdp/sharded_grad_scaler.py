"""`torch.distributed.fsdp.sharded_grad_scaler`: scaled gradients whose parts lie in several processes."""

from __future__ import annotations

from typing import Any

from ...amp import GradScaler
from .. import collectives

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A GradScaler that leaves a step out in all processes if one of them has a gradient that is not finite."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = process_group

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer by the scale, and asks the other processes whether theirs are
        finite."""
        if not self._enabled:
            return
        super().unscale_(optimizer)
        for found in self._found_inf_per_device(optimizer).values():
            collectives.all_reduce(found, group=self.process_group)
