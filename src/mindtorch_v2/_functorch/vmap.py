"""`vmap` under an older name."""

from ..func import vmap

__all__ = ["vmap"]
