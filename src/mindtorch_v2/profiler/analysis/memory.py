"""Memory over time: which blocks were live when, and what each was for.

A store knows when each block came and went and inside which events, and what tensors held when the recording began
and ended: parameters, gradients, the state of optimizers, buffers of modules. What a block was for follows from
that:

| category | a block that |
|---|---|
| SCRATCH | was allocated and given back inside one and the same operator |
| PARAMETER, OPTIMIZER_STATE, GRADIENT, BUFFER | was held as such when the recording began or ended, or was owned as
such by a module that was called or an optimizer that stepped |
| OPTIMIZER_STATE | was allocated during `Optimizer.step` and outlived it |
| GRADIENT | was allocated in a backward pass and outlived that pass |
| AUTOGRAD_DETAIL | was handed from one backward function to another |
| INPUT | came from a data loader, or from a creation operator outside all modules, and lived until a backward pass
or was given to a module; or was there before |
| ACTIVATION | was allocated by any other forward operator and lived until a backward pass; or was there before, as
part of a graph |
| TEMPORARY | went earlier than that |
| unknown | is none of these: no backward pass followed |
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ..record.kinds import WORKING_KINDS, Category, Kind, Role
from ..store.distinct import distinct
from ..store.event_store import EventStore, HeldTable, MemoryTable, OwnedTable
from ..store.lifetimes import FOREVER as _FOREVER
from ..store.lifetimes import Lifetimes, block_lifetimes
from .tree import EventTree

__all__ = ["Action", "Blocks", "Category", "Change", "changes", "find_blocks", "running_totals"]

_ROLES = {Role.GRADIENT: Category.GRADIENT, Role.STATE: Category.OPTIMIZER_STATE, Role.PARAMETER: Category.PARAMETER}
_HELD_AS = (Category.PARAMETER, Category.OPTIMIZER_STATE, Category.GRADIENT, Category.BUFFER)
_CREATORS = frozenset(
    f"aten::{name}"
    for name in (
        "empty",
        "empty_like",
        "empty_strided",
        "zeros",
        "zeros_like",
        "ones",
        "ones_like",
        "full",
        "full_like",
        "rand",
        "rand_like",
        "randn",
        "randn_like",
        "randint",
        "randint_like",
        "randperm",
        "arange",
        "linspace",
        "logspace",
        "eye",
        "tensor",
        "scalar_tensor",
        "lift_fresh",
        "from_file",
        "normal",
        "bernoulli",
        "tril_indices",
        "triu_indices",
    )
)


class Action(IntEnum):
    """What happened to a block."""

    PREEXISTING = 1
    CREATE = 2
    INCREMENT_VERSION = 3
    DESTROY = 4


class Blocks(NamedTuple):
    """The blocks of one device, in the order in which they began: columns of equal length.

    `died_ns` is past all times for a block that outlived the window, `row` the innermost event it was allocated in
    or -1.
    `existed` marks what was there before the window: it began with it. `block` is its id, 0 where it has none.
    """

    born_ns: np.ndarray
    died_ns: np.ndarray
    nbytes: np.ndarray
    row: np.ndarray
    category: np.ndarray
    existed: np.ndarray
    block: np.ndarray
    address: np.ndarray


class Change(NamedTuple):
    """One line of a timeline: time since 1970 in nanoseconds, what happened, signed bytes, what for."""

    time_ns: int
    action: Action
    nbytes: int
    category: Category


def find_blocks(source: EventStore | EventTree, device_type: int = 0, device_index: int = -1) -> Blocks:
    """The blocks that lived on a device inside the window."""
    store = EventTree.of(source).store
    memory = _all_records(store)
    known = block_lifetimes(memory, store.held)
    mine = (known.device_type == device_type) & (known.device_index == device_index)
    known = Lifetimes(*(column[mine] for column in known))
    row = np.append(memory.row, -1)[known.record]
    thread = np.where(row >= 0, np.append(store.thread, -1)[row], np.append(memory.thread, -1)[known.record])
    blocks = Blocks(
        known.born_ns,
        known.died_ns,
        known.nbytes,
        row,
        np.zeros(len(row), np.int8),
        known.record < 0,
        known.block,
        known.address,
    )
    return blocks._replace(category=_categories(store, blocks, thread))


def _all_records(store: EventStore) -> MemoryTable:
    """Tensors' memory and kernels' own, in the order of time."""
    if not len(store.scratch):
        return store.memory
    order = np.argsort(np.concatenate([store.memory.time_ns, store.scratch.time_ns]), kind="stable")
    return MemoryTable(
        {n: np.concatenate([c, store.scratch.columns[n]])[order] for n, c in store.memory.columns.items()}
    )


def _categories(store: EventStore, blocks: Blocks, thread: np.ndarray) -> np.ndarray:
    held, owned = _held_as(store.held, blocks.block), _owned_as(store.owned, blocks.block)
    return np.select(
        [_is_scratch(store, blocks), np.isin(held, _HELD_AS), owned >= 0, blocks.existed & (held >= 0)],
        [np.full(len(held), Category.SCRATCH), held, owned, held],
        _by_events(store, blocks, thread),
    ).astype(np.int8)


def _held_as(held: HeldTable, block: np.ndarray) -> np.ndarray:
    """What each block was held as: at the end if it is known to have a purpose then, else when first seen, else -1."""
    found = np.full(len(block), -1, np.int64)
    named = np.isin(held.category, _HELD_AS)
    for rows in (np.flatnonzero(held.at_end == 0)[::-1], np.flatnonzero((held.at_end == 1) & named)):
        order = rows[np.argsort(held.block[rows], kind="stable")]
        block_ids = held.block[order]
        index = np.minimum(np.searchsorted(block_ids, block, "right") - 1, len(order) - 1)
        if len(order):
            found = np.where((block_ids[index] == block) & (block > 0), held.category[order[index]], found)
    return found


def _owned_as(owned: OwnedTable, block: np.ndarray) -> np.ndarray:
    """What each block was to the module or optimizer that owned it when it was looked at, else -1."""
    found = np.full(len(block), -1, np.int64)
    for role, category in _ROLES.items():
        mine = owned.block[(owned.role == role) & (owned.block > 0)]
        found = np.where(np.isin(block, mine), category, found) if len(mine) else found
    return found


def _is_given_to_module(store: EventStore, block: np.ndarray) -> np.ndarray:
    """Whether anything that runs inside a module's call was given each block."""
    inside = _outermost(store, store.kind == Kind.MODULE)[store.references.row] >= 0
    return np.isin(block, store.references.block[inside]) & (block > 0)


