"""Flame graphs: the times of events merged by the path of names that led to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..record.descriptions import ModuleInfo
from ..record.kinds import Flag, Kind
from ..store.event_store import EventStore, kept_ancestors
from .flows import forward_of
from .modules import assigned_modules
from .tree import EventTree


class Flame(NamedTuple):
    """A tree of merged frames as columns; a parent stands before its children. Times in nanoseconds.

    name      index into `names`
    own_ns    time of the frame itself; backward_ns: the part of it that was spent in a backward pass
    left_out  how many frames were too small to be kept; their time counts to a frame "(smaller)" of their parent
    """

    names: list[str]
    name: np.ndarray
    parent: np.ndarray
    own_ns: np.ndarray
    backward_ns: np.ndarray
    calls: np.ndarray
    left_out: int

    @property
    def total_ns(self) -> np.ndarray:
        """The time of each frame with all above it."""
        total = self.own_ns.copy()
        for i in range(len(total) - 1, -1, -1):
            if self.parent[i] >= 0:
                total[self.parent[i]] += total[i]
        return total


def by_operators(source: EventStore | EventTree) -> Flame:
    """Operators inside operators and annotations; a backward function stands above the operator that recorded it."""
    tree = EventTree.of(source)
    chosen = np.flatnonzero(tree.nests & (tree.kind != Kind.STEP) & (tree.row >= 0))
    parent, is_backward = _link_backward(tree)
    return _fold(list(tree.name_of_id), tree.name_id, parent, tree.self_ns, is_backward, chosen)


def by_modules(source: EventStore | EventTree) -> Flame | None:
    """Modules inside modules, and the operators that each ran, forward and backward; None where modules were not
    recorded.
    """
    tree = EventTree.of(source)
    store = tree.store
    if not store.modules:
        return None
    module, is_backward = assigned_modules(tree)
    chosen = np.flatnonzero(tree.nests & (tree.kind != Kind.STEP) & (tree.row >= 0) & ~tree.is_annotation)
    names = [*tree.name_of_id, *(_module_label(info) for info in store.modules)]
    count = len(store.modules)
    labels = np.concatenate([len(tree.name_of_id) + np.arange(count), tree.name_id[chosen]])
    parent = np.concatenate([np.array([info.parent for info in store.modules], np.int64), module[chosen]])
    own = np.concatenate([np.zeros(count, np.int64), tree.self_ns[chosen]])
    backward = np.concatenate([np.zeros(count, bool), is_backward[chosen]])
    return _fold(names, labels, parent, own, backward, np.arange(len(labels)), uncounted=count)


def _module_label(info: ModuleInfo) -> str:
    """The last part of its path, and its class where that is known."""
    last = info.path.rpartition(".")[2]
    if not last:
        return info.type_name or "model"
    return f"{last} ({info.type_name})" if info.type_name else last


def by_python(source: EventStore | EventTree) -> Flame | None:
    """Python calls inside Python calls, and the operators that each ran; None where stacks were not recorded. A
    backward function stands above the operator that recorded it.
    """
    tree = EventTree.of(source)
    store = tree.store
    if np.isin(store.kind, (int(Kind.PYTHON), int(Kind.BUILTIN))).any():
        return _of_rows(store, tree)
    return _of_stacks(store, tree) if len(store.stacks) else None


def _of_rows(store: EventStore, tree: EventTree) -> Flame:
    """From the calls themselves, so that Python's own time is in it."""
    length = store.end_ns - store.start_ns
    nests = (store.flags & np.uint8(Flag.ASYNC) == 0) & (store.device_type == 0)
    inside = nests & (store.parent >= 0)
    own = length - np.bincount(store.parent[inside], weights=length[inside], minlength=len(store)).astype(np.int64)
    nodes = np.flatnonzero((tree.kind == Kind.NODE) | (tree.kind == Kind.BACKWARD))
    forward = forward_of(tree, nodes)
    parent = store.parent.astype(np.int64).copy()
    known = forward >= 0
    rows, recorded_by = tree.rows_of(nodes[known]), tree.rows_of(forward[known])
    is_node = store.kind[rows] == Kind.NODE
    parent[rows[is_node]] = recorded_by[is_node]
    engine = (store.kind == Kind.NODE) | (store.kind == Kind.BACKWARD)
    is_backward = kept_ancestors(store.parent, engine) >= 0
    chosen = np.flatnonzero(nests & (store.kind != Kind.STEP))
    return _fold(list(store.strings), store.name, parent, own, is_backward, chosen)


