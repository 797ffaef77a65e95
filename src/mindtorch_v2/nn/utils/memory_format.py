"""Weights of convolutions in another order in memory."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Any, memory_format: Any, kinds: tuple[type, ...]) -> Any:
    is_one: Any = isinstance(module, kinds)
    if is_one:
        module.weight.data = module.weight.detach().clone().contiguous(memory_format=memory_format)
    for child in module.children():
        _convert(child, memory_format, kinds)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Puts the weights of all two-dimensional convolutions of a module into a memory format; returns the module.

    >>> conv = nn.Conv2d(2, 2, 2)
    >>> nn.utils.convert_conv2d_weight_memory_format(conv, torch.channels_last).weight.stride()
    (8, 1, 4, 2)
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Puts the weights of all three-dimensional convolutions of a module into a memory format; returns the module.

    >>> conv = nn.Conv3d(2, 2, 2)
    >>> nn.utils.convert_conv3d_weight_memory_format(conv, torch.channels_last_3d).weight.stride()
    (16, 1, 8, 4, 2)
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
