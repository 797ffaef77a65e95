"""Which operator of the forward pass each backward function belongs to."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._fields import Kind
from .tree import EventTree


class Flows(NamedTuple):
    """Pairs of entries, in the order in which the backward functions ran."""

    forward: np.ndarray
    backward: np.ndarray


def find_flows(tree: EventTree) -> Flows:
    """The innermost forward operator and the backward function that share a thread and a sequence number.

    An operator carries the number that the next recorded node will get, so of several operators with one number the
    last to start is the one that made the node. A backward function whose forward ran before the window has none.
    """
    store = tree.store
    kind, sequence = tree.kind, tree.column(store.sequence_nr, -1)
    number_of_thread = np.array([thread.number for thread in store.threads] or [0])
    thread = number_of_thread[tree.column(store.thread, 0)]
    backward = np.flatnonzero((kind == Kind.BACKWARD) & (sequence >= 0))
    forward = np.flatnonzero(((kind == Kind.OP) | (kind == Kind.FUNCTION)) & (sequence >= 0))
    if not len(backward) or not len(forward):
        return Flows(forward[:0], backward[:0])
    wide = int(sequence.max()) + 1
    keys = thread[forward].astype(np.int64) * wide + sequence[forward]
    order = np.argsort(keys, kind="stable")
    wanted = tree.column(store.forward_thread, 0)[backward].astype(np.int64) * wide + sequence[backward]
    last = np.searchsorted(keys[order], wanted, "right") - 1
    candidate = forward[order[np.maximum(last, 0)]]
    # A number seen again after its backward function belongs to a later graph.
    found = (last >= 0) & (keys[order][np.maximum(last, 0)] == wanted) & (candidate < backward)
    return Flows(candidate[found], backward[found])
