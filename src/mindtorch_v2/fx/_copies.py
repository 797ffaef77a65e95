"""Copies and pickles of graphs.

A pickled graph is a flat list of its nodes, in which other nodes are numbers and functions of this package are names.
Nothing is run or traced when it is loaded.
"""

from __future__ import annotations

import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._names import PACKAGE, module_and_name
from .node import Node, map_arg

if TYPE_CHECKING:
    from .graph import Graph


def deep_copy(graph: Graph, memo: dict[int, Any]) -> Graph:
    """A graph with copies of all nodes; constants are copied too."""
    from .graph import Graph

    made = Graph(tracer_cls=graph._tracer_cls, tracer_extras=graph._tracer_extras)
    made._codegen = copy.deepcopy(graph._codegen, memo)
    copies: dict[Node, Node] = {}
    for node in graph.nodes:
        copies[node] = new = made.node_copy(node, lambda n: copies[n])
        new.meta = copy.copy(node.meta)
        memo[id(node)] = new
    memo[id(graph)] = made
    return made


class _NodeIndex:
    """A node in the arguments of a pickled one: its position."""

    def __init__(self, index: int) -> None:
        self.index = index


class _Name:
    """A function of this package in a pickled node: where it is found."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def resolve(self) -> Any:
        """The function."""
        return getattr(import_module(".".join(part for part in (PACKAGE, self.module) if part)), self.name)


def reduce_graph(graph: Graph) -> Any:
    """What pickle keeps of a graph. Metadata of nodes is left out, as it may hold anything."""
    positions = {node: i for i, node in enumerate(graph.nodes)}

    def index_of(node: Node) -> _NodeIndex:
        return _NodeIndex(positions[node])

    rows = []
    for node in graph.nodes:
        target = node.target
        if node.op == "call_function":
            found = module_and_name(target)
            target = _Name(*found) if found is not None else target  # type: ignore[assignment]
        wrapped = bool(node.meta.get("is_wrapped", False))
        rows.append(
            (
                node.op,
                node.name,
                target,
                map_arg(node.args, index_of),
                dict(map_arg(node.kwargs, index_of)),
                node.type,
                wrapped,
            )
        )
    # a class inside a function cannot be found again when the graph is read
    is_local = "<locals>" in getattr(graph._tracer_cls, "__qualname__", "")
    tracer_cls = None if is_local else graph._tracer_cls
    return restore_graph, (rows, tracer_cls, graph._tracer_extras, graph._codegen)


def restore_graph(rows: list[Any], tracer_cls: Any, tracer_extras: Any, codegen: Any) -> Graph:
    """The graph of `reduce_graph`."""
    from .graph import Graph
    from .node import map_aggregate

    made = Graph(tracer_cls=tracer_cls, tracer_extras=tracer_extras)
    made._codegen = codegen
    nodes: list[Node] = []

    def resolve(value: Any) -> Any:
        return nodes[value.index] if isinstance(value, _NodeIndex) else value

    for op, name, target, args, kwargs, kind, wrapped in rows:
        found = target.resolve() if isinstance(target, _Name) else target
        node = made.create_node(
            op, found, map_aggregate(args, resolve), dict(map_aggregate(kwargs, resolve)), name, kind
        )
        if wrapped:
            node.meta["is_wrapped"] = True
        nodes.append(node)
    return made