def _is_scratch(store: EventStore, blocks: Blocks) -> np.ndarray:
    end = np.append(np.where(np.isin(store.kind, WORKING_KINDS), store.end_ns, -1), -1)
    return (blocks.row >= 0) & (blocks.died_ns <= end[blocks.row])


def _by_events(store: EventStore, blocks: Blocks, thread: np.ndarray) -> np.ndarray:
    """What blocks that were allocated in the window were for, by the events around them."""
    born, died, row = blocks.born_ns, blocks.died_ns, blocks.row

    def named(test: Callable[[str], bool]) -> np.ndarray:
        return np.array([test(text) for text in store.strings] or [False])[store.name]

    engine = (store.kind == Kind.NODE) | (store.kind == Kind.BACKWARD)
    optimizer = _end_of_enclosing(store, named(lambda name: name.startswith("Optimizer.step#")), thread, born)
    loader = _end_of_enclosing(store, named(lambda name: name.startswith("enumerate(DataLoader)#")), thread, born)
    node = _outermost(store, engine)
    operator = _outermost(store, store.kind == Kind.OP)
    ends = np.append(store.end_ns, _FOREVER)
    passes = _backward_passes(store, node[:-1] >= 0)
    next_pass = np.append(passes[0], _FOREVER)[np.searchsorted(passes[0], born, "left")]
    pass_end = np.append(0, passes[1])[np.searchsorted(passes[0], born, "right")]
    creates = np.append(named(_CREATORS.__contains__), False)
    in_module = (_outermost(store, store.kind == Kind.MODULE)[row] >= 0) | (np.append(store.module, -1)[row] >= 0)
    made_as_input = (loader >= 0) | (creates[operator[row]] & ~in_module)
    until_backward = died > next_pass
    return np.select(
        [
            optimizer >= 0,
            node[row] >= 0,
            (loader >= 0) & (died > loader),
            until_backward & (next_pass < _FOREVER),
            made_as_input & _is_given_to_module(store, blocks.block),
            died < _FOREVER,
        ],
        [
            np.where(died > optimizer, Category.OPTIMIZER_STATE, Category.TEMPORARY),
            np.where(
                died > pass_end,
                Category.GRADIENT,
                np.where(died > ends[node[row]], Category.AUTOGRAD_DETAIL, Category.TEMPORARY),
            ),
            Category.INPUT,
            np.where(made_as_input, Category.INPUT, Category.ACTIVATION),
            Category.INPUT,
            Category.TEMPORARY,
        ],
        Category.UNKNOWN,
    )


