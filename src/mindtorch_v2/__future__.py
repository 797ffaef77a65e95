"""Switches of how modules are converted: `module.to(...)`, `module.half()`, ..."""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]
_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether converting a module gives it new parameters instead of writing into those it has.

    >>> torch.__future__.set_overwrite_module_params_on_conversion(False)
    """
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether converting a module gives it new parameters; False unless it was set."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether converting a module exchanges parameters with the converted ones (`torch.utils.swap_tensors`).

    >>> torch.__future__.set_swap_module_params_on_conversion(False)
    """
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether converting a module exchanges parameters; False unless it was set."""
    return _swap