def _of_stacks(store: EventStore, tree: EventTree) -> Flame:
    """From the stacks of operators: frames first, then the operators in them."""
    parent, is_backward = _link_backward(tree)
    count = len(store.stacks)
    names = [*store.strings, *tree.name_of_id]
    chosen = np.flatnonzero(tree.nests & (tree.kind != Kind.STEP) & (tree.row >= 0))
    new_index = np.full(len(tree) + 1, -1, np.int64)
    new_index[chosen] = count + np.arange(len(chosen))
    above = new_index[parent[chosen]]
    stack = tree.column(store.stack, -1)[chosen]
    return _fold(
        names,
        np.concatenate([store.stacks.frame, len(store.strings) + tree.name_id[chosen]]),
        np.concatenate([store.stacks.parent, np.where(above >= 0, above, stack)]),
        np.concatenate([np.zeros(count, np.int64), tree.self_ns[chosen]]),
        np.concatenate([np.zeros(count, bool), is_backward[chosen]]),
        np.arange(count + len(chosen)),
        uncounted=count,
    )


def _link_backward(tree: EventTree) -> tuple[np.ndarray, np.ndarray]:
    """The parents of entries, where a node of the engine has the operator that recorded it; and what is part of a
    backward pass.
    """
    parent = tree.parent.astype(np.int64).copy()
    nodes = np.flatnonzero(tree.kind == Kind.NODE)
    forward = forward_of(tree, nodes)
    parent[nodes[forward >= 0]] = forward[forward >= 0]
    engine = (tree.kind == Kind.NODE) | (tree.kind == Kind.BACKWARD)
    return parent, kept_ancestors(tree.parent, engine) >= 0


def _fold(
    names: list[str],
    label: np.ndarray,
    parent: np.ndarray,
    own: np.ndarray,
    is_backward: np.ndarray,
    chosen: np.ndarray,
    uncounted: int = 0,
) -> Flame:
    """Merges the chosen rows by the names on their way to the root. Rows that are not chosen are passed over; the
    first `uncounted` are not calls.
    """
    keep = np.zeros(len(parent), bool)
    keep[chosen] = True
    above = np.append(kept_ancestors(parent, keep), -1)[parent]
    node = np.full(len(parent) + 1, -1, np.int64)
    merged_parent, merged_label = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    made, wide = 0, len(names) + 1
    for rows in _levels(above, chosen):
        codes, where = np.unique((node[above[rows]] + 1) * wide + label[rows], return_inverse=True)
        node[rows] = made + where
        merged_parent.append(codes // wide - 1)
        merged_label.append(codes % wide)
        made += len(codes)
    at = node[chosen]

    def sums(values: np.ndarray) -> np.ndarray:
        return np.bincount(at, weights=values, minlength=made).astype(np.int64)

    return Flame(
        names,
        np.concatenate(merged_label),
        np.concatenate(merged_parent),
        sums(own[chosen]),
        sums(np.where(is_backward, own, 0)[chosen]),
        sums(chosen >= uncounted),
        0,
    )


def _levels(above: np.ndarray, chosen: np.ndarray) -> list[np.ndarray]:
    """The chosen rows by depth."""
    depth = np.zeros(len(above), np.int32)
    inside = chosen[above[chosen] >= 0]
    at = above[inside]
    while len(inside):
        depth[inside] += 1
        at = above[at]
        still = at >= 0
        inside, at = inside[still], at[still]
    order = chosen[np.argsort(depth[chosen], kind="stable")]
    bounds = np.searchsorted(depth[order], np.arange(int(depth.max(initial=0)) + 2))
    return [order[bounds[i] : bounds[i + 1]] for i in range(len(bounds) - 1)]


def prune(flame: Flame, most: int) -> Flame:
    """At most about `most` frames: the largest. What is left out is summed up in a frame "(smaller)" of its parent."""
    total = flame.total_ns
    if len(total) <= most:
        return flame
    bound = np.partition(total, len(total) - most)[len(total) - most]
    keep = total > bound
    lost_roots = np.flatnonzero(~keep & (np.append(keep, True)[flame.parent]))
    new_index = np.append(np.cumsum(keep) - 1, -1)
    parents, where = np.unique(
        np.where(flame.parent[lost_roots] >= 0, new_index[flame.parent[lost_roots]], -1), return_inverse=True
    )
    below = _backward_totals(flame)
    rest = np.bincount(where, weights=total[lost_roots], minlength=len(parents)).astype(np.int64)
    rest_backward = np.bincount(where, weights=below[lost_roots], minlength=len(parents)).astype(np.int64)
    count = np.bincount(where, minlength=len(parents))
    smaller = len(flame.names)
    return Flame(
        [*flame.names, "(smaller)"],
        np.append(flame.name[keep], np.full(len(parents), smaller)),
        np.append(np.where(flame.parent[keep] >= 0, new_index[flame.parent[keep]], -1), parents),
        np.append(flame.own_ns[keep], rest),
        np.append(flame.backward_ns[keep], rest_backward),
        np.append(flame.calls[keep], count),
        int((~keep).sum()),
    )


def _backward_totals(flame: Flame) -> np.ndarray:
    return flame._replace(own_ns=flame.backward_ns).total_ns
