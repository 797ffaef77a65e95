"""The tree of everything a window recorded, in the shape of PyTorch's `experimental_event_tree()`.

Operators, annotations, Python calls and allocations are nodes. A tree is made once per result, so nodes are the same
objects wherever one comes across them: `child.parent is node`.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

import numpy as np

from ..analysis.tree import EventTree
from ..record.enums import DeviceType, RecordScope, _EventType
from ..record.kinds import DEVICE_KINDS, LAUNCHING_KINDS, PYTHON_KINDS, Flag, Kind, Role
from ..store.event_store import EventStore, kept_ancestors
from .event_fields import (
    _ExtraFields_Kineto,
    _ExtraFields_PyCall,
    _ExtraFields_PyCCall,
    _ExtraFields_TorchOp,
    _NNModuleInfo,
    _PyFrameState,
)
from .event_tensors import EventTensors

MEMORY_NAME = "[memory]"
_FRAME = re.compile(r"(?P<file>.*)\((?P<line>\d+)\): (?P<function>.*)", re.DOTALL)
_MODULE = re.compile(r"nn\.Module: (?P<type>.*)_\d+", re.DOTALL)
# PyTorch's node for an optimizer; here it is made from what was seen of it when it had stepped
_STEP_NAME = "mindtorch_v2/optim/optimizer.py(1): _optimizer_step_code"
_SCOPES = {
    Kind.BACKWARD: RecordScope.BACKWARD_FUNCTION,
    Kind.SCOPE: RecordScope.USER_SCOPE,
    Kind.STEP: RecordScope.USER_SCOPE,
}


class _ProfilerEvent:
    """A node: what happened (`tag`, `extra_fields`, or both as `typed`), when, on which thread, and what it is part
    of.
    """

    __slots__ = ("_tree", "_row", "_record", "_owned_row", "_children", "parent")
    _tree: Tree
    _row: int  # of the store; -1 for an allocation and for an optimizer
    _record: int  # of the memory table; -1 for what is none
    _owned_row: int  # of the table of owned tensors; -1 for what is not an optimizer
    _children: list[_ProfilerEvent]
    parent: _ProfilerEvent | None

    def __init__(self, tree: Tree, row: int, record: int, owned: int = -1) -> None:
        self._tree, self._row, self._record, self._owned_row = tree, row, record, owned
        self._children, self.parent = [], None

    @property
    def children(self) -> list[_ProfilerEvent]:
        """What began inside, in the order of time."""
        return list(self._children)

    @property
    def name(self) -> str:
        if self._row >= 0:
            return self._tree.store.name_of(self._row)
        return _STEP_NAME if self._owned_row >= 0 else MEMORY_NAME

    @property
    def overload_name(self) -> str:
        return "" if self._row < 0 else self._tree.store.overload_of(self._row)

    @property
    def id(self) -> int:
        """Differs between any two nodes of a tree."""
        store = self._tree.store
        if self._row >= 0:
            return self._row
        return len(store) + (self._record if self._owned_row < 0 else len(store.memory) + self._owned_row)

    @property
    def correlation_id(self) -> int:
        """The `id` of the same event in `events()`; 0 for Python calls and allocations."""
        return (
            0
            if self._row < 0 or self.tag in (_EventType.PyCall, _EventType.PyCCall)
            else int(self._tree.events.entry_of_row[self._tree.events.entry_row[self._row]]) + 1
        )

    def _time(self, column: str) -> int:
        store = self._tree.store
        if self._row >= 0:
            time = store.columns[column][self._row]
        else:
            time = store.owned.time_ns[self._owned_row] if self._owned_row >= 0 else store.memory.time_ns[self._record]
        return int(time) + store.metadata.epoch_offset_ns

    @property
    def start_time_ns(self) -> int:
        """Since 1970."""
        return self._time("start_ns")

    @property
    def end_time_ns(self) -> int:
        return self._time("end_ns")

    @property
    def duration_time_ns(self) -> int:
        return self.end_time_ns - self.start_time_ns

    @property
    def start_tid(self) -> int:
        """The thread's id: 1 is the first that recorded anything."""
        store = self._tree.store
        if self._owned_row >= 0:
            return self.parent.start_tid if self.parent is not None else store.threads[0].id
        thread = store.thread[self._row] if self._row >= 0 else store.memory.thread[self._record]
        return store.threads[thread].id

    @property
    def finished(self) -> bool:
        return self._row < 0 or not self._tree.store.flags[self._row] & Flag.UNFINISHED

    @property
    def device_type(self) -> DeviceType:
        store = self._tree.store
        if self._owned_row >= 0:
            return DeviceType.CPU
        return DeviceType(
            int(store.device_type[self._row] if self._row >= 0 else store.memory.device_type[self._record])
        )

    @property
    def tag(self) -> _EventType:
        if self._row < 0:
            return _EventType.PyCall if self._owned_row >= 0 else _EventType.Allocation
        kind = self._tree.store.kind[self._row]
        if kind in (Kind.PYTHON, Kind.MODULE):
            return _EventType.PyCall
        if kind in PYTHON_KINDS:
            return _EventType.PyCCall
        return _EventType.Kineto if kind in DEVICE_KINDS or kind in LAUNCHING_KINDS else _EventType.TorchOp

    @property
    def extra_fields(self) -> Any:
        """What is known besides its time and thread; its class depends on `tag`."""
        return self._tree.extra_fields(self)

    @property
    def typed(self) -> tuple[_EventType, Any]:
        return self.tag, self.extra_fields

    def __repr__(self) -> str:
        return f"<_ProfilerEvent {self.tag.name} {self.name!r} of {self.duration_time_ns} ns>"


