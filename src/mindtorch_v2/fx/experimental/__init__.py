"""Parts of fx that may change."""

from __future__ import annotations

from ..._lazy_parts import lazy_parts as _lazy_parts

__getattr__, __dir__ = _lazy_parts(__name__, ("proxy_tensor", "symbolic_shapes"))
