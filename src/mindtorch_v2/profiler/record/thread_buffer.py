"""What one thread recorded, in the Python recorder: flat lists of rows, details, ends and memory records, and the
stack of open rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from .descriptions import ThreadInfo
from .kernel_memory import KernelMemory
from .references import ROW_AT, WIDTH, references_of
from .row_format import CUT_FIELDS, DETAIL_FIELDS, END_FIELDS, MEMORY_FIELDS, ROW_FIELDS, Position


class Lane:
    """What an asyncio task or a greenlet has open while another one runs; id 0 is the thread's own."""

    __slots__ = ("id", "name", "inherited", "open", "calls", "module", "module_stack")

    def __init__(self, id: int = 0, name: str = "", inherited: int = -1) -> None:
        self.id, self.name, self.inherited = id, name, inherited
        self.open: list[int] = []
        self.calls: set[int] = set()
        self.module = -1
        self.module_stack: list[tuple[Any, int, int]] = []


class ThreadBuffer:
    """What one thread recorded. `open` is its stack of open rows: a row id, or -2 - id where the row was
    opened with a handle and will be closed by it. Row ids grow but may have gaps. Positions count what has been
    given up (`released`) too.
    """

    __slots__ = (
        "info",
        "row_ids",
        "marks",
        "rows",
        "details",
        "ends",
        "cuts",
        "open",
        "calls",
        "memory",
        "references",
        "detached",
        "module",
        "module_stack",
        "op_stacks",
        "frames",
        "builtins",
        "traced",
        "paused_by_ops",
        "released",
        "lanes",
        "lane",
        "task",
        "base",
        "switched",
        "calls_only",
        "kernel",
        "has_ended_calls",
    )

    def __init__(self, info: ThreadInfo) -> None:
        self.info = info
        self.row_ids = itertools.count()
        self.marks = 0  # ids that no row got
        self.released = [0, 0, 0, 0, 0]  # entries given up of rows, details, ends, memory, references
        self.rows: list[int] = []  # flat, ROW_FIELDS
        self.details: list[int] = []  # flat, DETAIL_FIELDS
        self.ends: list[int] = []  # flat, END_FIELDS
        self.cuts: list[int] = []  # flat, CUT_FIELDS
        self.open: list[int] = []
        self.calls: set[int] = set()  # those of `open` that are Python calls
        self.memory: list[int] = []  # flat, MEMORY_FIELDS
        self.references: list[int] = []  # flat, as references.REFERENCE has them
        self.detached: dict[int, int] = {}  # rows closed by another thread -> that thread's id
        self.module = -1
        self.module_stack: list[tuple[Any, int, int]] = []  # (outermost module, module before, row)
        self.op_stacks: dict[int, int] = {}  # open operator of the package -> its call stack
        self.frames: dict[FrameType, int] = {}  # running Python function -> its row
        self.builtins: dict[FrameType, int] = {}  # caller of a running function in C -> that function's row
        self.traced = False
        self.calls_only = False  # only its Python calls are recorded
        self.has_ended_calls = False  # another thread ended those of `calls`; they are still in `open`
        self.kernel: KernelMemory | None = None  # what the kernel that runs allocates, while memory is watched
        self.paused_by_ops: Any = None  # the thread's profile function, where it need not run inside operators
        self.lanes = [Lane()]  # the thread's own, and those of its tasks
        self.lane = self.lanes[0]  # the current one: what it has open stands here
        self.task: Any = None  # whose it is
        # the parent (as in `open`) of rows that begin where the lane has nothing open
        self.base = -1
        self.switched: list[tuple[int, int]] = []  # (row, lane): from which row on the thread ran in which lane

    @property
    def in_task(self) -> bool:
        """Whether a task runs, not the thread itself."""
        return self.lane.id != 0

    def add_lane(self, id: int, name: str, is_greenlet: bool, inherited: int) -> Lane:
        """A lane for a task. (Frames are found by what they are, so greenlets need no more.)"""
        self.lanes.append(Lane(id, name, inherited))
        return self.lanes[-1]

    def switches(self) -> list[tuple[int, int]]:
        """(row, lane): from which row on the thread ran in which lane."""
        return list(self.switched)

    def go_to(self, lane: Lane) -> None:
        """Takes up what a task had open."""
        before = self.lane
        before.open, before.calls, before.module, before.module_stack = (
            self.open,
            self.calls,
            self.module,
            self.module_stack,
        )
        self.open, self.calls, self.module, self.module_stack = lane.open, lane.calls, lane.module, lane.module_stack
        self.lane = lane

    def switch(self, task: Any, lane: Lane) -> None:
        """Another task runs now."""
        row = next(self.row_ids)
        self.marks += 1
        self.task = task
        if lane is not self.lane:
            self.switched.append((row, lane.id))
            self.go_to(lane)
        self.base = self._base_of(lane)

    def _base_of(self, lane: Lane) -> int:
        """What encloses the rows of a task beside its own: the scope that it began in while that is open, else what
        the thread has open.
        """
        if lane.id == 0:
            return -1
        inherited = -2 - lane.inherited
        if lane.inherited >= 0 and any(inherited in other.open for other in self.lanes):
            return inherited
        root = self.lanes[0]
        return next((row for row in reversed(root.open) if row not in root.calls), -1)

    def position(self) -> Position:
        """Where the next entries will stand."""
        row = next(self.row_ids)
        rows, details, ends, memory = [
            len(flat) + count for flat, count in zip((self.rows, self.details, self.ends, self.memory), self.released)
        ]
        self.marks += 1
        remembered = memory // len(MEMORY_FIELDS)
        at = len(self.references) + self.released[4]
        return Position(row, row - self.marks + 1, rows, details, ends, memory, remembered, at)

    @property
    def innermost(self) -> int:
        """The innermost row that is open, as `open` has it, or -1."""
        last = self.open[-1:]  # at once: `end_elsewhere` may come between two steps
        return last[0] if last else self.base

    @property
    def is_in_op(self) -> bool:
        """Whether the innermost row that is open is an operator's, or another that `leave` ends."""
        last = self.open[-1:]
        return bool(last) and last[0] >= 0

    @property
    def open_row(self) -> int:
        """The innermost row that is open, or -1."""
        row = self.innermost
        return -2 - row if row < -1 else row

    def refer(self, row: int, values: Sequence[Any]) -> None:
        """Notes which tensors an event was given."""
        if row >= 0:
            # at once: another thread may read meanwhile; gc.get_objects() must not see a tuple that grows
            self.references += list(references_of(row, values))

    def open_rows(self) -> list[tuple[int, int]]:
        """(row, label) of what is open with a handle, outermost first."""
        labels = dict(zip(self.rows[:: len(ROW_FIELDS)], self.rows[2 :: len(ROW_FIELDS)]))
        opened = [self.open, *(lane.open for lane in self.lanes if lane is not self.lane)]
        return [(-2 - row, labels[-2 - row]) for rows in opened for row in rows if row < -1 and -2 - row in labels]

    def forget(self, limit: int) -> None:
        """Gives up the oldest rows and memory records, so that `limit` of each are left."""
        width = len(ROW_FIELDS)
        cut = max(0, len(self.rows) - limit * width)
        del self.rows[:cut]
        self.released[0] += cut
        first = self.rows[0] if self.rows else 0
        for index, flat, size in ((1, self.details, len(DETAIL_FIELDS)), (2, self.ends, len(END_FIELDS))):
            kept = [x for i in range(0, len(flat), size) if flat[i] >= first for x in flat[i : i + size]]
            self.released[index] += len(flat) - len(kept)
            flat[:] = kept
        flat = self.references
        kept = [x for i in range(0, len(flat), WIDTH) if flat[i + ROW_AT] >= first for x in flat[i : i + WIDTH]]
        self.released[4] += len(flat) - len(kept)
        flat[:] = kept
        size = len(CUT_FIELDS)
        self.cuts[:] = [
            x for i in range(0, len(self.cuts), size) if self.cuts[i] >= first for x in self.cuts[i : i + size]
        ]
        cut = max(0, len(self.memory) - limit * len(MEMORY_FIELDS))
        del self.memory[:cut]
        self.released[3] += cut

    def drop_ended_calls(self) -> None:
        """Takes the Python calls that the end of tracing ended off the stack; on the thread whose buffer it is."""
        self.has_ended_calls = False
        current: list[Any] = [self, *(lane for lane in self.lanes if lane is not self.lane)]
        for lane in current:
            lane.open[:] = [row for row in lane.open if row not in lane.calls]
            lane.calls.clear()

    def end(self, row: int, now: int) -> None:
        """Ends a row that was opened with a handle, wherever it stands."""
        opened, entry = self.open, -2 - row
        if row < 0:  # it was not kept
            return
        if opened[-1:] == [entry]:
            opened.pop()
            self.calls.discard(entry)
            self.ends += (row, now)
        elif entry in self.calls:
            self._end_call(entry, now)
        elif entry in opened:
            self.end_event(entry, now)
        elif len(self.lanes) > 1:  # else it ended with the event that it began in
            self._in_its_lane(entry, lambda: self.end(row, now))

    def _in_its_lane(self, entry: int, end: Callable[[], None]) -> None:
        """Ends a row that another lane than the current one has open."""
        current = self.lane
        for lane in self.lanes:
            if lane is not current and entry in lane.open:
                self.go_to(lane)
                end()
                self.go_to(current)
                return

    def _end_call(self, entry: int, now: int) -> None:
        """Ends a Python call before an event that began in it: its row ends where that began, and what called it
        encloses the event. (Not where the event began in another one, which has ended since: `window.py` sees that.)
        """
        opened = self.open
        index = opened.index(entry)
        del opened[index]
        self.calls.remove(entry)
        self.ends += (-2 - entry, now)
        if opened[index] != -1:
            self.cuts += (-2 - entry, opened[index], opened[index - 1] if index else self.base)

    def end_event(self, ended: int, now: int) -> None:
        """Ends a row of the stack, the innermost of several that were not kept (-1). Python calls that began in it and
        go on end with it. Another thread may take a scope off the stack at any moment: indices do not last.
        """
        opened, calls = self.open, self.calls
        seen = opened[:]
        if ended not in seen:
            return
        index = len(seen) - 1 - seen[::-1].index(ended)
        inside = [row for row in seen[index + 1 :] if row in calls]
        if ended == -1:
            opened.pop(index - len(seen))
        else:
            try:
                opened.remove(ended)
            except ValueError:  # another thread has closed it meanwhile
                return
            self.ends += (-2 - ended if ended < -1 else ended, now)
        for row in inside:
            opened.remove(row)
            self.ends += (-2 - row, now)
        calls.difference_update(inside)

    def end_elsewhere(self, row: int, now: int, thread: int) -> None:
        """As `end`, on another thread, whose id is given: the row leaves the nesting."""
        self.detached[row] = thread
        if row >= 0 and -2 - row in self.open:
            self.open.remove(-2 - row)
            self.ends += (row, now)
        elif row >= 0:
            self._in_its_lane(-2 - row, lambda: self.end_elsewhere(row, now, thread))
