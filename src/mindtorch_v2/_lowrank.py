"""`torch._lowrank`: where PyTorch has approximations by matrices of low rank."""

from __future__ import annotations

from ._python.numerics import get_low_rank_basis as get_approximate_basis
from ._python.numerics import pca_lowrank, svd_lowrank

__all__ = ["get_approximate_basis", "pca_lowrank", "svd_lowrank"]
