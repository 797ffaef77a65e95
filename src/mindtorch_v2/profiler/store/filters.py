"""Restricting a trace to types of events: `activities=[{ProfilerActivity.CPU: ["CPU_OP"]}]`."""

from __future__ import annotations

import numpy as np

from ..record.kinds import ANNOTATION_KINDS, PYTHON_KINDS, Kind
from .event_store import EventStore, MemoryTable

_KINDS_OF_TYPE = {
    "CPU_OP": (Kind.OP, Kind.NODE, Kind.BACKWARD, Kind.FUNCTION),
    "USER_ANNOTATION": ANNOTATION_KINDS,
    "PYTHON_FUNCTION": PYTHON_KINDS,
}


def shown_in_trace(store: EventStore) -> EventStore:
    """The events that a trace of this store shows. `events()` shows all of them in any case."""
    types = store.metadata.options.activity_filters.get("CPU")
    if types is None:
        return store
    kinds = [int(kind) for name in types for kind in _KINDS_OF_TYPE.get(name, ())]
    kept = store.select(np.isin(store.kind, kinds))
    return kept if "CPU_INSTANT_EVENT" in types else kept.with_memory(MemoryTable())
