"""What the rules of advice look at, and what they find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..record.kinds import LAUNCHING_KINDS, WORK_KINDS, Kind
from ..store.event_store import EventStore
from .device import union_ns
from .formatting import _format_time
from .memory_use import MemoryUse, memory_use
from .phases import LABELS, Phase, Phases, phases
from .tree import EventTree

MOST_ROWS = 20  # events that a finding names


@dataclass(frozen=True)
class Advice:
    """One finding.

    rule       its short name; `title` says it in a sentence, `todo` what to do about it
    evidence   the figures that it rests on
    rows       events of the store that show it, longest first
    gain_ns    upper bound of what can be won over the whole recording; gain_bytes likewise, of memory
    share      gain_ns as part of the time of all steps
    """

    rule: str
    title: str
    evidence: list[str]
    todo: str
    rows: list[int] = field(default_factory=list)
    gain_ns: int = 0
    gain_bytes: int = 0
    share: float = 0.0


class Facts:
    """What the rules look at, each computed when first asked for."""

    def __init__(self, source: EventStore | EventTree) -> None:
        self.tree = EventTree.of(source)
        self.store = self.tree.store

    @cached_property
    def phases(self) -> Phases:
        return phases(self.store)

    @cached_property
    def memory(self) -> list[MemoryUse]:
        return memory_use(self.tree, steps=self.phases.steps)

    @cached_property
    def has_device(self) -> bool:
        return bool((self.store.kind == Kind.KERNEL).any())

    @cached_property
    def has_unseen_work(self) -> bool:
        """Whether work was launched on a device and none of it recorded, as where only counters were."""
        names = [i for i, text in enumerate(self.store.strings) if "Launch" in text]
        launches = np.isin(self.store.kind, [int(k) for k in LAUNCHING_KINDS]) & np.isin(self.store.name, names)
        return bool(launches.any()) and not np.isin(self.store.kind, [int(k) for k in WORK_KINDS]).any()

    @cached_property
    def whole_ns(self) -> int:
        """The time of all steps."""
        return max(int(self.phases.steps.duration_ns.sum()), 1)

    @property
    def steps(self) -> int:
        return len(self.phases.steps.number)

    def phase_ns(self, phase: Phase) -> int:
        return self.phases.total()[LABELS[phase]]

    @cached_property
    def entries_in_steps(self) -> np.ndarray:
        """The mask of the tree's entries that lie in the steps."""
        return self._in_steps(self.tree.start_ns, self.tree.start_ns + self.tree.total_ns)

    @cached_property
    def rows_in_steps(self) -> np.ndarray:
        """The mask of the store's rows that lie in the steps."""
        return self._in_steps(self.store.start_ns, self.store.end_ns)

    def _in_steps(self, start_ns: np.ndarray, end_ns: np.ndarray) -> np.ndarray:
        steps = self.phases.steps
        return (start_ns >= steps.start_ns[0]) & (end_ns <= steps.end_ns[-1])

    def rows_named(self, test: Callable[[str], bool], kinds: tuple[int, ...] | None = None) -> np.ndarray:
        """Rows of the host inside the steps whose name passes the test."""
        names = [i for i, text in enumerate(self.store.strings) if test(text)]
        chosen = np.isin(self.store.name, names) & (self.store.device_type == 0) & self.rows_in_steps
        if kinds is not None:
            chosen &= np.isin(self.store.kind, kinds)
        return np.flatnonzero(chosen)

    def length(self, rows: np.ndarray) -> int:
        return int((self.store.end_ns[rows] - self.store.start_ns[rows]).sum())

    def gain_ns(self, entries: np.ndarray) -> int:
        """What not making these calls can win at most: their time. Where a device works, only what it spends on them,
        and what the host spends on them while no device works: the rest is hidden behind other work."""
        tree, store = self.tree, self.store
        if not self.has_device:
            return int(tree.total_ns[entries].sum())
        work = np.flatnonzero(np.isin(store.kind, [int(k) for k in WORK_KINDS]))
        busy = store.start_ns[work], store.end_ns[work]
        calls = tree.start_ns[entries], tree.end_ns[entries]
        either = union_ns(*(np.concatenate(pair) for pair in zip(busy, calls)))
        return either - union_ns(*busy) + int(tree.device_ns[entries].sum())

    def spent(self, entries: np.ndarray) -> str:
        """What these calls took, in words: of the host and, where they made one work, of a device."""
        took, device = int(self.tree.total_ns[entries].sum()), int(self.tree.device_ns[entries].sum())
        beside = f", and {_format_time(device / 1000)} of the device" if self.has_device and device else ""
        return f"{_format_time(took / 1000)}{beside}, {took / self.whole_ns:.1%} of the steps' time"

    def longest(self, rows: np.ndarray) -> list[int]:
        order = np.argsort(-(self.store.end_ns[rows] - self.store.start_ns[rows]), kind="stable")
        return rows[order[:MOST_ROWS]].tolist()