class Tree:
    """All nodes of a store, linked."""

    def __init__(self, store: EventStore) -> None:
        self.store = store
        self._modules: dict[str, _NNModuleInfo] = {}
        self._classes: dict[str, int] = {}
        steps = np.flatnonzero((store.owned.role == Role.OWNER) & (store.owned.is_optimizer == 1))
        rows = [_ProfilerEvent(self, row, -1) for row in range(len(store))]
        nodes = rows + [_ProfilerEvent(self, -1, record) for record in range(len(store.memory))]
        nodes += [_ProfilerEvent(self, -1, -1, position) for position in steps.tolist()]
        # PyTorch has no such nodes: what is below them takes their position
        loads = store.kind == Kind.LOADING
        above = np.append(kept_ancestors(store.parent, ~loads), -1)
        owners = above[np.concatenate([store.parent, store.memory.row, store.owned.row[steps]])].tolist()
        times = np.concatenate([store.start_ns, store.memory.time_ns, store.owned.time_ns[steps]])
        self.roots: list[_ProfilerEvent] = []
        # rows of equal start stand before their children already
        for position in np.argsort(times, kind="stable").tolist():
            if position < len(rows) and loads[position]:
                continue
            node, owner = nodes[position], owners[position]
            node.parent = rows[owner] if owner >= 0 else None
            (self.roots if owner < 0 else rows[owner]._children).append(node)

    @cached_property
    def events(self) -> EventTree:
        return EventTree(self.store)

    @cached_property
    def _tensors(self) -> EventTensors:
        return EventTensors(self.store)

    def extra_fields(self, node: _ProfilerEvent) -> Any:
        tag = node.tag
        if tag is _EventType.Allocation:
            return self._tensors.allocation(node._record)
        if tag is _EventType.PyCall:
            optimizer = self._tensors.optimizer(node._owned_row) if node._owned_row >= 0 else None
            return _ExtraFields_PyCall(self._frame(node), self._caller(node), self._module(node), optimizer)
        if tag is _EventType.PyCCall:
            return _ExtraFields_PyCCall(self._caller(node))
        if tag is _EventType.Kineto:
            return _ExtraFields_Kineto(node.name)
        store, row = self.store, node._row
        scope = _SCOPES.get(Kind(int(store.kind[row])), RecordScope.FUNCTION)
        inputs, sequence_nr = self._tensors.inputs(row), int(store.sequence_nr[row])
        return _ExtraFields_TorchOp(node.name, inputs, scope, sequence_nr, overload_name=node.overload_name)

    def _frame(self, node: _ProfilerEvent) -> _PyFrameState:
        """The file and line that a Python call's name tells; a module's is where modules are called."""
        found = _FRAME.fullmatch(node.name)
        if found is not None:
            return _PyFrameState(int(found["line"]), found["file"], found["function"])
        if _MODULE.match(node.name):
            return _PyFrameState(0, "nn/modules/module.py", "__call__")
        return _PyFrameState(0, "", node.name)

    def _caller(self, node: _ProfilerEvent) -> _PyFrameState:
        at = node.parent
        while at is not None and at.tag is not _EventType.PyCall:
            at = at.parent
        return self._frame(node if at is None else at)

    def _module(self, node: _ProfilerEvent) -> _NNModuleInfo | None:
        """A call's module as it was seen at its first call; where that was not kept, ids tell modules apart."""
        is_module = node._row >= 0 and self.store.kind[node._row] == Kind.MODULE
        found = _MODULE.fullmatch(node.name) if is_module else None
        if found is None:
            return None
        name, type_name = node.name, found["type"]
        if name not in self._modules:
            class_id = self._classes.setdefault(type_name, len(self._classes) + 1)
            known = self._tensors.module(name)
            self._modules[name] = known or _NNModuleInfo(len(self._modules) + 1, class_id, type_name)
        return self._modules[name]
