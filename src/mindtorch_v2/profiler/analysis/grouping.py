"""Grouping: which events belong together, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .tree import EventTree
from .values import plain_shapes

_BLOCK = 1 << 14
_DIRECT_TABLE = 1 << 21  # codes below this are counted in a table; above it they are sorted


def group_entries(
    tree: EventTree, entries: np.ndarray | None, by_shape: bool, stack_n: int, by_overload: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`(group of each entry, first entry of each group)`; groups are counted in the order of first appearance.

    Entries belong together that share name, device and whether they are annotations, and, where asked for, the
    overload, the input shapes and the innermost `stack_n` frames. `entries` None means all.
    """

    def chosen(values: np.ndarray) -> np.ndarray:
        return values if entries is None else values[entries]

    codes = chosen(tree.name_id) * np.int32(2)
    if tree.is_annotation.any():
        codes += chosen(tree.is_annotation)
    if tree.has_device_entries:
        codes = codes + chosen(tree.device_type) * np.int64(2 * len(tree.name_of_id))
    group, first = _dense(codes)
    store = tree.store
    if by_overload and store.metadata.options.capture_overload_names:
        group, first = _dense(group * np.int64(len(store.strings) + 1) + chosen(tree.column(store.overload, -1)) + 1)
    if by_shape and store.inputs:
        ids, known = _assign_ids(str(plain_shapes(inputs.shapes)) for inputs in store.inputs)
        lookup = np.array([*ids, known.get("[]", len(known))], np.int64)  # the last is what -1 finds
        group, first = _dense(
            group * np.int64(lookup.max() + 1) + lookup[chosen(tree.column(store.columns["inputs"], -1))]
        )
    if stack_n > 0 and len(store.stacks):
        lookup = _stack_tops(tree, stack_n)
        group, first = _dense(group * np.int64(lookup.max() + 1) + lookup[chosen(tree.column(store.stack, -1))])
    return group, first if entries is None else entries[first]


