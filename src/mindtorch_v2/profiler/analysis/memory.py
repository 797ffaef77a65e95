"""Memory over time: which blocks were live when, and what each was for.

A store knows when each block came and went and inside which events. What it was for follows from that:

| category | a block that |
|---|---|
| OPTIMIZER_STATE | was allocated inside `Optimizer.step` and outlived it |
| GRADIENT | was allocated in a backward pass and outlived that pass |
| AUTOGRAD_DETAIL | was handed from one backward function to another |
| INPUT | came from a data loader, or from a creation operator outside all modules, and lived until a backward pass |
| ACTIVATION | was allocated by any other forward operator and lived until a backward pass |
| TEMPORARY | went earlier than that |
| unknown | is none of these: no backward pass followed |

PARAMETER stays empty: parameters are made before the window, and what was there before is not seen.
"""
from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from .._fields import Kind
from .._store import EventStore
from .tree import EventTree

_FOREVER = np.iinfo(np.int64).max
_CREATORS = frozenset(f"aten::{name}" for name in (
    "empty", "empty_like", "empty_strided", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "rand", "rand_like",
    "randn", "randn_like", "randint", "randint_like", "randperm", "arange", "linspace", "logspace", "eye", "tensor", "scalar_tensor",
    "lift_fresh", "from_file", "normal", "bernoulli", "tril_indices", "triu_indices"))


class Category(IntEnum):
    """What a block is for, in the order of PyTorch's files."""

    PARAMETER = 0
    OPTIMIZER_STATE = 1
    INPUT = 2
    TEMPORARY = 3
    ACTIVATION = 4
    GRADIENT = 5
    AUTOGRAD_DETAIL = 6
    UNKNOWN = 7


class Action(IntEnum):
    """What happened to a block."""

    PREEXISTING = 1
    CREATE = 2
    INCREMENT_VERSION = 3
    DESTROY = 4


class Blocks(NamedTuple):
    """The blocks of one device, in the order of their allocation: columns of equal length.

    `died_ns` is past all times for a block that outlived the window, `row` the innermost event it was allocated in or -1.
    """

    born_ns: np.ndarray
    died_ns: np.ndarray
    nbytes: np.ndarray
    row: np.ndarray
    category: np.ndarray


class Change(NamedTuple):
    """One line of a timeline: time since 1970 in nanoseconds, what happened, signed bytes, what for."""

    time_ns: int
    action: Action
    nbytes: int
    category: Category


def find_blocks(source: EventStore | EventTree, device_type: int = 0, device_index: int = -1) -> Blocks:
    """The blocks that were allocated on a device inside the window."""
    tree = EventTree.of(source)
    memory = tree.store.memory
    records = np.flatnonzero((memory.device_type == device_type) & (memory.device_index == device_index))
    order = records[np.lexsort((memory.time_ns[records], memory.address[records]))]
    nbytes, address = memory.nbytes[order], memory.address[order]
    is_birth = nbytes > 0
    # Of the records of one address, a death follows the birth that it ends.
    dies_next = np.append((nbytes[1:] < 0) & (address[1:] == address[:-1]), False)[is_birth] if len(order) else is_birth
    births = np.flatnonzero(is_birth)
    died = np.where(dies_next, memory.time_ns[order[np.minimum(births + 1, max(len(order) - 1, 0))]], _FOREVER)
    born = memory.time_ns[order[births]]
    by_time = np.argsort(born, kind="stable")
    row = memory.row[order[births]][by_time]
    blocks = Blocks(born[by_time], died[by_time], nbytes[births][by_time], row, np.zeros(len(row), np.int8))
    return blocks._replace(category=_categories(tree.store, blocks))


def _categories(store: EventStore, blocks: Blocks) -> np.ndarray:
    born, died, row = blocks.born_ns, blocks.died_ns, blocks.row
    names = np.array(store.strings or [""], object)[store.name] if len(store) else np.zeros(0, object)
    engine = (store.kind == Kind.NODE) | (store.kind == Kind.BACKWARD)
    optimizer = _outermost(store, np.array([name.startswith("Optimizer.step#") for name in names], bool))
    loader = _outermost(store, np.array([name.startswith("enumerate(DataLoader)#") for name in names], bool))
    node = _outermost(store, engine)
    operator = _outermost(store, store.kind == Kind.OP)
    ends = np.append(store.end_ns, _FOREVER)
    passes = _backward_passes(store, node[:-1] >= 0)
    next_pass = np.append(passes[0], _FOREVER)[np.searchsorted(passes[0], born, "left")]
    pass_end = np.append(0, passes[1])[np.searchsorted(passes[0], born, "right")]
    creates = np.array([name in _CREATORS for name in names] + [False], bool)
    made_as_input = (loader[row] >= 0) | (creates[operator[row]] & (np.append(store.module, -1)[row] < 0))
    until_backward = died > next_pass
    return np.select(
        [optimizer[row] >= 0, node[row] >= 0, (loader[row] >= 0) & (died > ends[loader[row]]), until_backward & (next_pass < _FOREVER),
         died < _FOREVER],
        [np.where(died > ends[optimizer[row]], Category.OPTIMIZER_STATE, Category.TEMPORARY),
         np.where(died > pass_end, Category.GRADIENT, np.where(died > ends[node[row]], Category.AUTOGRAD_DETAIL, Category.TEMPORARY)),
         Category.INPUT, np.where(made_as_input, Category.INPUT, Category.ACTIVATION), Category.TEMPORARY],
        Category.UNKNOWN).astype(np.int8)


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
    """Births and deaths in the order of time, since 1970."""
    offset = EventTree.of(source).store.metadata.epoch_offset_ns
    gone = blocks.died_ns < _FOREVER
    births = [Change(t + offset, Action.CREATE, n, Category(c))
              for t, n, c in zip(blocks.born_ns.tolist(), blocks.nbytes.tolist(), blocks.category.tolist())]
    deaths = [Change(t + offset, Action.DESTROY, -n, Category(c))
              for t, n, c in zip(blocks.died_ns[gone].tolist(), blocks.nbytes[gone].tolist(), blocks.category[gone].tolist())]
    return sorted(births + deaths, key=lambda change: change.time_ns)


def running_totals(timeline: list[Change]) -> tuple[list[int], list[list[int]]]:
    """Times in microseconds since 1970, and after each the live bytes: a zero, then one number per category."""
    times: list[int] = []
    sizes: list[list[int]] = []
    current = [0] * (len(Category) + 1)
    for change in timeline:
        time = change.time_ns // 1000
        current[change.category + 1] += change.nbytes
        if times and times[-1] == time:
            sizes[-1] = list(current)
        else:
            times.append(time)
            sizes.append(list(current))
    return times, sizes
