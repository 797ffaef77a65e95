"""Control flow as functions: `torch._higher_order_ops`. PyTorch has them for its compiler; here they run eagerly, with
PyTorch's results.
"""

from __future__ import annotations

from .associative_scan import associative_scan
from .cond import cond
from .map import map  # noqa: A004 - PyTorch's name
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
