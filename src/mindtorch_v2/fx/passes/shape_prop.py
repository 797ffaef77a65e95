"""Shapes and types of all values of a graph, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._shape import Size
from ..._tensor import Tensor, channels_last, channels_last_3d, contiguous_format
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What `ShapeProp` notes about a tensor."""

    shape: Size
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    order = None
    if include_contiguity:
        order = next(
            (f for f in (contiguous_format, channels_last, channels_last_3d) if result.is_contiguous(memory_format=f)),
            None,
        )
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, tuple(result.stride()), order, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and notes in `node.meta["tensor_meta"]` the shape, type and strides of every tensor, in
    `node.meta["type"]` the class of every value."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError(
                "ShapeProp runs on real tensors, or on tensors of the meta device; there is no fake mode here"
            )
        self.real_module = gm

    def run_node(self, n: Node) -> Any:
        """The value of a node, about which its metadata then tells."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def describe(value: Any) -> Any:
            nonlocal found
            if isinstance(value, Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, describe)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph with the arguments and returns its result."""
        return super().run(*args)
