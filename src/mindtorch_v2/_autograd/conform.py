"""Gradients on their way: brought to the shape and type of what they belong to, and added."""

from __future__ import annotations

from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from .accumulate import owns_memory
from .node import Node, Slot


def add_gradients(old: Tensor, new: Tensor, create_graph: bool, sole: bool) -> Tensor:
    """The sum of two gradients; in place where only the engine holds the first (`sole`)."""
    if (
        sole
        and not create_graph
        and old._array.shape == new._array.shape
        and old.dtype is new.dtype
        and owns_memory(old)
    ):
        return aten.overload("add_.Tensor")(old, new)
    return aten.add(old, new)


def conform(node: Node, index: int, edge: Any, grad: Tensor) -> Tensor:
    """The gradient in the shape and type of what it belongs to: broadcasting undone, casts undone."""
    if edge.__class__ is Slot:
        shape, dtype, _ = edge.node.specs[edge.nr]
    elif isinstance(edge, Tensor):
        shape, dtype = edge._array.shape, edge.dtype
    else:
        shape, dtype = edge.shape, edge.dtype
    if not isinstance(grad, Tensor):
        raise TypeError(
            f"Function {node.name()} returned an invalid gradient at index {index} - expected a Tensor or None, got "
            f"{type(grad).__name__}"
        )
    if grad._array.shape != shape:
        grad = _unbroadcast(node, index, grad, shape)
    if grad.dtype is not dtype:
        if grad.dtype.is_complex and not dtype.is_complex:
            grad = aten.real(grad)
        if grad.dtype is not dtype:
            grad = aten.to(grad, dtype)
    return grad


def _unbroadcast(node: Node, index: int, grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    have = grad._array.shape
    lead = len(have) - len(shape)
    if lead > 0 and have[lead:] == shape:
        dims = [*range(lead)]
    else:
        dims = [*range(lead), *[i + lead for i, n in enumerate(shape) if n == 1 and have[i + lead] != 1]]
        if lead < 0 or not all(n in (1, have[i + lead]) for i, n in enumerate(shape)):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {index} - got {list(have)} but expected "
                f"shape compatible with {list(shape)}"
            )
    grad = aten.overload("sum.dim_IntList")(grad, dims, True)
    return aten.overload("view")(grad, list(shape)) if lead else grad
