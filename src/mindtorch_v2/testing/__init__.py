"""`torch.testing`: comparisons that explain themselves, and tensors of random values for tests."""

from __future__ import annotations

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