def _end_of_enclosing(store: EventStore, mask: np.ndarray, thread: np.ndarray, time: np.ndarray) -> np.ndarray:
    """For each moment of a thread: when the newest row of the mask ends that runs then, or -1. By time, not by the
    tree: a scope may be asynchronous.
    """
    found = np.full(len(time), -1, np.int64)
    for one in distinct(store.thread[mask]) if len(mask) else ():
        rows = np.flatnonzero(mask & (store.thread == one))
        start, end = store.start_ns[rows], store.end_ns[rows]
        index = np.searchsorted(start, time, "right") - 1
        inside = (index >= 0) & (thread == one) & (time <= end[index])
        found = np.where(inside, end[index], found)
    return found


def _outermost(store: EventStore, mask: np.ndarray) -> np.ndarray:
    """Per row: the outermost row of the mask that is or encloses it, or -1; the extra last slot is for no row."""
    found = np.where(mask, np.arange(len(store)), -1)
    at = store.parent
    while len(at) and (at >= 0).any():
        above = np.append(np.where(mask, np.arange(len(store)), -1), -1)[at]
        found = np.where(above >= 0, above, found)
        at = np.append(store.parent, -1)[at]
    return np.append(found, -1)


def _backward_passes(store: EventStore, in_backward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Start and end of each run of engine events without a forward operator in between, over all threads."""
    relevant = np.flatnonzero(in_backward | (store.kind == Kind.OP))
    inside = in_backward[relevant]
    begins = np.flatnonzero(inside & ~np.append(False, inside[:-1]))
    if not len(begins):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    end = np.where(inside, store.end_ns[relevant], 0)
    return store.start_ns[relevant[begins]], np.maximum.reduceat(end, begins)


def changes(source: EventStore | EventTree, blocks: Blocks) -> list[Change]:
    """What was there before (its time is -1), then births and deaths in the order of time, since 1970. Of what
    happens at one moment deaths come first.
    """
    offset = EventTree.of(source).store.metadata.epoch_offset_ns
    deaths = np.flatnonzero(blocks.died_ns < _FOREVER)
    born = np.where(blocks.existed, -1, blocks.born_ns + offset)
    time = np.concatenate([blocks.died_ns[deaths] + offset, born])
    action = np.concatenate(
        [np.full(len(deaths), Action.DESTROY), np.where(blocks.existed, Action.PREEXISTING, Action.CREATE)]
    )
    nbytes = np.concatenate([-blocks.nbytes[deaths], blocks.nbytes])
    category = np.concatenate([blocks.category[deaths], blocks.category])
    order = _in_time(
        time,
        np.concatenate([deaths, np.arange(len(born))]),
        np.concatenate([np.ones(len(deaths)), np.zeros(len(born))]),
        blocks,
    )
    return [
        Change(t, Action(a), n, Category(c))
        for t, a, n, c in zip(
            time[order].tolist(), action[order].tolist(), nbytes[order].tolist(), category[order].tolist()
        )
    ]


def _in_time(time: np.ndarray, block: np.ndarray, is_death: np.ndarray, blocks: Blocks) -> np.ndarray:
    """The order of births and deaths. At one moment deaths come first, but not before the birth of the same block."""
    brief = blocks.born_ns[block] == blocks.died_ns[block]
    return np.lexsort((np.where(brief, 1 + is_death, is_death == 0), time))


_PYTORCHS = tuple(category for category in Category if category <= Category.UNKNOWN)


def in_pytorchs_terms(category: int) -> Category:
    """The category in files that PyTorch's tools read: they know neither scratch memory nor buffers."""
    return {Category.SCRATCH: Category.TEMPORARY, Category.BUFFER: Category.INPUT}.get(
        Category(category), Category(category)
    )


def running_totals(timeline: list[Change], pytorchs: bool = False) -> tuple[list[int], list[list[int]]]:
    """Times in microseconds since 1970, and after each the live bytes: a zero, then one sum per category (of
    those that PyTorch has, or of all). What was there before is there at the first of the times.
    """
    times: list[int] = []
    sizes: list[list[int]] = []
    current = [0] * (len(_PYTORCHS if pytorchs else Category) + 1)
    first = next((change.time_ns for change in timeline if change.time_ns >= 0), 0)
    for change in timeline:
        time = (first if change.time_ns < 0 else change.time_ns) // 1000
        current[(in_pytorchs_terms(change.category) if pytorchs else change.category) + 1] += change.nbytes
        if times and times[-1] == time:
            sizes[-1] = list(current)
        else:
            times.append(time)
            sizes.append(list(current))
    return times, sizes
