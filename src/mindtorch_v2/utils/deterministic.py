"""Settings of `torch.use_deterministic_algorithms`."""

from __future__ import annotations

# PyTorch fills memory of `torch.empty` while deterministic algorithms are asked for. Here its contents are whatever was
# there.
fill_uninitialized_memory = True
