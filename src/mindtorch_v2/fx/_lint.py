"""Checks of a graph."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .node import Node, nodes_in

if TYPE_CHECKING:
    from .graph import Graph


def lint(graph: Graph) -> None:
    """Raises RuntimeError where a graph is malformed."""
    defined: set[Node] = set()
    names: set[str] = set()
    for node in graph.nodes:
        if node.graph is not graph:
            raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
        if node._erased:
            raise RuntimeError(f"Attempting to use erased node {node}")
        for used in nodes_in((node.args, node.kwargs)):
            if used.graph is not graph:
                raise RuntimeError(
                    f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an argument! "
                    "If you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to "
                    f"remap values\n{graph}"
                )
            if used not in defined:
                raise RuntimeError(
                    f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that Nodes "
                    f"in the graph are topologically ordered\n{graph}"
                )
        defined.add(node)
        if node.name in names:
            raise RuntimeError(f"Node redefined name {node.name}!")
        names.add(node.name)
    if graph.owning_module is not None:
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _check_target(graph.owning_module, node)


def _check_target(module: Any, node: Node) -> None:
    """The path that a node names must exist in the module."""
    from ..nn import Module

    path = str(node.target)
    found: Any = module
    for i, part in enumerate(path.split(".")):
        if not hasattr(found, part):
            raise RuntimeError(
                f"Node {node} target {path} references nonexistent attribute {'.'.join(path.split('.')[: i + 1])} of "
                f"{type(module).__name__}"
            )
        found = getattr(found, part)
    if node.op == "call_module" and not isinstance(found, Module):
        raise RuntimeError(f"Node {node} target {path} {type(found)} does not reference an nn.Module")
    if node.op == "get_attr":
        from .._tensor import Tensor

        if not isinstance(found, (Tensor, Module)):
            warnings.warn(
                f"Node {node} target {path} does not reference an nn.Module, nn.Parameter, or buffer, which is what "
                "'get_attr' Nodes typically target",
                stacklevel=4,
            )
