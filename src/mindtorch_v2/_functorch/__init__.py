"""`functorch`, which was a package of its own before its functions became `torch.func`."""

from __future__ import annotations

from typing import Any

from .._version import __version__
from ..func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from .make_functional import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "__version__",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    if name == "make_fx":
        from ..fx.experimental.proxy_tensor import make_fx

        return make_fx
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
