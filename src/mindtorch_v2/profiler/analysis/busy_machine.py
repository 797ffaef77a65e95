"""What a reader must know of the machine before believing the times of a profile."""

from __future__ import annotations

from ..record.machine_load import DELAY, OTHERS
from ..store.event_store import EventStore

_OTHERS_SHARE = 0.25  # of the processors' time, from which on other processes slow a program
_DELAY_SHARE = 0.05  # of the time, from which on waiting to be run is part of what was measured


def busy_note(store: EventStore) -> str:
    """One sentence where the machine did so much beside the recording that times are longer than alone; else empty,
    as for traces, which do not say it."""
    load = store.metadata.machine_load
    others, delay = load.get(OTHERS, 0.0), load.get(DELAY, 0.0)
    said = []
    if others >= _OTHERS_SHARE:
        said.append(f"other processes had {others:.0%} of the processors")
    if delay >= _DELAY_SHARE:
        said.append(f"the program was ready but not let run for {delay:.0%} of the time")
    return f"The machine was busy, so times are longer than alone: {', and '.join(said)}." if said else ""
