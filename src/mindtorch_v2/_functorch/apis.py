"""`vmap` and the gradients of `torch.func` under an older name."""

from ..func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
