"""Function transforms: derivatives and batching of functions, in any combination."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._jacobians import hessian, jacfwd, jacrev
from ._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from ._transforms import grad, grad_and_value, jvp, linearize, vjp
from ._vmap import vmap

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function with the results of `func`.

    Nothing here compiles functions, so writes inside it need not be removed.

    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.tensor([1., 2.]))
    tensor([2., 3.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations'\n     remove='mutations_and_views'"
        )

    @functools.wraps(func, updated=())
    def same(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return same