def _dense(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Non-negative codes as ids 0, 1, 2... in the order of first appearance, and where each first appears."""
    count = len(codes)
    if not count:
        return codes, codes
    top = int(codes.max()) + 1
    if top > _DIRECT_TABLE:
        _, codes = np.unique(codes, return_inverse=True)
        top = int(codes.max()) + 1
    where = np.full(top, count, np.int64)
    for at in range(0, count, _BLOCK):
        block = codes[at : at + _BLOCK]
        new = np.flatnonzero(where[block] == count)
        where[block[new[::-1]]] = at + new[::-1]  # of repeated indices the last assignment stays: the first index
    first = np.sort(where[where < count])
    id_of = np.empty(top, np.int32)
    id_of[codes[first]] = np.arange(len(first))
    return id_of[codes], first


def _blocks(count: int) -> Iterator[slice]:
    """What is worked on at once: little enough to stay in the processor's cache, so that nothing as long as the
    events is made.
    """
    return (slice(at, at + _BLOCK) for at in range(0, count, _BLOCK))


def _cpu_sums(
    tree: EventTree, entries: np.ndarray | None, group: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Nanoseconds on the CPU of each group: with what is below its entries, and without.

    Sums stay exact below 2**53.
    """
    total, own = np.zeros(groups), np.zeros(groups)
    if entries is not None or tree.has_device_entries or tree.has_tasks or tree.has_loading or not tree.nests.all():
        for block in _blocks(len(group)):
            chosen = block if entries is None else entries[block]
            total += np.bincount(group[block], weights=tree.total_ns[chosen], minlength=groups)
            own += np.bincount(group[block], weights=tree.self_ns[chosen], minlength=groups)
        return total, own
    inside = np.zeros(groups)  # what the children of each group's entries took
    for block in _blocks(len(group)):
        elapsed = tree.end_ns[block] - tree.start_ns[block]
        total += np.bincount(group[block], weights=elapsed, minlength=groups)
        parent = tree.parent[block]
        below = np.flatnonzero(parent >= 0)
        if len(below):
            inside += np.bincount(group[parent[below]], weights=elapsed[below], minlength=groups)
    return total, total - inside


def _assign_ids(values: Iterable[Any]) -> tuple[list[int], dict[Any, int]]:
    """An id for each value, equal ones for equal values; and the id of each distinct value."""
    known: dict[Any, int] = {}
    return [known.setdefault(value, len(known)) for value in values], known


def _stack_tops(tree: EventTree, depth: int) -> np.ndarray:
    """Per stack node (and, last, for none) the id of its innermost `depth` frames."""
    parents, frames = tree.store.stacks.parent, tree.store.stacks.frame
    at = np.arange(len(parents) + 1)
    at[-1] = -1
    columns = []
    for _ in range(min(depth, len(parents))):
        columns.append(np.where(at >= 0, np.append(frames, -1)[at], -1))
        at = np.append(parents, -1)[at]
        if (at < 0).all():
            break
    return np.unique(np.stack(columns, 1), axis=0, return_inverse=True)[1].reshape(-1)


class Covered:
    """The time that each group covers: that of its events which no event of the group encloses, without asynchronous
    ones. Unlike the sum of all its events it is never more than there is. Worked out when a table asks for it.
    """

    def __init__(self, tree: EventTree, entries: np.ndarray | None, group: np.ndarray, groups: int) -> None:
        self._tree, self._entries, self._group, self._groups = tree, entries, group, groups

    @cached_property
    def microseconds(self) -> list[float]:
        group = self._group
        if self._entries is not None:
            group = np.full(len(self._tree), self._groups)
            group[self._entries] = self._group
        tree, total = self._tree, np.zeros(self._groups + 1)
        counts = tree.outermost_of(group)
        if not tree.nests.all():
            counts &= tree.nests
        for block in _blocks(len(group)):
            if tree.has_loading or tree.has_tasks:  # else an event runs from its start to its end
                elapsed = tree.total_ns[block]
            else:
                elapsed = tree.end_ns[block] - tree.start_ns[block]
            elapsed = np.where(counts[block], elapsed, 0)  # what nests ran on the CPU
            total += np.bincount(group[block], weights=elapsed, minlength=len(total))
        return (total[:-1] / 1000).tolist()


class Sums(NamedTuple):
    """What the entries of each group add up to, one value per group; times in microseconds, memory in bytes."""

    columns: dict[str, list[Any]]
    covered: Covered


def sum_groups(tree: EventTree, entries: np.ndarray | None, group: np.ndarray, first: np.ndarray) -> Sums:
    """Name, count, times, bytes and FLOPs of each group. `group` and `first` are as `group_entries` gives them."""
    groups = len(first)

    def sums(values: np.ndarray) -> np.ndarray:
        return np.bincount(group, weights=values if entries is None else values[entries], minlength=groups)

    nothing = [0] * groups
    total, own = _cpu_sums(tree, entries, group, groups)
    count = np.zeros(groups, np.int64)
    for block in _blocks(len(group)):
        count += np.bincount(group[block], minlength=groups)
    columns: dict[str, list[Any]] = {
        "key": [tree.name_of_id[i] for i in tree.name_id[first].tolist()],
        "count": count.tolist(),
        "cpu_time_total": (total / 1000).tolist(),
        "self_cpu_time_total": (own / 1000).tolist(),
        "device_time_total": nothing,
        "self_device_time_total": nothing,
        "cpu_memory_usage": nothing,
        "self_cpu_memory_usage": nothing,
        "device_memory_usage": nothing,
        "self_device_memory_usage": nothing,
        "flops": nothing,
    }
    if tree.store.metadata.use_device:
        columns["device_time_total"] = (sums(tree.device_ns) / 1000).tolist()
        columns["self_device_time_total"] = (sums(tree.self_device_ns) / 1000).tolist()
    if len(tree.store.memory):
        for name, amounts in (
            ("cpu_memory_usage", tree.cpu_bytes),
            ("self_cpu_memory_usage", tree.self_cpu_bytes),
            ("device_memory_usage", tree.device_bytes),
            ("self_device_memory_usage", tree.self_device_bytes),
        ):
            columns[name] = sums(amounts).astype(np.int64).tolist()
    if tree.store.metadata.options.with_flops:
        columns["flops"] = sums(tree.flops).astype(np.int64).tolist()
    return Sums(columns, Covered(tree, entries, group, groups))
