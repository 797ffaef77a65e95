"""Who held memory when most of it was in use."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..record.kinds import Kind
from ..store.event_store import EventStore
from .memory import Blocks, Category, _outermost

_PACKAGE = __package__.partition(".")[0] + "/"


class Holder(NamedTuple):
    """Blocks of one origin: what they are for, the call that made them, in which module and on which of the user's
    lines.
    """

    category: Category
    name: str
    module: str
    line: str
    nbytes: int
    blocks: int


def held_at_peak(store: EventStore, blocks: Blocks) -> list[Holder]:
    """The blocks that were live at the first moment of the highest total, grouped by origin, largest first."""
    groups: dict[tuple[Category, str, str, str], tuple[int, int]] = {}
    maker = _outermost(store, (store.kind == Kind.OP) | (store.kind == Kind.BACKWARD))
    for block in np.flatnonzero(_live_at_peak(blocks)).tolist():
        origin = (
            ("(before the profile)", "", "") if blocks.existed[block] else _origin(store, int(blocks.row[block]), maker)
        )
        key = (Category(blocks.category[block]), *origin)
        nbytes, count = groups.get(key, (0, 0))
        groups[key] = nbytes + int(blocks.nbytes[block]), count + 1
    found = [Holder(*key, *value) for key, value in groups.items()]
    return sorted(found, key=lambda holder: (-holder.nbytes, holder[1:4]))


def _live_at_peak(blocks: Blocks) -> np.ndarray:
    """Which blocks exist at the peak; of simultaneous changes deaths come first."""
    times = np.concatenate([blocks.died_ns, blocks.born_ns])
    if not len(times):
        return np.zeros(0, bool)
    changes = np.concatenate([-blocks.nbytes, blocks.nbytes])
    order = np.argsort(times, kind="stable")
    peak = times[order][np.argmax(np.cumsum(changes[order]))]
    return (blocks.born_ns <= peak) & (peak < blocks.died_ns)


def _origin(store: EventStore, row: int, maker: np.ndarray) -> tuple[str, str, str]:
    """(call, module, line) of the event `row`; empty where they are unknown."""
    if row < 0:
        return "(outside operators)", "", ""
    made_by = int(maker[row])
    module = int(store.module[row])
    info = store.modules[module] if module >= 0 else None
    return (
        store.name_of(made_by if made_by >= 0 else row),
        (info.path or info.type_name) if info else "",
        users_line(store.stack_of(row)),
    )


def origins(store: EventStore, rows: np.ndarray) -> list[tuple[str, str, str]]:
    """(call, module, line) of each of the events `rows`; empty where they are unknown."""
    maker = _outermost(store, (store.kind == Kind.OP) | (store.kind == Kind.BACKWARD))
    known: dict[int, tuple[str, str, str]] = {}
    return [known[row] if row in known else known.setdefault(row, _origin(store, row, maker)) for row in rows.tolist()]


def users_line(frames: list[str]) -> str:
    """The innermost frame outside this package, or the innermost of all, or nothing."""
    return next((frame for frame in frames if is_users_frame(frame)), frames[0] if frames else "")


def is_users_frame(frame: str) -> bool:
    """Whether a frame is neither this package's nor generated code."""
    return not frame.startswith((_PACKAGE, "<"))
