"""How tensors flow through the events of a profile: which event read, wrote, allocated and freed which memory.

A node of the flow is an operator with all that it calls, the application of a backward function, or a memory record
outside of those. Memory has versions: writing to it makes another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..record.enums import RecordScope, _EventType
from .event_fields import _ExtraFields_Allocation, _ExtraFields_PyCall, _ExtraFields_TorchOp, _TensorMetadata
from .event_walk import traverse_bfs, traverse_dfs
from .memory_keys import TensorKey
from .schema_matcher import SchemaMatcher

_ACCUMULATE = "torch::autograd::AccumulateGrad"
# what accumulating a gradient calls with it as the first argument: the gradient becomes it, is added to, or copied into
_GRADIENT_FIRST = ("aten::detach", "aten::add_", "aten::copy_")


class OpTree:
    """The event tree of a profile, and ways to walk it."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.roots = tuple(roots)

    def dfs(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        yield from traverse_dfs(self.roots, *args, **kwargs)

    def bfs(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        yield from traverse_bfs(self.roots, *args, **kwargs)

    @cached_property
    def sorted_nodes(self) -> tuple[Any, ...]:
        """All nodes in the order of time."""
        return tuple(sorted(self.dfs(), key=lambda node: node.start_time_ns))


# --- parameters and gradients
# -------------------------------------------------------------------------------------------
def _owned(node: Any) -> Iterator[tuple[_TensorMetadata, _TensorMetadata | None]]:
    """The parameters that the module or optimizer of a call had, with their gradients."""
    if node.tag is not _EventType.PyCall:
        return
    fields: _ExtraFields_PyCall = node.extra_fields
    if fields.module is not None:
        yield from ((parameter, gradient) for _, parameter, gradient in fields.module.parameters)
    if fields.optimizer is not None:
        yield from ((parameter, gradient) for parameter, gradient, _ in fields.optimizer.parameters)


def extract_parameters(node: Any) -> Iterator[TensorKey]:
    """The parameters that a node of the event tree tells about."""
    for parameter, _ in _owned(node):
        key = TensorKey.from_tensor(parameter)
        if key is not None:
            yield key


def extract_gradients(node: Any) -> Iterator[tuple[TensorKey | None, TensorKey]]:
    """(parameter, gradient) pairs that a node of the event tree tells about. A backward pass accumulates gradients
    without saying whose they are: then the parameter is None.
    """
    for parameter, gradient in _owned(node):
        key = TensorKey.from_tensor(gradient)
        if key is not None:
            yield TensorKey.from_tensor(parameter), key
    if node.tag is _EventType.TorchOp and node.name == _ACCUMULATE:
        for child in node.children:
            inputs = child.extra_fields.inputs if child.name in _GRADIENT_FIRST else []
            key = TensorKey.from_tensor(inputs[0]) if inputs and isinstance(inputs[0], _TensorMetadata) else None
            if key is not None:
                yield None, key


# --- flow
# ---------------------------------------------------------------------------------------------------------------
@dataclass
class DataFlowEdge:
    """What an event did with one block."""

    input_version: int | None = None  # None where it allocated it
    mutated: bool = False
    is_deletion: bool = False

    @property
    def is_allocation(self) -> bool:
        return self.input_version is None


class DataFlowNode:
    """An event of the flow. `start_time` is in nanoseconds since 1970."""

    def __init__(self, event: Any, edges: dict[TensorKey, DataFlowEdge]) -> None:
        self._event = event
        self._edges = edges

    @property
    def inputs(self) -> dict[TensorKey, tuple[bool, int]]:
        """What was there before: whether it was written to, and its version."""
        edges = sorted(self._edges.items())
        return {key: (e.mutated, e.input_version) for key, e in edges if e.input_version is not None}

    @property
    def outputs(self) -> dict[TensorKey, int]:
        """What is new afterwards: its version."""
        return {
            key: 0 if edge.input_version is None else edge.input_version + 1
            for key, edge in sorted(self._edges.items())
            if (edge.is_allocation or edge.mutated) and not edge.is_deletion
        }

    @property
    def intermediates(self) -> tuple[TensorKey, ...]:
        """What was allocated and freed inside."""
        return tuple(key for key, edge in sorted(self._edges.items()) if edge.is_allocation and edge.is_deletion)

    @property
    def start_time(self) -> int:
        return int(self._event.start_time_ns)


class DataFlowGraph:
    """The nodes of the flow in the order of time."""

    def __init__(self, op_tree: OpTree) -> None:
        self._op_tree = op_tree
        self._active_version: dict[TensorKey, int | None] = {}  # None for what was freed
        self._flow_nodes = [self._node(event) for event in self.leaf_events]

    @property
    def flow_nodes(self) -> tuple[DataFlowNode, ...]:
        return tuple(self._flow_nodes)

    @cached_property
    def leaf_events(self) -> tuple[Any, ...]:
        """The events that nodes are made of, in the order of time."""
        found, waiting = [], list(self._op_tree.roots)
        while waiting:
            event = waiting.pop()
            if _is_leaf(event):
                found.append(event)
            else:
                waiting += event.children
        return tuple(sorted(found, key=lambda event: event.start_time_ns))

    def lookup(self, key: TensorKey) -> int:
        """The present version of a block; what is met for the first time was there before."""
        version = self._active_version.setdefault(key, 0)
        return 0 if version is None else version

    def _node(self, event: Any) -> DataFlowNode:
        edges: dict[TensorKey, DataFlowEdge] = {}
        for inner in traverse_dfs([event]):
            tag, fields = inner.typed
            if tag is _EventType.Allocation:
                self._note_record(edges, fields)
            elif tag is _EventType.TorchOp:
                self._note_arguments(edges, fields)
        for key, edge in edges.items():
            if edge.is_deletion:
                self._active_version[key] = None
            else:
                self._active_version[key] = (edge.input_version or 0) + (edge.mutated and not edge.is_allocation)
        return DataFlowNode(event, edges)

    def _note_record(self, edges: dict[TensorKey, DataFlowEdge], record: _ExtraFields_Allocation) -> None:
        key = TensorKey.from_allocation(record)
        if key is None:
            return
        if record.alloc_size > 0:
            edges[key] = DataFlowEdge()
        else:
            edges.setdefault(key, DataFlowEdge(self.lookup(key))).is_deletion = True

    def _note_arguments(self, edges: dict[TensorKey, DataFlowEdge], op: _ExtraFields_TorchOp) -> None:
        for value, is_written in zip(op.inputs, SchemaMatcher.inputs_are_mutable(op)):
            for tensor in value if isinstance(value, list) else [value]:
                key = TensorKey.from_tensor(tensor) if isinstance(tensor, _TensorMetadata) else None
                if key is not None:
                    edge = edges.setdefault(key, DataFlowEdge(self.lookup(key)))
                    edge.mutated = edge.mutated or bool(is_written)


def _is_leaf(event: Any) -> bool:
    tag, fields = event.typed
    if tag is _EventType.TorchOp:
        return fields.scope is RecordScope.BACKWARD_FUNCTION or bool(SchemaMatcher.lookup_schemas(event.name))
    return tag is _EventType.Allocation
