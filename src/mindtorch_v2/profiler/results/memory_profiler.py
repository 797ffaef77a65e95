"""PyTorch's names for the memory of a profile: which block was there when, and what it was for.

They are views of a store. What a block is for is found by `analysis.memory`; what PyTorch has no category for
(scratch memory, buffers) has the category that its files use for it.
"""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ... import _accelerators
from ..._device import device as Device
from ..analysis.memory import Blocks, find_blocks, in_pytorchs_terms
from ..analysis.tree import EventTree
from ..export import memory_timeline
from ..export.atomic import atomic_writer
from ..record import kinds
from ..record.enums import DeviceType
from ..store.event_store import EventStore
from ..store.lifetimes import FOREVER

__all__ = ["Action", "Category", "CategoryDict", "Key", "MemoryProfile", "MemoryProfileTimeline", "TensorKey"]


class Category(enum.Enum):
    """What a tensor is for."""

    INPUT = enum.auto()
    TEMPORARY = enum.auto()
    ACTIVATION = enum.auto()
    GRADIENT = enum.auto()
    AUTOGRAD_DETAIL = enum.auto()
    PARAMETER = enum.auto()
    OPTIMIZER_STATE = enum.auto()


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


@dataclass(frozen=True)
class Key:
    """Something on a device."""

    device: Any


@dataclass(frozen=True)
class _Storage:
    """A block: where it lies, and its number, which no other of the process has."""

    ptr: int
    allocation_id: int

    def __repr__(self) -> str:
        return f"{hex(self.ptr):>18} ({self.allocation_id})"


@dataclass(frozen=True)
class TensorKey(Key):
    """The memory of a tensor."""

    id: int
    storage: _Storage

    def __lt__(self, other: TensorKey) -> bool:
        return self._as_sortable < other._as_sortable

    @property
    def _as_sortable(self) -> tuple[int, int, str, int]:
        index = self.device.index
        return self.id, self.storage.allocation_id, self.device.type, -1 if index is None else index


TimelineEntry = tuple[int, Action, tuple[Key, int], int]


class CategoryDict:
    """The category of each tensor's memory. Versions do not matter: memory keeps its purpose when it is written to."""

    def __init__(self) -> None:
        self._values: dict[Key, Category | None] = {}

    def set_by_key(self, key: Key, category: Category | None) -> None:
        self._values[key] = category

    def get(self, key: Key, version: int) -> Category | None:
        return self._values.get(key)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._values)

    def __getitem__(self, key: Key | tuple[Key, int]) -> Category | None:
        return self._values[key[0] if isinstance(key, tuple) else key]


class MemoryProfile:
    """The blocks of a profile: `timeline` lists what happened to them, `categories` what they were for."""

    def __init__(self, result: Any) -> None:
        """`result` is a profile's events: a store, or what has one as `store`."""
        store = result if isinstance(result, (EventStore, EventTree)) else getattr(result, "store", None)
        if store is None:
            raise TypeError(f"expected the results of a profile, got {type(result).__name__}")
        self._tree = EventTree.of(store)
        self._categories = CategoryDict()
        self.timeline: tuple[TimelineEntry, ...] = tuple(
            sorted(self._entries(), key=lambda entry: (entry[0], entry[1].value))
        )

    @property
    def categories(self) -> CategoryDict:
        return self._categories

    def _entries(self) -> Iterator[TimelineEntry]:
        store = self._tree.store
        pairs = {
            (int(t), int(i))
            for table in (store.memory, store.scratch, store.held)
            for t, i in zip(table.device_type.tolist(), table.device_index.tolist())
        }
        for kind, index in sorted(pairs):
            name = DeviceType(kind).name.lower()
            device = (
                Device(name, index)
                if index >= 0 and (name in _accelerators.names() or name == "cuda")
                else Device("cpu")
            )
            yield from self._entries_of(find_blocks(self._tree, kind, index), device)

    def _entries_of(self, blocks: Blocks, device: Any) -> Iterator[TimelineEntry]:
        offset = self._tree.store.metadata.epoch_offset_ns
        columns = (
            blocks.born_ns,
            blocks.died_ns,
            blocks.nbytes,
            blocks.category,
            blocks.existed,
            blocks.block,
            blocks.address,
        )
        for place, (born, died, nbytes, category, existed, block, address) in enumerate(
            zip(*(c.tolist() for c in columns))
        ):
            key = TensorKey(device, block or place, _Storage(address, block or place))
            self._categories.set_by_key(key, _INDEX_TO_CATEGORY[in_pytorchs_terms(category)])
            yield (
                (-1, Action.PREEXISTING, (key, 0), nbytes)
                if existed
                else (born + offset, Action.CREATE, (key, 0), nbytes)
            )
            if died < FOREVER:
                yield died + offset, Action.DESTROY, (key, 0), nbytes


class MemoryProfileTimeline:
    """A memory profile that can be written to files, for one device each."""

    def __init__(self, memory_profile: MemoryProfile) -> None:
        self._profile = memory_profile
        self.timeline = memory_profile.timeline
        self.categories = memory_profile.categories

    def _of_device(self, device_str: str) -> memory_timeline.MemoryProfileTimeline:
        return memory_timeline.make_timeline(self._profile._tree, device_str)

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
