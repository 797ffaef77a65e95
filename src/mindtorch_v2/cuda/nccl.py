"""NVIDIA's collectives: not here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import _absent

_refuse = _absent.Refuser(__name__, AttributeError, "module 'torch._C' has no attribute '_nccl_version'")
version = _refuse("version")
unique_id = _refuse.missing("unique_id", "_nccl_unique_id")
all_reduce = _refuse.missing("all_reduce", "_nccl_all_reduce")
reduce = _refuse.missing("reduce", "_nccl_reduce")
broadcast = _refuse.missing("broadcast", "_nccl_broadcast")
all_gather = _refuse.missing("all_gather", "_nccl_all_gather")
reduce_scatter = _refuse.missing("reduce_scatter", "_nccl_reduce_scatter")
__all__ = ["all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"]


def is_available(tensors: Sequence[Any]) -> bool:
    """False, with PyTorch's warning."""
    warnings.warn("PyTorch is not compiled with NCCL support", stacklevel=2)
    return False
