"""Which threads and tasks are recorded, and what is recorded of them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from . import clock, tasks
from .descriptions import ThreadInfo
from .interning import InputTable, Labels, ModuleTable
from .kinds import Kind
from .owned import OwnedTable
from .row_format import LISTENERS, MEMORY_FIELDS, MODULES, ROW_FIELDS
from .stacks import StackSampler
from .thread_buffer import ThreadBuffer
from .thread_identity import identity


class Listener(Protocol):
    """Something that wants to see every call as it happens (the execution trace)."""

    def enter(
        self, kind: Kind, name: str, op: Any, args: tuple[Any, ...], sequence_nr: int, forward_thread: int
    ) -> None:
        """An event begins."""

    def leave(self) -> None:
        """The innermost event of the calling thread ends."""

    def outputs(self, result: Any) -> None:
        """What the innermost operator returned."""


class _Local(threading.local):
    buffer: ThreadBuffer | None = None


class RecordedThreads:
    """What a recorder knows before any event: which threads and tasks it records, into which buffers, what rows
    hold, and how many are kept.
    """

    watches_memory = False
    watches_modules = False
    watches_outputs = False

    def __init__(self) -> None:
        self.generation = 0
        self.listeners: tuple[Listener, ...] = ()
        self.reset()

    def reset(self) -> None:
        """Forgets everything that was recorded."""
        self.generation += 1
        self.detail = LISTENERS if self.listeners else 0
        self.all_threads = False
        self.now: Callable[[], int] = clock.current().now
        self.labels = Labels()
        self.inputs = InputTable()
        self.modules = ModuleTable()
        self.owned = OwnedTable(self.inputs)
        self.stacks = StackSampler()
        self.buffers: dict[int, ThreadBuffer] = {}  # thread id -> buffer of a thread that is recorded
        self.stray_memory: list[int] = []  # frees by threads that are not
        self._local = _Local()
        self.on_adopt: Callable[[ThreadBuffer], None] | None = None
        self._lanes: dict[int, tuple[Any, Any, Any]] = {}  # id of a task -> (weak reference to it, buffer, lane)
        self._has_tasks = tasks.may_exist()
        self._start_tables()

    def _start_tables(self) -> None:
        self.limit, self.newest = 0, False  # how many rows are kept, and which
        self.dropped = self._stored = 0

    def begin_window(self) -> None:
        """A window begins: modules and optimizers are looked at again when they are next called."""
        self.modules.calls.clear()
        self.owned.begin()

    def bound(self, limit: int, newest: bool) -> None:
        """Keeps at most `limit` rows (0 for all): the newest, or those that came first."""
        self.limit, self.newest = limit, newest

    def _has_room(self, buffer: ThreadBuffer) -> bool:
        """Makes room for a row of a bounded recorder; False where it is not to be kept."""
        if not self.newest:
            self._stored += 1
            if self._stored > self.limit:
                self.dropped += 1
                return False
        elif len(buffer.rows) >= 2 * len(ROW_FIELDS) * self.limit:
            buffer.forget(self.limit)
        return True

    @property
    def stray_count(self) -> int:
        """How many frees by threads that are not recorded were noted."""
        return len(self.stray_memory) // len(MEMORY_FIELDS)

    def set_details(self, detail: int) -> None:
        """What rows hold beside their times: SHAPES, STACKS, MODULES or-ed together."""
        self.detail = detail | (LISTENERS if self.listeners else 0)
        self.watches_modules = bool(detail & MODULES)
        self.watches_outputs = bool(self.listeners)

    def watch_memory(self, on: bool) -> None:
        """Whether memory is recorded from now on."""
        self.watches_memory = on

    # --- threads ----------------------------------------------------------------------------------------------------
    def adopt(self) -> ThreadBuffer:
        """Records the calling thread from now on."""
        info = identity.info
        buffer = self.buffers.get(info.id)
        if buffer is None:
            buffer = self.buffers[info.id] = self._make_buffer(info)
        buffer.calls_only = False
        self._bind(buffer)
        if self.on_adopt is not None:
            self.on_adopt(buffer)
        return buffer

    def adopt_calls(self) -> None:
        """Records the Python calls of the calling thread from now on, and all else that it does only where threads
        are recorded when first met.
        """
        thread = identity.info.id
        if self.all_threads or thread in self.buffers:
            self._buffer()
        elif self.on_adopt is not None:
            buffer = self.buffers[thread] = self._make_buffer(identity.info)
            buffer.calls_only = True
            self.on_adopt(buffer)

    def _make_buffer(self, info: ThreadInfo) -> ThreadBuffer:
        return ThreadBuffer(info)

    def _bind(self, buffer: ThreadBuffer) -> None:
        """Makes a buffer the calling thread's."""
        if buffer.has_ended_calls:
            buffer.drop_ended_calls()
        self._local.buffer = buffer

    def _buffer(self) -> ThreadBuffer | None:
        """The slow way to the calling thread's buffer, where it has not been seen since `release`."""
        known = self.buffers.get(identity.info.id)
        return self.adopt() if self.all_threads or (known is not None and not known.calls_only) else None

    def thread_buffer(self) -> ThreadBuffer | None:
        """The calling thread's buffer, if it is recorded; its lane is that of the task that runs now."""
        buffer = self._local.buffer or self._buffer()
        if not self._has_tasks:
            self._has_tasks = tasks.may_exist()
        if buffer is not None and self._has_tasks:
            self._follow(buffer)
        return buffer

    def _follow(self, buffer: ThreadBuffer) -> None:
        """Goes to the lane of the task that runs now."""
        task = tasks.current()
        if task is not buffer.task:
            buffer.switch(task, self._lane_of(buffer, task))

    def _lane_of(self, buffer: ThreadBuffer, task: Any = None) -> Any:
        """The lane of a task (of the one that runs now). One that is met for the first time inherits the scope that
        was open where it was created.
        """
        task = tasks.current() if task is None else task
        if task is None:
            return buffer.lanes[0]
        known_task, owner, lane = self._lanes.get(id(task), (None, None, None))
        if owner is not buffer or known_task() is not task:  # another one may have had the id
            generation, thread, row = tasks.scope.get() or (0, 0, -1)
            known = generation == self.generation and thread == buffer.info.id
            lane_id = next(tasks.ids)
            lane = buffer.add_lane(lane_id, tasks.name_of(task, lane_id), tasks.is_greenlet(task), row if known else -1)
            self._lanes[id(task)] = weakref.ref(task), buffer, lane
        return lane

    def rebind_threads(self) -> None:
        """Makes every thread pass by `adopt` once more."""
        self._local = _Local()

    def release(self, keep: set[int]) -> None:
        """Stops recording all threads but those with ids in `keep`, and those whose calls alone are recorded while
        calls are.
        """
        kept = {n: b for n, b in self.buffers.items() if n in keep or (b.calls_only and self.on_adopt is not None)}
        if len(kept) < len(self.buffers):
            self.buffers = kept
            self._lanes.clear()
            self.rebind_threads()
