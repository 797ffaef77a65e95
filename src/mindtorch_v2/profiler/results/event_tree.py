"""The tree of everything a window recorded, in the shape of PyTorch's `experimental_event_tree()`.

Operators, annotations, Python calls and allocations are nodes. A tree is made once per result, so nodes are the same
objects wherever one comes across them: `child.parent is node`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..._device import device
from ..._dtype import ALL as _DTYPES
from ..._dtype import dtype
from ..._tensor import layout, strided
from ..analysis.tree import EventTree
from ..analysis.values import as_lists
from ..record.descriptions import InputDescription
from ..record.enums import DeviceType, RecordScope, _EventType
from ..record.kinds import DEVICE_KINDS, LAUNCHING_KINDS, PYTHON_KINDS, Flag, Kind
from ..store.event_store import EventStore, kept_ancestors

MEMORY_NAME = "[memory]"
_FRAME = re.compile(r"(?P<file>.*)\((?P<line>\d+)\): (?P<function>.*)", re.DOTALL)
_MODULE = re.compile(r"nn\.Module: (?P<type>.*)_\d+", re.DOTALL)
_DTYPE_OF_NAME = {d.cpp_name: d for d in _DTYPES}
_SCOPES = {
    Kind.BACKWARD: RecordScope.BACKWARD_FUNCTION,
    Kind.SCOPE: RecordScope.USER_SCOPE,
    Kind.STEP: RecordScope.USER_SCOPE,
}


@dataclass(frozen=True)
class _TensorMetadata:
    """What a tensor argument looked like. No tensor is kept while recording and none is numbered, so the fields that
    identify one are None.
    """

    sizes: list[int]
    strides: list[int]
    dtype: dtype | None
    device: device
    layout: layout = strided
    impl_ptr: int | None = None
    storage_data_ptr: int | None = None
    id: int | None = None
    allocation_id: int | None = None

    @property
    def dim(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class _PyFrameState:
    """A place in a program."""

    line_number: int
    file_name: str
    function_name: str


@dataclass(frozen=True)
class _NNModuleInfo:
    """The module that a call belongs to.

    `self_ptr` and `cls_ptr` are numbers that tell modules and classes of one result apart.
    """

    self_ptr: int
    cls_ptr: int
    cls_name: str
    parameters: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class _OptimizerInfo:
    """The optimizer that a call belongs to; not recorded here."""

    self_ptr: int
    parameters: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class _ExtraFields_TorchOp:
    """An operator, a backward node or an annotation."""

    name: str
    inputs: list[Any]
    scope: RecordScope
    sequence_number: int
    allow_tf32_cublas: bool = False


@dataclass(frozen=True)
class _ExtraFields_Backend:
    """A call that a delegate reported; none is recorded here."""

    name: str = ""


@dataclass(frozen=True)
class _ExtraFields_Vulkan:
    """A kernel of Vulkan; none is recorded here."""

    name: str = ""


@dataclass(frozen=True)
class _ExtraFields_Allocation:
    """Memory gained (`alloc_size` positive) or given back.

    A block keeps its `allocation_id` and its `id` from birth to death.
    """

    ptr: int
    alloc_size: int
    total_allocated: int
    total_reserved: int
    allocation_id: int | None
    device: device
    id: int | None = None


@dataclass(frozen=True)
class _ExtraFields_OutOfMemory:
    """An allocation that failed; it raises instead of being recorded."""

    alloc_size: int = 0


@dataclass(frozen=True)
class _ExtraFields_PyCall:
    """A Python function or a module's call."""

    callsite: _PyFrameState
    caller: _PyFrameState
    module: _NNModuleInfo | None = None
    optimizer: _OptimizerInfo | None = None


@dataclass(frozen=True)
class _ExtraFields_PyCCall:
    """A call of a function that is written in C."""

    caller: _PyFrameState


@dataclass(frozen=True)
class _ExtraFields_Kineto:
    """Work of a device, or a call into its runtime."""

    name: str = ""


