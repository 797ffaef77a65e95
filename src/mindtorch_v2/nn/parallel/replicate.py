"""Copies of a module on several devices."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ..modules.module import Module
from .scatter_gather import as_device


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """One copy per device. Its parameters are copies of the module's, so gradients flow back to it unless `detach`."""
    return [_copy(network, as_device(d), detach, {}) for d in devices]


def _copy(module: Module, where: Any, detach: bool, made: dict[int, Any]) -> Module:
    replica = copy.copy(module)
    replica.__dict__ = dict(module.__dict__)
    for name in ("_parameters", "_buffers", "_modules"):
        replica.__dict__[name] = dict(getattr(module, name))
    replica.__dict__["_is_replica"] = True
    for key, value in module._parameters.items():
        replica._parameters.pop(key)
        if value is not None:
            moved = made.setdefault(id(value), (value.detach() if detach else value).to(where))
            replica.__dict__[key] = moved
    for key, value in module._buffers.items():
        replica._buffers[key] = None if value is None else made.setdefault(id(value), value.to(where))
    for key, child in module._modules.items():
        replica._modules[key] = None if child is None else _copy(child, where, detach, made)
    return replica
