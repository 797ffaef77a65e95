"""Replacing a pattern in a graph by another one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_arg
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found: the node that gives its value, and the node for each node of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A match, and the nodes that replace it."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(program: Any) -> Graph:
    """The graph of a function, module or graph."""
    if isinstance(program, GraphModule):
        return program.graph
    if isinstance(program, Graph):
        return program
    from ._symbolic_trace import symbolic_trace

    return symbolic_trace(program).graph


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replaces every part of the module's graph that looks like `pattern` by `replacement`; both are functions (or
    modules) of the same inputs. Parts that overlap with one that was replaced, or whose inner values are used
    elsewhere, stay. Returns the matches.

        >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(torch.sin(x)))
        >>> matches = torch.fx.replace_pattern(gm, lambda a: torch.relu(a), lambda a: torch.sigmoid(a))
        >>> [node.name for node in gm.graph.nodes]
        ['x', 'sin', 'sigmoid', 'output']
    """
    return [Match(r.anchor, r.nodes_map) for r in _replace(gm, pattern, replacement, None, False)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Any = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """The same for matches that all filters accept: `filter(match, original_graph, pattern_graph)`.

    `replacement_callback(match, original_graph, pattern_graph)` gives the graph for a match where `replacement` is
    None. With `ignore_literals` constants in the pattern stand for any constant.
    """
    return _replace(
        gm,
        pattern,
        replacement if replacement is not None else replacement_callback,
        match_filters,
        ignore_literals,
        replacement is None,
    )


def _replace(
    gm: GraphModule, pattern: Any, replacement: Any, filters: Any, ignore_literals: bool, is_callback: bool = False
) -> list[ReplacedPatterns]:
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(
        pattern_graph,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=ignore_literals,
    )
    matches = [m for m in matcher.match(graph) if all(f(m, graph, pattern_graph) for f in filters or ())]
    fixed = None if is_callback else _graph_of(replacement)
    changed: dict[Node, Node] = {}  # nodes that earlier replacements removed -> what stands for them
    done = []
    for match in matches:
        new = fixed if fixed is not None else _graph_of(replacement(match, graph, pattern_graph))
        done.append(_put(gm, match, pattern_graph, new, changed))
    gm.recompile()
    if fixed is not None:
        _take_attributes(gm, replacement, fixed)
    return done


def _put(
    gm: GraphModule, match: InternalMatch, pattern: Graph, new: Graph, changed: dict[Node, Node]
) -> ReplacedPatterns:
    """Replaces a match by the nodes of `new`."""
    graph = gm.graph
    inputs = [changed.get(n, n) if isinstance(n, Node) else n for n in match.placeholder_nodes]
    placeholders = [n for n in new.nodes if n.op == "placeholder"]
    if len(placeholders) != len(inputs):
        raise AssertionError(f"the pattern has {len(inputs)} inputs, the replacement {len(placeholders)}")
    values: dict[Node, Any] = dict(zip(placeholders, inputs))
    anchor = match.anchors[0]
    where = _first_after([n for n in inputs if isinstance(n, Node)], match, graph)
    made: list[Node] = []
    with graph.inserting_before(where):
        for node in new.nodes:
            if node.op in ("placeholder", "output"):
                continue
            values[node] = copied = graph.node_copy(node, lambda n: values[n])
            made.append(copied)
    output = next(n for n in new.nodes if n.op == "output").args[0]
    results = output if isinstance(output, (tuple, list)) and len(match.returning_nodes) > 1 else [output]
    if len(results) != len(match.returning_nodes):
        raise AssertionError(f"the pattern gives {len(match.returning_nodes)} values, the replacement {len(results)}")
    for old, result in zip(match.returning_nodes, results):
        value = map_arg(result, lambda n: values[n])
        if isinstance(value, Node):
            old.replace_all_uses_with(value)
            changed[old] = value
        else:
            _use_constant(old, value)
    nodes_map = dict(match.nodes_map)
    keep = {n for n in match.nodes_map if n.op == "placeholder"}
    for node in reversed(
        [match.nodes_map[n] for n in pattern.nodes if n in match.nodes_map and n not in keep and n.op != "output"]
    ):
        if isinstance(node, Node) and not node._erased and not node.users:
            graph.erase_node(node)
    return ReplacedPatterns(anchor, nodes_map, made)


def _use_constant(old: Node, value: Any) -> None:
    """Replaces a node by a constant wherever it is used."""

    def swap(node: Node) -> Any:
        return value if node is old else node

    for user in list(old.users):
        user._set_inputs(map_arg(user.args, swap), map_arg(user.kwargs, swap))


def _first_after(inputs: list[Node], match: InternalMatch, graph: Graph) -> Node:
    """The first node of the graph that stands after all inputs and not after the first use of a result."""
    wanted = set(match.returning_nodes)
    waiting = set(inputs)
    last: Node | None = None
    for node in graph.nodes:
        waiting.discard(node)
        last = node
        if not waiting and (node in wanted):
            return node
    if last is None:
        raise AssertionError("the graph has no nodes")
    return last


def _take_attributes(gm: GraphModule, replacement: Any, graph: Graph) -> None:
    """Gives the module what the replacement's nodes name, and drops modules that nobody names any more."""
    from ..nn import Module
    from .graph_module import _copy_attr

    if isinstance(replacement, Module):
        for node in graph.nodes:
            if node.op in ("call_module", "get_attr"):
                try:
                    gm.get_submodule(str(node.target)) if node.op == "call_module" else getattr(gm, str(node.target))
                except AttributeError:
                    _copy_attr(copy.copy(replacement), gm, str(node.target))
    gm.delete_all_unused_submodules()
    gm.graph.lint()
    gm.recompile()
