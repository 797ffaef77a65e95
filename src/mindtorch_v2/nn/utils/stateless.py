"""Running a module with other parameters than its own; `torch.func.functional_call` is the newer form."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["functional_call"]


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The module's result as if its parameters and buffers of these names were the given tensors."""
    from ...func import functional_call as call

    return call(
        module, parameters_and_buffers, () if args is None else args, kwargs, tie_weights=tie_weights, strict=strict
    )


@contextlib.contextmanager
def _reparametrize_module(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> Iterator[None]:
    """A block in which the module's parameters and buffers of these names are the given tensors."""
    from ...func._modules import _add_tied_names, _replace_tensors

    given = _add_tied_names(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    with _replace_tensors(module, given, strict):
        yield