class _ProfilerEvent:
    """A node: what happened (`tag`, `extra_fields`, or both as `typed`), when, on which thread, and what it is part
    of.
    """

    __slots__ = ("_tree", "_row", "_record", "_children", "parent")
    _tree: Tree
    _row: int  # of the store; -1 for an allocation
    _record: int  # of the memory table; -1 for what is none
    _children: list[_ProfilerEvent]
    parent: _ProfilerEvent | None

    def __init__(self, tree: Tree, row: int, record: int) -> None:
        self._tree, self._row, self._record, self._children, self.parent = tree, row, record, [], None

    @property
    def children(self) -> list[_ProfilerEvent]:
        """What began inside, in the order of time."""
        return list(self._children)

    @property
    def name(self) -> str:
        return MEMORY_NAME if self._row < 0 else self._tree.store.name_of(self._row)

    @property
    def overload_name(self) -> str:
        return "" if self._row < 0 else self._tree.store.overload_of(self._row)

    @property
    def id(self) -> int:
        """Differs between any two nodes of a tree."""
        return self._row if self._row >= 0 else len(self._tree.store) + self._record

    @property
    def correlation_id(self) -> int:
        """The `id` of the same event in `events()`; 0 for Python calls and allocations."""
        return (
            0
            if self._row < 0 or self.tag in (_EventType.PyCall, _EventType.PyCCall)
            else int(self._tree.events.entry_of_row[self._tree.events.shown_row[self._row]]) + 1
        )

    @property
    def start_time_ns(self) -> int:
        """Since 1970."""
        store = self._tree.store
        return (
            int(store.start_ns[self._row] if self._row >= 0 else store.memory.time_ns[self._record])
            + store.metadata.epoch_offset_ns
        )

    @property
    def end_time_ns(self) -> int:
        store = self._tree.store
        return (
            int(store.end_ns[self._row] if self._row >= 0 else store.memory.time_ns[self._record])
            + store.metadata.epoch_offset_ns
        )

    @property
    def duration_time_ns(self) -> int:
        return self.end_time_ns - self.start_time_ns

    @property
    def start_tid(self) -> int:
        """The thread's number: 1 is the first that recorded anything."""
        store = self._tree.store
        thread = store.thread[self._row] if self._row >= 0 else store.memory.thread[self._record]
        return store.threads[thread].number

    @property
    def finished(self) -> bool:
        return self._row < 0 or not self._tree.store.flags[self._row] & Flag.UNFINISHED

    @property
    def device_type(self) -> DeviceType:
        store = self._tree.store
        return DeviceType(
            int(store.device_type[self._row] if self._row >= 0 else store.memory.device_type[self._record])
        )

    @property
    def tag(self) -> _EventType:
        if self._row < 0:
            return _EventType.Allocation
        kind = self._tree.store.kind[self._row]
        if kind in (Kind.PYTHON, Kind.MODULE):
            return _EventType.PyCall
        if kind in PYTHON_KINDS:
            return _EventType.PyCCall
        return _EventType.Kineto if kind in DEVICE_KINDS or kind in LAUNCHING_KINDS else _EventType.TorchOp

    @property
    def extra_fields(self) -> Any:
        """What is known besides time and place; its class depends on `tag`."""
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
        rows = [_ProfilerEvent(self, row, -1) for row in range(len(store))]
        records = [_ProfilerEvent(self, -1, record) for record in range(len(store.memory))]
        # PyTorch has no such nodes: what is below them stands in their place
        loads = store.kind == Kind.LOADING
        above = np.append(kept_ancestors(store.parent, ~loads), -1)
        owners = above[np.concatenate([store.parent, store.memory.row])].tolist()
        times = np.concatenate([store.start_ns, store.memory.time_ns])
        nodes = rows + records
        self.roots: list[_ProfilerEvent] = []
        # rows of equal start stand before their children already
        for place in np.argsort(times, kind="stable").tolist():
            if place < len(rows) and loads[place]:
                continue
            node, owner = nodes[place], owners[place]
            node.parent = rows[owner] if owner >= 0 else None
            (self.roots if owner < 0 else rows[owner]._children).append(node)

    @cached_property
    def events(self) -> EventTree:
        return EventTree(self.store)

    def extra_fields(self, node: _ProfilerEvent) -> Any:
        tag = node.tag
        if tag is _EventType.Allocation:
            return self._allocation(node._record)
        if tag is _EventType.PyCall:
            return _ExtraFields_PyCall(self._frame(node), self._caller(node), self._module(node))
        if tag is _EventType.PyCCall:
            return _ExtraFields_PyCCall(self._caller(node))
        if tag is _EventType.Kineto:
            return _ExtraFields_Kineto(node.name)
        store, row = self.store, node._row
        scope = _SCOPES.get(Kind(int(store.kind[row])), RecordScope.FUNCTION)
        return _ExtraFields_TorchOp(node.name, self._inputs(row), scope, int(store.sequence_nr[row]))

    # ---- arguments ------------------------------------------------------------------------------------------

    def _inputs(self, row: int) -> list[Any]:
        number = self.store.inputs_of(row)
        if number is None or not self.store.metadata.options.describes_inputs:
            return []
        return [_argument(number, i) for i in range(len(number.types))]

    # ---- Python ---------------------------------------------------------------------------------------------

    def _frame(self, node: _ProfilerEvent) -> _PyFrameState:
        """The place that a Python call's name tells; a module's is where modules are called."""
        found = _FRAME.fullmatch(node.name)
        if found is None:
            return (
                _PyFrameState(0, "nn/modules/module.py", "__call__")
                if _MODULE.match(node.name)
                else _PyFrameState(0, "", node.name)
            )
        return _PyFrameState(int(found["line"]), found["file"], found["function"])

    def _caller(self, node: _ProfilerEvent) -> _PyFrameState:
        at = node.parent
        while at is not None and at.tag is not _EventType.PyCall:
            at = at.parent
        return self._frame(node if at is None else at)

    def _module(self, node: _ProfilerEvent) -> _NNModuleInfo | None:
        found = _MODULE.fullmatch(node.name) if self.store.kind[node._row] == Kind.MODULE else None
        if found is None:
            return None
        name, type_name = node.name, found["type"]
        if name not in self._modules:
            number = self._classes.setdefault(type_name, len(self._classes) + 1)
            self._modules[name] = _NNModuleInfo(len(self._modules) + 1, number, type_name)
        return self._modules[name]

    # ---- memory ---------------------------------------------------------------------------------------------

    @cached_property
    def _allocation_ids(self) -> list[int]:
        """Per record: which block it is of, counted from 1 in the order of time. Blocks are told apart by their
        numbers, or where there are none (a loaded trace of PyTorch) by address: a free is then of the last
        allocation there.
        """
        memory = self.store.memory
        living: dict[tuple[int, int, int], int] = {}
        known: dict[int, int] = {}
        found: list[int] = []
        count = 0
        places = zip(memory.device_type.tolist(), memory.device_index.tolist(), memory.address.tolist())
        for place, nbytes, block in zip(places, memory.nbytes.tolist(), memory.block.tolist()):
            number = known.get(block) if block > 0 else living.pop(place, None) if nbytes < 0 else None
            if number is None:
                count += 1
                number = count
            if block > 0:
                known[block] = number
            elif nbytes > 0:
                living[place] = number
            found.append(number)
        return found

    def _allocation(self, record: int) -> _ExtraFields_Allocation:
        memory = self.store.memory
        kind, index = DeviceType(int(memory.device_type[record])).name.lower(), int(memory.device_index[record])
        place = device(kind) if index < 0 or kind == "cpu" else device(kind, index)
        return _ExtraFields_Allocation(
            int(memory.address[record]),
            int(memory.nbytes[record]),
            int(memory.total[record]),
            0,
            self._allocation_ids[record],
            place,
            self._allocation_ids[record] - 1,
        )


def _argument(inputs: InputDescription, i: int) -> Any:
    """One argument: a tensor's looks, a list of those, or the value."""
    shape, strides, name = inputs.shapes[i], inputs.strides[i], inputs.types[i]
    if name == "TensorList":
        return [_TensorMetadata(list(a), list(b), None, device("cpu")) for a, b in zip(shape, strides)]
    if name in _DTYPE_OF_NAME:
        return _TensorMetadata(list(shape), list(strides), _DTYPE_OF_NAME[name], device("cpu"))
    return as_lists(inputs.values[i])
