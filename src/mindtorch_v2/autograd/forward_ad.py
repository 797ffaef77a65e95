"""Forward-mode differentiation: dual tensors carry a tangent, and so do the results of operators on them.

A tangent is computed when it is asked for, by differentiating the backward pass twice. So operators on dual tensors
must be recorded: inside `torch.no_grad()` tangents are lost.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from .._autograd.grad_mode import enable_grad
from .._tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A dual tensor's two parts; the tangent is None where it has none."""

    primal: Tensor
    tangent: Tensor | None


class _Level:
    """A level that is entered: its dual tensors, with their tangents."""

    def __init__(self) -> None:
        self.duals: list[tuple[Tensor, Tensor]] = []


class _Levels(threading.local):
    def __init__(self) -> None:
        self.stack: list[_Level] = []


_levels = _Levels()


def enter_dual_level() -> int:
    """Enters a level, in which dual tensors can be made; returns its number."""
    if _levels.stack:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.stack.append(_Level())
    return len(_levels.stack) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Leaves a level; its dual tensors lose their tangents."""
    if not _levels.stack:
        raise RuntimeError("Dual level must be a positive number.")
    if level is not None and level != len(_levels.stack) - 1:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _levels.stack.pop()


class dual_level:
    """A block in which dual tensors can be made."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def _current(level: int | None) -> _Level | None:
    return _levels.stack[-1] if _levels.stack and (level is None or level == len(_levels.stack) - 1) else None


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor of the same values that carries a tangent of its shape and type."""
    found = _current(level)
    if found is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if not tensor.dtype.inexact:
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not tangent.dtype.inexact:
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    with enable_grad():
        dual = tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
    found.duals.append((dual, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor's values and its tangent, None where it does not depend on a dual tensor of the level."""
    from ..func._transforms import _directional, _release

    found = _current(level)
    if found is None or not found.duals or not tensor.requires_grad:
        return UnpackedDualTensor(tensor, None)
    duals = [d for d, _ in found.duals]
    own = next((t for d, t in found.duals if d is tensor), None)
    if own is not None:
        return UnpackedDualTensor(_release(tensor, duals), own)
    with enable_grad():
        if not _depends(tensor, duals):
            return UnpackedDualTensor(tensor, None)
        (tangent,) = _directional([tensor], duals, [t for _, t in found.duals])
    primal, tangent = _release((tensor, tangent), duals)
    return UnpackedDualTensor(primal, tangent)


def _depends(tensor: Tensor, duals: list[Tensor]) -> bool:
    from . import grad

    found = grad([tensor], duals, [tensor.detach() * 0], retain_graph=True, allow_unused=True)
    return any(g is not None for g in found)
