"""Which operator of the forward pass each backward function belongs to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..record.kinds import Kind
from .tree import EventTree


class Flows(NamedTuple):
    """Pairs of entries, in the order in which the backward functions ran."""

    forward: np.ndarray
    backward: np.ndarray


def find_flows(tree: EventTree) -> Flows:
    """The pairs of a backward function and the forward operator that recorded it. A function whose forward ran
    before the window is in none.
    """
    is_linked = (
        tree.kind == Kind.BACKWARD if tree.store.metadata.options.forward_backward else np.zeros(len(tree), bool)
    )
    backward = np.flatnonzero(is_linked)
    forward = forward_of(tree, backward)
    return Flows(forward[forward >= 0], backward[forward >= 0])


def forward_of(tree: EventTree, backward: np.ndarray) -> np.ndarray:
    """For entries of the engine, the innermost forward operator with their thread and sequence id, or -1.

    An operator carries the sequence id that the next recorded node will get, so of several operators with one id the
    last to start is the one that made the node. An id seen again after the backward belongs to a later graph.
    """
    if not len(backward):
        return np.full(len(backward), -1)
    store = tree.store
    kind, sequence = tree.kind, tree.column(store.sequence_nr, -1)
    forward = np.flatnonzero(((kind == Kind.OP) | (kind == Kind.FUNCTION)) & (sequence >= 0))
    if not len(forward):
        return np.full(len(backward), -1)
    thread_ids = np.array([thread.id for thread in store.threads] or [0], np.int64)
    wide = int(sequence.max()) + 1
    keys = thread_ids[tree.column(store.thread, 0)[forward]] * wide + sequence[forward]
    order = np.argsort(keys, kind="stable")
    wanted = tree.column(store.forward_thread, 0)[backward].astype(np.int64) * wide + sequence[backward]
    last = np.maximum(np.searchsorted(keys[order], wanted, "right") - 1, 0)
    candidate = forward[order[last]]
    found = (keys[order][last] == wanted) & (candidate < backward) & (sequence[backward] >= 0)
    return np.where(found, candidate, -1)
