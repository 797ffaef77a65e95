"""How a linear_cross_entropy works through its batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ... import _dtype as dt

__all__ = ["LinearCrossEntropyOptions"]


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """PyTorch's settings of a linear_cross_entropy in pieces of the batch. They are checked and kept; here the batch is
    taken as a whole, which gives the same loss."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: dt.dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"acc_policy must be 'accurate', 'balanced', 'compact' or 'auto', got {self.acc_policy!r}")
