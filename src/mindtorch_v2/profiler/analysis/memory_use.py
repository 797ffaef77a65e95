"""Memory over time in a form that can be drawn, who held it at its peak, and what steps did not release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..record.enums import DeviceType
from ..store.distinct import distinct
from ..store.event_store import EventStore
from ..store.lifetimes import FOREVER
from .memory import Blocks, Category, find_blocks
from .memory_peak import Holder, held_at_peak, origins
from .steps import Steps, find_steps
from .tree import EventTree

_KEPT_ON_PURPOSE = (Category.PARAMETER, Category.OPTIMIZER_STATE, Category.GRADIENT, Category.BUFFER)
_FIRST_STEPS = 1  # what the first step keeps (states, caches) is not a leak


class Survivor(NamedTuple):
    """Blocks of one origin that were allocated in steps after the first and still lived when the recording ended."""

    name: str
    module: str
    line: str
    category: Category
    nbytes: int
    blocks: int
    steps: int  # in how many steps such blocks were allocated


@dataclass(frozen=True)
class MemoryUse:
    """The memory of one device.

    times_ns, totals   live bytes after each time, one column per category; thinned so that every peak of the sum stays
    peak_bytes         the highest sum, at peak_ns, exact; at_peak: its categories
    at_ends            live bytes at the end of each step
    growth_bytes       median growth from the end of one step to the end of the next, without the first
    """

    device: str
    times_ns: np.ndarray
    totals: np.ndarray
    peak_bytes: int
    peak_ns: int
    at_peak: np.ndarray
    holders: list[Holder]
    survivors: list[Survivor]
    at_ends: list[int]
    growth_bytes: int
    points: int  # how many changes there were


def memory_use(source: EventStore | EventTree, most_points: int = 1500, steps: Steps | None = None) -> list[MemoryUse]:
    """One entry per device whose memory was recorded; an empty list where memory was not."""
    tree = EventTree.of(source)
    store = tree.store
    tables = (store.memory, store.held)
    devices = sorted(
        {device for t in tables for device in zip(t.device_type.tolist(), t.device_index.tolist())}
        if len(store.memory)
        else ()
    )
    steps = find_steps(store) if steps is None else steps
    return [_use(tree, *device, most_points, steps) for device in devices if device[0] == 0 or device[1] >= 0]


def _use(tree: EventTree, device_type: int, device_index: int, most_points: int, steps: Steps) -> MemoryUse:
    store = tree.store
    blocks = find_blocks(tree, device_type, device_index)
    changes = changes_of(blocks)
    times, whole = changes.times_ns, changes.totals()
    top = int(np.argmax(whole)) if len(whole) else -1
    chosen = _points_to_keep(times, whole, most_points)
    totals = changes.totals_by_category(np.append(chosen, top)) if top >= 0 else np.zeros((1, len(Category)), np.int64)
    name = DeviceType(device_type).name.lower() + (f":{device_index}" if device_index >= 0 else "")
    before = np.searchsorted(times, steps.end_ns, "right") - 1
    at_ends = np.where(before >= 0, whole[before] if len(whole) else 0, 0)
    return MemoryUse(
        name,
        times[chosen],
        totals[:-1],
        int(whole[top]) if top >= 0 else 0,
        int(times[top]) if top >= 0 else 0,
        totals[-1],
        held_at_peak(store, blocks),
        _survivors(store, blocks, steps),
        at_ends.tolist(),
        int(np.median(np.diff(at_ends[_FIRST_STEPS:]))) if len(at_ends) > _FIRST_STEPS + 1 else 0,
        len(times),
    )


class Changes(NamedTuple):
    """What happens to memory, in the order of time: signed bytes and their categories. At one moment deaths come first,
    so that memory which is handed on is not counted twice."""

    times_ns: np.ndarray
    nbytes: np.ndarray
    category: np.ndarray

    def totals(self) -> np.ndarray:
        """Live bytes after each change."""
        return np.cumsum(self.nbytes)

    def totals_by_category(self, indices: np.ndarray) -> np.ndarray:
        """Live bytes by category after the changes at `indices`: one at a time, so that little memory is needed."""
        made = np.zeros((len(indices), len(Category)), np.int64)
        for category in distinct(self.category).tolist():
            made[:, category] = np.cumsum(np.where(self.category == category, self.nbytes, 0))[indices]
        return made


def changes_of(blocks: Blocks) -> Changes:
    """Births and deaths of blocks in order."""
    freed = np.flatnonzero(blocks.died_ns < FOREVER)
    times = np.concatenate([blocks.died_ns[freed], blocks.born_ns])
    brief = np.concatenate([blocks.died_ns[freed] == blocks.born_ns[freed], blocks.died_ns == blocks.born_ns])
    is_death = np.repeat([True, False], [len(freed), len(blocks.born_ns)])
    order = np.lexsort((np.where(brief, 1 + is_death, ~is_death).astype(np.int8), times))
    nbytes = np.concatenate([-blocks.nbytes[freed], blocks.nbytes])[order]
    return Changes(times[order], nbytes, np.concatenate([blocks.category[freed], blocks.category])[order])


def _points_to_keep(times: np.ndarray, whole: np.ndarray, most: int) -> np.ndarray:
    """Indices of at most about `most` points: the lowest, highest and last of every piece of time, and of every run
    of changes.
    """
    count = len(times)
    if count <= most:
        return np.arange(count)
    pieces = max(most // 6, 1)
    by_time = (times - times[0]) * pieces // max(int(times[-1] - times[0]) + 1, 1)
    by_index = np.arange(count) * pieces // count
    chosen = [np.zeros(1, np.int64)]
    for bins in (by_time, by_index):
        order = np.lexsort((whole, bins))
        begins = np.flatnonzero(np.append(True, bins[order][1:] != bins[order][:-1]))
        chosen += [
            order[begins],
            order[np.append(begins[1:] - 1, count - 1)],
            np.flatnonzero(np.append(bins[1:] != bins[:-1], True)),
        ]
    return distinct(np.concatenate(chosen))


def _survivors(store: EventStore, blocks: Blocks, steps: Steps) -> list[Survivor]:
    """What was allocated in later steps, is not kept on purpose, and lived on; by origin, largest first."""
    if len(steps.number) < _FIRST_STEPS + 2:
        return []
    step = np.searchsorted(steps.start_ns, blocks.born_ns, "right") - 1
    last = len(steps.number) - 1
    chosen = np.flatnonzero(
        (blocks.died_ns == FOREVER)
        & ~blocks.existed
        & (step >= _FIRST_STEPS)
        & (step < last)
        & ~np.isin(blocks.category, _KEPT_ON_PURPOSE)
    )
    groups: dict[tuple[str, str, str, Category], list[int]] = {}
    for block, origin in zip(chosen.tolist(), origins(store, blocks.row[chosen])):
        groups.setdefault((*origin, Category(blocks.category[block])), []).append(block)
    found = [
        Survivor(*key, int(blocks.nbytes[members].sum()), len(members), len(set(step[members].tolist())))
        for key, members in groups.items()
    ]
    return sorted(found, key=lambda s: (-s.nbytes, s.name, s.line))
