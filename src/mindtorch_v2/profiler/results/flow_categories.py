"""What memory was for, as far as the flow of tensors through operators tells.

A value is one version of a block. Four facts are enough: whether it was computed from parameters, whether from
gradients, whether anything that was computed from it met a parameter or a gradient, and whether it was allocated
in the backward pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._observer import NODE_PREFIX
from ..record.enums import RecordScope, _EventType
from .data_flow import DataFlowGraph, DataFlowNode
from .memory_keys import Category, TensorAndID, TensorKey

_FROM_BACKWARD = frozenset({Category.GRADIENT, Category.OPTIMIZER_STATE})  # what exists because of a backward pass
_OF_TRAINING = frozenset({Category.GRADIENT, Category.PARAMETER})


def categories_by_flow(graph: DataFlowGraph, known: Mapping[TensorKey, Category]) -> dict[TensorAndID, Category | None]:
    """The category of each value in the graph; None for what has none. `known` holds those that do not follow from
    the flow: parameters, gradients and the state of optimizers.

    - TEMPORARY: allocated and freed inside one operator or backward function.
    - AUTOGRAD_DETAIL: allocated in the backward pass, and no gradient that stays.
    - ACTIVATION: computed from parameters and not from gradients.
    - INPUT: computed from neither, while something that it went into met a parameter or a gradient.
    """
    flow = _Flow(graph, known)
    return {value: flow.category(value) for value in flow.values}


class _Flow:
    def __init__(self, graph: DataFlowGraph, known: Mapping[TensorKey, Category]) -> None:
        self._known = known
        self._origin: dict[TensorKey, Category] = {}  # of blocks whose category follows from where they were allocated
        self._from_parameter: set[TensorAndID] = set()
        self._from_backward: set[TensorAndID] = set()
        self._meets_training: set[TensorAndID] = set()
        self.values: dict[TensorAndID, None] = {}  # all values, in the order in which they were met
        for node in graph.flow_nodes:
            self._follow(node)
        for node in reversed(graph.flow_nodes):
            self._look_back(node)

    def category(self, value: TensorAndID) -> Category | None:
        key = value[0]
        found = self._known.get(key) or self._origin.get(key)
        if found is not None:
            return found
        if value in self._from_backward:
            return None
        if value in self._from_parameter:
            return Category.ACTIVATION
        return Category.INPUT if value in self._meets_training else None

    def _follow(self, node: DataFlowNode) -> None:
        """From what a node reads to what it writes."""
        inputs = _inputs(node)
        in_backward = _is_in_backward(node._event)
        temporary = set(node.intermediates)
        outputs = [*node.outputs.items(), *((key, 0) for key in temporary)]
        kinds = {self._known.get(key) for key, _ in inputs}
        for value in (*inputs, *outputs):
            self.values.setdefault(value)
        for key, edge in node._edges.items():
            if edge.is_allocation and (key in temporary or in_backward):
                self._origin[key] = Category.TEMPORARY if key in temporary else Category.AUTOGRAD_DETAIL
        if Category.PARAMETER in kinds or not self._from_parameter.isdisjoint(inputs):
            self._from_parameter.update(outputs)
        if in_backward or kinds & _FROM_BACKWARD or not self._from_backward.isdisjoint(inputs):
            self._from_backward.update(outputs)

    def _look_back(self, node: DataFlowNode) -> None:
        """From what a node writes to what it reads."""
        inputs, outputs = _inputs(node), list(node.outputs.items())
        is_training = any(self._known.get(key) in _OF_TRAINING for key, _ in (*inputs, *outputs))
        if is_training or not self._meets_training.isdisjoint(outputs):
            self._meets_training.update(inputs)


def _inputs(node: DataFlowNode) -> list[TensorAndID]:
    return [(key, version) for key, (_, version) in node.inputs.items()]


def _is_in_backward(event: Any) -> bool:
    """Whether an event is part of a node's evaluation by the autograd engine."""
    while event is not None:
        if event.tag is _EventType.TorchOp and (
            event.extra_fields.scope is RecordScope.BACKWARD_FUNCTION or event.name.startswith(NODE_PREFIX)
        ):
            return True
        event = event.parent
    return False
