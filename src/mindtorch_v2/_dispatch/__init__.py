"""How a call travels."""

from .namespace import aten

__all__ = ["aten"]
