"""Finding a pattern in a graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...graph import Graph
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """An occurrence of a pattern.

    anchors            the nodes of the graph for the outputs' nodes of the pattern.
    nodes_map          the node (or constant) for every node of the pattern.
    placeholder_nodes  those for the pattern's inputs, in order. returning_nodes: those whose values the pattern gives.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)


class SubgraphMatcher:
    """Finds the parts of graphs that look like `pattern`: the same operations on each other's results; inputs stand
    for anything.

    remove_overlapping_matches  of matches that share a node, only the first is given.
    ignore_literals             constants in the pattern stand for any constant.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        output = next(n for n in reversed(pattern.nodes) if n.op == "output")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes = list(output.all_input_nodes)
        self.pattern_anchors = (
            [output]
            if match_output
            else [n for n in output.all_input_nodes if len(n.users) == 1] or list(output.all_input_nodes)
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The matches, in the order of their nodes in the graph."""
        first, *others = self.pattern_anchors
        found = []
        for node in graph.nodes:
            for nodes_map in self._complete(graph, others, self._extend_match(first, node, {})):
                if self._is_self_contained(nodes_map):
                    found.append(self._as_match(nodes_map))
        return self._without_overlaps(found) if self.remove_overlapping_matches else found

    def _complete(self, graph: Graph, anchors: list[Node], start: dict[Node, Any] | None) -> Iterator[dict[Node, Any]]:
        """All ways in which the other anchors match too."""
        if start is None:
            return
        if not anchors:
            yield start
            return
        for node in graph.nodes:
            yield from self._complete(graph, anchors[1:], self._extend_match(anchors[0], node, start))

    def _extend_match(self, pattern: Any, node: Any, so_far: dict[Node, Any]) -> dict[Node, Any] | None:
        """The map with what follows from `pattern` standing for `node`, or None if they do not fit."""
        if not isinstance(pattern, Node):
            return so_far if self._same_constant(pattern, node) else None
        if pattern in so_far:
            return so_far if so_far[pattern] is node else None
        if pattern.op == "placeholder" and not self.match_placeholder:
            return {**so_far, pattern: node}
        if not isinstance(node, Node) or pattern.op != node.op or not self._same_target(pattern, node):
            return None
        if any(value is node for value in so_far.values()):
            return None
        made: dict[Node, Any] | None = {**so_far, pattern: node}
        return self._matched_arguments(pattern, node, made)

    def _same_constant(self, pattern: Any, value: Any) -> bool:
        if isinstance(value, Node):
            return False
        return self.ignore_literals or (type(pattern) is type(value) and bool(pattern == value)) or pattern is value

    @staticmethod
    def _same_target(pattern: Node, node: Node) -> bool:
        if pattern.op == "call_module":
            owner, other = pattern.graph.owning_module, node.graph.owning_module
            if owner is None or other is None:
                return pattern.target == node.target
            return type(owner.get_submodule(str(pattern.target))) is type(other.get_submodule(str(node.target)))
        if pattern.op == "get_attr":
            return str(pattern.target).rpartition(".")[2] == str(node.target).rpartition(".")[2]
        return pattern.op in ("output", "placeholder") or pattern.target == node.target

    def _matched_arguments(self, pattern: Node, node: Node, made: dict[Node, Any] | None) -> dict[Node, Any] | None:
        ours, theirs = _arguments(pattern), _arguments(node)
        if ours is None or theirs is None:
            ours, theirs = (pattern.args, dict(pattern.kwargs)), (node.args, dict(node.kwargs))
        return self._matched_value(ours, theirs, made)

    def _matched_value(self, pattern: Any, value: Any, made: dict[Node, Any] | None) -> dict[Node, Any] | None:
        if made is None:
            return None
        if isinstance(pattern, (tuple, list)):
            if not isinstance(value, (tuple, list)) or len(pattern) != len(value):
                return None
            for a, b in zip(pattern, value):
                made = self._matched_value(a, b, made)
            return made
        if isinstance(pattern, dict):
            if not isinstance(value, dict) or pattern.keys() != value.keys():
                return None
            for key in pattern:
                made = self._matched_value(pattern[key], value[key], made)
            return made
        if isinstance(pattern, slice) and isinstance(value, slice):
            return self._matched_value(
                (pattern.start, pattern.stop, pattern.step), (value.start, value.stop, value.step), made
            )
        return self._extend_match(pattern, value, made)

    def _is_self_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether the values inside the match are used inside it only."""
        inside = {id(v) for p, v in nodes_map.items() if p.op != "placeholder"}
        for pattern, node in nodes_map.items():
            if pattern.op in ("placeholder", "output") or pattern in self.pattern_returning_nodes:
                continue
            if any(id(user) not in inside for user in node.users):
                return False
        return True

    def _as_match(self, nodes_map: dict[Node, Any]) -> InternalMatch:
        placeholders = [nodes_map[p] for p in self.pattern_placeholder_nodes if p in nodes_map]
        return InternalMatch(
            [nodes_map[a] for a in self.pattern_anchors],
            nodes_map,
            placeholders,
            [nodes_map[r] for r in self.pattern_returning_nodes],
        )

    def _without_overlaps(self, found: list[InternalMatch]) -> list[InternalMatch]:
        taken: set[int] = set()
        kept = []
        for match in found:
            own = {id(n) for p, n in match.nodes_map.items() if p.op not in ("placeholder", "output")}
            if not own & taken:
                taken |= own
                kept.append(match)
        return kept


def _arguments(node: Node) -> Any:
    """A call's arguments by name, so that `f(x, 1)` matches `f(x, dim=1)`; None where the signature is not known."""
    if node.op != "call_function" or getattr(node.target, "__module__", "") == "_operator":
        return None
    from ...operator_schemas import normalize_function

    named = normalize_function(node.target, node.args, dict(node.kwargs), normalize_to_only_use_kwargs=True)  # type: ignore[arg-type]
    return None if named is None else (named.args, named.kwargs)
