"""The names of a model's parameters without those of the wrappers around and inside it."""

from __future__ import annotations

from typing import Any

_PREFIXES = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.")


def unwrapped(model: Any) -> Any:
    """The module inside DataParallel, DistributedDataParallel and FullyShardedDataParallel."""
    from ...nn.parallel import DataParallel, DistributedDataParallel
    from ..fsdp import FullyShardedDataParallel

    while isinstance(model, (DataParallel, DistributedDataParallel, FullyShardedDataParallel)):
        model = model.module
    return model


def clean_name(name: str) -> str:
    """A name as the module itself has it."""
    for prefix in _PREFIXES:
        name = name.replace(prefix, "")
    return name


def parameter_names(model: Any) -> dict[int, str]:
    """The name of each parameter, by its identity."""
    return {id(parameter): clean_name(name) for name, parameter in model.named_parameters()}
