"""Under which names the profiler logs."""

from __future__ import annotations

import logging
import sys

_PACKAGE = __name__.partition(".")[0]


def logger(module: str) -> logging.Logger:
    """The logger of a module of the package, "autograd.profiler": PyTorch's own where the program knows this package
    as torch, so that its settings of loggers hold.
    """
    door = sys.modules.get("torch")
    return logging.getLogger(f"{'torch' if door is sys.modules[_PACKAGE] else _PACKAGE}.{module}")
