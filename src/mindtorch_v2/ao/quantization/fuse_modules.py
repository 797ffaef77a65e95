"""Joins layers that follow each other: the normalisation after a convolution becomes part of its weight."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ...nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ...nn.modules.container import Sequential
from ...nn.modules.conv import Conv1d, Conv2d, Conv3d
from ...nn.modules.linear import Identity, Linear
from ...nn.modules.module import Module
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse_modules"]
_NORMS = (BatchNorm1d, BatchNorm2d, BatchNorm3d)


def _fused(layers: Sequence[Module]) -> list[Module]:
    """What stands for the layers: the joined one first, activations after it, identities for the rest."""
    first, *rest = layers
    if not isinstance(first, (Conv1d, Conv2d, Conv3d, Linear)):
        raise NotImplementedError(f"Cannot fuse modules: {tuple(type(m) for m in layers)}")
    if rest and isinstance(rest[0], _NORMS):
        if first.training:
            raise NotImplementedError("fuse_modules joins layers in evaluation: call model.eval() first")
        join = fuse_linear_bn_eval if isinstance(first, Linear) else fuse_conv_bn_eval
        first, rest = join(first, rest[0]), rest[1:]
    if [type(m).__name__ for m in rest] not in ([], ["ReLU"]):
        raise NotImplementedError(f"Cannot fuse modules: {tuple(type(m) for m in layers)}")
    made = Sequential(first, *rest) if rest else first
    return [made, *[Identity() for _ in layers[1:]]]


def fuse_modules(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = None, fuse_custom_config_dict: Any = None
) -> Any:
    """Joins layers, named by their paths: convolution or linear layer, normalisation, ReLU; in evaluation.

    >>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()).eval()
    >>> [type(m).__name__ for m in torch.ao.quantization.fuse_modules(model, ["0", "1", "2"])]
    ['Sequential', 'Identity', 'Identity']
    """
    if fuser_func is not None or fuse_custom_config_dict:
        raise NotImplementedError("fuse_modules: own fusers are not called here")
    model = model if inplace else copy.deepcopy(model)
    groups = modules_to_fuse if modules_to_fuse and isinstance(modules_to_fuse[0], list) else [modules_to_fuse]
    for names in groups:
        layers = [model.get_submodule(name) for name in names]
        for name, made in zip(names, _fused(layers)):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, made)
    return model
