"""Reductions and normalisations that leave out elements: `torch.masked`."""

from __future__ import annotations

from ._ops import *  # noqa: F403 - all that the module lists
from ._ops import __all__ as __all__
