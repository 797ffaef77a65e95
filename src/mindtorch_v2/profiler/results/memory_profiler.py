"""PyTorch's names for the memory of a profile: which block was there when, and what it was for.

They are views of a store. What memory that operators worked on was for follows from the flow of tensors, as in PyTorch;
of all other memory `analysis.memory` says it, in the categories that PyTorch's files use (scratch memory is TEMPORARY).
"""

from __future__ import annotations

import enum
import itertools
import json
import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from ... import _accelerators
from ..._device import device as Device
from ..analysis.memory import find_blocks, in_pytorchs_terms
from ..analysis.tree import EventTree
from ..export import memory_timeline
from ..export.atomic import atomic_writer
from ..record import kinds
from ..record.enums import DeviceType
from ..store.event_store import EventStore
from ..store.identities import MISSING, Identities
from ..store.lifetimes import FOREVER
from .data_flow import DataFlowGraph, OpTree, extract_gradients, extract_parameters
from .event_tree import Tree
from .flow_categories import categories_by_flow
from .memory_keys import Category, Key, TensorAndID, TensorKey, _Storage

__all__ = ["Action", "Category", "CategoryDict", "Key", "MemoryProfile", "MemoryProfileTimeline", "TensorKey"]


_CATEGORY_TO_COLORS: dict[Category | None, str] = {
    Category.PARAMETER: "darkgreen",
    Category.OPTIMIZER_STATE: "goldenrod",
    Category.INPUT: "black",
    Category.TEMPORARY: "mediumpurple",
    Category.ACTIVATION: "red",
    Category.GRADIENT: "mediumblue",
    Category.AUTOGRAD_DETAIL: "royalblue",
    None: "grey",
}
_CATEGORY_TO_INDEX: dict[Category | None, int] = {category: index for index, category in enumerate(_CATEGORY_TO_COLORS)}
_INDEX_TO_CATEGORY = {index: category for category, index in _CATEGORY_TO_INDEX.items()}


class Action(enum.Enum):
    """What happened to a block."""

    PREEXISTING = enum.auto()
    CREATE = enum.auto()
    INCREMENT_VERSION = enum.auto()
    DESTROY = enum.auto()


_ACTION_TO_INDEX = {action: action.value for action in Action}


TimelineEntry = tuple[int, Action, TensorAndID, int]


_HELD = frozenset({Category.PARAMETER, Category.GRADIENT, Category.OPTIMIZER_STATE})


class _Block(NamedTuple):
    key: TensorKey
    born_ns: int  # since 1970; -1 for what was there before
    died_ns: int | None
    nbytes: int
    category: Category | None


class CategoryDict:
    """The category of each tensor's memory. Versions may have their own: memory that an operator writes to may become
    something else by it.
    """

    def __init__(self) -> None:
        self._values: dict[Key, Category | None] = {}
        self._by_version: dict[tuple[Key, int], Category | None] = {}

    def set_by_key(self, key: Key, category: Category | None) -> None:
        """The category of all versions that have none of their own."""
        self._values[key] = category

    def set_by_version(self, key: Key, version: int, category: Category | None) -> None:
        self._by_version[key, version] = category

    def get(self, key: Key, version: int) -> Category | None:
        found = self._by_version.get((key, version), self._values)
        return self._values.get(key) if found is self._values else found  # type: ignore[return-value]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._values)

    def __getitem__(self, key: Key | tuple[Key, int]) -> Category | None:
        return self.get(*key) if isinstance(key, tuple) else self._values[key]


class MemoryProfile:
    """The blocks of a profile: `timeline` lists what happened to them, `categories` what they were for."""

    def __init__(self, result: Any) -> None:
        """`result` is a profile's events: a store, or what has one as `store`."""
        store = result if isinstance(result, (EventStore, EventTree)) else getattr(result, "store", None)
        if store is None:
            raise TypeError(f"expected the results of a profile, got {type(result).__name__}")
        self._tree = EventTree.of(store)
        self._categories = CategoryDict()
        self._blocks = tuple(self._find_blocks())
        for block in self._blocks:
            self._categories.set_by_key(block.key, block.category)
        for (key, version), category in categories_by_flow(self._data_flow_graph, self._held_categories()).items():
            self._categories.set_by_version(key, version, category)

    @property
    def categories(self) -> CategoryDict:
        return self._categories

    @cached_property
    def _op_tree(self) -> OpTree:
        return OpTree(Tree(self._tree.store).roots)

    @cached_property
    def _data_flow_graph(self) -> DataFlowGraph:
        return DataFlowGraph(self._op_tree)

    def _held_categories(self) -> dict[TensorKey, Category]:
        """The categories that modules, optimizers and the end of the backward pass tell."""
        known = {block.key: block.category for block in self._blocks if block.category and block.category in _HELD}
        for node in self._op_tree.dfs():
            for key in extract_parameters(node):
                known[key] = Category.PARAMETER
            for _, key in extract_gradients(node):
                known[key] = Category.GRADIENT
        return known

    @cached_property
    def timeline(self) -> tuple[TimelineEntry, ...]:
        """(nanoseconds since 1970, what happened, (memory, its version), bytes), in the order of time; -1 for what was
        there before."""
        sizes = {block.key: block.nbytes for block in self._blocks}
        entries: list[TimelineEntry] = []
        last = dict.fromkeys(sizes, 0)
        for node in self._data_flow_graph.flow_nodes:
            for key, edge in node._edges.items():
                if edge.mutated and edge.input_version is not None and key in sizes:
                    entries.append((node.start_time, Action.INCREMENT_VERSION, (key, edge.input_version), sizes[key]))
                    last[key] = edge.input_version + 1
        for block in self._blocks:
            born = Action.CREATE if block.born_ns >= 0 else Action.PREEXISTING
            entries.append((block.born_ns, born, (block.key, 0), block.nbytes))
            if block.died_ns is not None:
                entries.append((block.died_ns, Action.DESTROY, (block.key, last[block.key]), block.nbytes))
        return tuple(sorted(entries, key=lambda entry: (entry[0], entry[1].value, entry[2][0])))

    def _category_snapshot(self) -> dict[TensorAndID, Category | None]:
        """The category of every version of all memory that has one."""
        found: dict[TensorAndID, Category | None] = {}
        for _, _, key_and_version, _ in self.timeline:
            found[key_and_version] = self._categories.get(*key_and_version)
        return found

    def _find_blocks(self) -> Iterator[_Block]:
        store = self._tree.store
        pairs = {
            (int(t), int(i))
            for table in (store.memory, store.scratch, store.held)
            for t, i in zip(table.device_type.tolist(), table.device_index.tolist())
        }
        ids = _Ids(store)
        offset = store.metadata.epoch_offset_ns
        for kind, index in sorted(pairs):
            name = DeviceType(kind).name.lower()
            is_indexed = index >= 0 and (name in _accelerators.names() or name == "cuda")
            device = Device(name, index) if is_indexed else Device("cpu")
            blocks = find_blocks(self._tree, kind, index)
            names = ("born_ns", "died_ns", "nbytes", "category", "existed", "block", "address")
            for born, died, nbytes, category, existed, block, address in zip(
                *(getattr(blocks, n).tolist() for n in names)
            ):
                whole, allocation = ids.of_block(block)
                yield _Block(
                    TensorKey(device, whole, _Storage(address, allocation)),
                    -1 if existed else born + offset,
                    None if died >= FOREVER else died + offset,
                    nbytes,
                    _INDEX_TO_CATEGORY[in_pytorchs_terms(category)],
                )


class _Ids:
    """The ids of blocks and of their tensors, as the event tree has them; negative ones for what it does not show."""

    def __init__(self, store: EventStore) -> None:
        known = Identities(store)
        self._known: dict[int, tuple[int, int]] = {}
        for table, ids, allocations in (
            (store.memory, known.memory_ids, known.memory_allocations),
            (store.references, known.reference_ids, known.reference_allocations),
            (store.owned, known.owned_ids, known.owned_allocations),
        ):
            for block, whole, allocation in zip(table.block.tolist(), ids.tolist(), allocations.tolist()):
                if block > 0:
                    self._known[block] = (whole, allocation)
        self._further = itertools.count(-2, -1)

    def of_block(self, block: int) -> tuple[int, int]:
        whole, allocation = self._known.get(block, (MISSING, MISSING))
        return next(self._further) if whole < 0 else whole, next(self._further) if allocation < 0 else allocation


class MemoryProfileTimeline:
    """A memory profile that can be written to files, for one device each."""

    def __init__(self, memory_profile: MemoryProfile) -> None:
        self._tree = memory_profile._tree
        self.timeline = memory_profile.timeline
        self.categories = memory_profile.categories

    def _of_device(self, device_str: str) -> memory_timeline.MemoryProfileTimeline:
        return memory_timeline.make_timeline(self._tree, device_str)

    def _coalesce_timeline(self, device_str: str) -> tuple[list[int], list[list[int]]]:
        """Times in microseconds, and after each the live bytes: a zero, then one number per category."""
        return self._of_device(device_str).totals()

    def export_memory_timeline(self, path: str | os.PathLike[str], device_str: str) -> None:
        """`[times, sizes]` as JSON."""
        with atomic_writer(path) as out:
            out.write(json.dumps(self._coalesce_timeline(device_str)))

    def export_memory_timeline_raw(self, path: str | os.PathLike[str], device_str: str) -> None:
        """`[[nanoseconds, action, signed bytes, category], ...]` as JSON."""
        self._of_device(device_str).export_memory_timeline_raw(path)

    def export_memory_timeline_html(
        self,
        path: str | os.PathLike[str],
        device_str: str,
        figsize: tuple[int, int] = (20, 12),
        title: str | None = None,
    ) -> None:
        """A page with the picture. It fits the window: `figsize` changes nothing."""
        self._of_device(device_str).export_memory_timeline_html(path)


assert [c.name if c else "UNKNOWN" for c in _CATEGORY_TO_INDEX] == [
    c.name for c in kinds.Category if c <= kinds.Category.UNKNOWN
]
