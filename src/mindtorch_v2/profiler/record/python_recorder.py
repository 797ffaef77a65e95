"""The observer: fixed-width rows, one list per thread, written while the program runs.

There is one recorder in a process. It sits in the observer slot while a session records or a listener wants to see
calls, and forgets everything when the last of them ends. A row is five integers, added in one indivisible step; its end
follows as a pair in another list, and what only some rows have (arguments, stacks) in a third. Whatever interrupts a
thread between two steps (the garbage collector running a finaliser, a signal handler) may therefore record events of its
own. Nothing here locks, formats or keeps a tensor.
"""
from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple, Protocol

from . import clock, tasks
from .descriptions import ThreadInfo
from .interning import InputTable, Labels, ModuleTable, op_label, op_numbers
from .kinds import Kind
from .stacks import StackSampler

ROW_FIELDS = ("row", "start_ns", "label", "parent", "sequence_nr")
DETAIL_FIELDS = ("row", "forward_thread", "inputs", "stack", "module")   # only for rows that have any of these
END_FIELDS = ("row", "end_ns")
CUT_FIELDS = ("call", "event", "parent")   # a Python call ended before an event that began in it, whose parent is what called it
MEMORY_FIELDS = ("time_ns", "block", "address", "nbytes", "device", "row")   # device: type << 16 | index
DEVICE_NUMBERS = {"cpu": 0, "cuda": 1, "meta": 14, "privateuseone": 20, "npu": 21}

EVALUATE = "autograd::engine::evaluate_function: "
SHAPES, STACKS, MODULES, LISTENERS = 1, 2, 4, 8   # bits of Recorder.detail: what makes a row cost more than its times
_thread_numbers = itertools.count(1)


TENSORS = 1 << 30                # beside the device of a beginning: a tensor took the memory


def device_number(device_type: str, device_index: int) -> int:
    """A device as one number."""
    return DEVICE_NUMBERS.get(device_type, 20) << 16 | device_index


_number_of_ident: dict[int, int] = {}


class _Identity(threading.local):
    """Who the calling thread is; made when it first asks, so numbers follow the order of first use."""

    def __init__(self) -> None:
        self.info = ThreadInfo(next(_thread_numbers), threading.get_native_id(), threading.current_thread().name)
        _number_of_ident[threading.get_ident()] = self.info.number


identity = _Identity()


class Listener(Protocol):
    """Something that wants to see every call as it happens (the execution trace)."""

    def enter(self, kind: Kind, name: str, op: Any, args: tuple[Any, ...], sequence_nr: int, forward_thread: int) -> None:
        """An event begins."""

    def leave(self) -> None:
        """The innermost event of the calling thread ends."""

    def outputs(self, result: Any) -> None:
        """What the innermost operator returned."""


class Position(NamedTuple):
    """A moment in a buffer: the number that the next row gets (or a smaller one that none has), how many rows had been
    recorded, and where the next entries of its tables stand."""

    row: int
    recorded: int
    rows_at: int
    details_at: int
    ends_at: int
    memory_at: int
    remembered: int      # memory records so far


class Lane:
    """What an asyncio task or a greenlet has open while another one runs; number 0 is the thread's own."""

    __slots__ = ("number", "name", "inherited", "open", "calls", "module", "module_stack")

    def __init__(self, number: int = 0, name: str = "", inherited: int = -1) -> None:
        self.number, self.name, self.inherited = number, name, inherited
        self.open: list[int] = []
        self.calls: set[int] = set()
        self.module = -1
        self.module_stack: list[tuple[Any, int, int]] = []


class ThreadBuffer:
    """What one thread recorded. `open` is its stack of open rows: a row number, or -2 - number where the row was
    opened with a handle and will be closed by it. Row numbers grow but may have gaps. Positions count what has been given
    up (`gone`) too."""

    __slots__ = ("info", "row_numbers", "marks", "rows", "details", "ends", "cuts", "open", "calls", "memory", "detached", "module",
                 "module_stack", "op_stacks", "frames", "builtins", "traced", "paused_by_ops", "gone",
                 "lanes", "lane", "task", "base", "switched", "calls_only")

    def __init__(self, info: ThreadInfo) -> None:
        self.info = info
        self.row_numbers = itertools.count()
        self.marks = 0                      # numbers that no row got
        self.gone = [0, 0, 0, 0]            # entries given up of rows, details, ends, memory
        self.rows: list[int] = []           # flat, ROW_FIELDS
        self.details: list[int] = []        # flat, DETAIL_FIELDS
        self.ends: list[int] = []           # flat, END_FIELDS
        self.cuts: list[int] = []           # flat, CUT_FIELDS
        self.open: list[int] = []
        self.calls: set[int] = set()        # those of `open` that are Python calls
        self.memory: list[int] = []         # flat, MEMORY_FIELDS
        self.detached: dict[int, int] = {}  # rows closed by another thread -> that thread's number
        self.module = -1
        self.module_stack: list[tuple[Any, int, int]] = []   # (outermost module, module before, row)
        self.op_stacks: dict[int, int] = {}         # open operator of the package -> its call stack
        self.frames: dict[FrameType, int] = {}      # running Python function -> its row
        self.builtins: dict[FrameType, int] = {}    # caller of a running function in C -> that function's row
        self.traced = False
        self.calls_only = False             # only its Python calls are recorded
        self.paused_by_ops: Any = None      # the thread's profile function, where it need not run inside operators
        self.lanes = [Lane()]               # the thread's own, and those of its tasks
        self.lane = self.lanes[0]           # the current one: what it has open stands here
        self.task: Any = None               # whose it is
        self.base = -1                      # the parent (as in `open`) of rows that begin where the lane has nothing open
        self.switched: list[tuple[int, int]] = []   # (row, lane): from which row on the thread ran in which lane

    @property
    def in_task(self) -> bool:
        """Whether a task runs, not the thread itself."""
        return self.lane.number != 0

    def add_lane(self, number: int, name: str, is_greenlet: bool, inherited: int) -> Lane:
        """A lane for a task. (Frames are found by what they are, so greenlets need no more.)"""
        self.lanes.append(Lane(number, name, inherited))
        return self.lanes[-1]

    def switches(self) -> list[tuple[int, int]]:
        """(row, lane): from which row on the thread ran in which lane."""
        return list(self.switched)

    def go_to(self, lane: Lane) -> None:
        """Takes up what a task had open."""
        before = self.lane
        before.open, before.calls, before.module, before.module_stack = self.open, self.calls, self.module, self.module_stack
        self.open, self.calls, self.module, self.module_stack = lane.open, lane.calls, lane.module, lane.module_stack
        self.lane = lane

    def switch(self, task: Any, lane: Lane) -> None:
        """Another task runs now."""
        number = next(self.row_numbers)
        self.marks += 1
        self.task = task
        if lane is not self.lane:
            self.switched.append((number, lane.number))
            self.go_to(lane)
        self.base = self._base_of(lane)

    def _base_of(self, lane: Lane) -> int:
        """What encloses the rows of a task beside its own: the scope that it began in while that is open, else what the thread has
        open."""
        if lane.number == 0:
            return -1
        inherited = -2 - lane.inherited
        if lane.inherited >= 0 and any(inherited in other.open for other in self.lanes):
            return inherited
        root = self.lanes[0]
        return next((row for row in reversed(root.open) if row not in root.calls), -1)

    def position(self) -> Position:
        """Where the next entries will stand."""
        number = next(self.row_numbers)
        rows, details, ends, memory = [len(flat) + gone for flat, gone in
                                       zip((self.rows, self.details, self.ends, self.memory), self.gone)]
        self.marks += 1
        return Position(number, number - self.marks + 1, rows, details, ends, memory, memory // len(MEMORY_FIELDS))

    def open_rows(self) -> list[tuple[int, int]]:
        """(row, label) of what is open with a handle, outermost first."""
        labels = dict(zip(self.rows[::len(ROW_FIELDS)], self.rows[2::len(ROW_FIELDS)]))
        opened = [self.open, *(lane.open for lane in self.lanes if lane is not self.lane)]
        return [(-2 - row, labels[-2 - row]) for rows in opened for row in rows if row < -1 and -2 - row in labels]

    def forget(self, limit: int) -> None:
        """Gives up the oldest rows and memory records, so that `limit` of each are left."""
        width = len(ROW_FIELDS)
        cut = max(0, len(self.rows) - limit * width)
        del self.rows[:cut]
        self.gone[0] += cut
        first = self.rows[0] if self.rows else 0
        for place, flat, size in ((1, self.details, len(DETAIL_FIELDS)), (2, self.ends, len(END_FIELDS))):
            kept = [x for i in range(0, len(flat), size) if flat[i] >= first for x in flat[i:i + size]]
            self.gone[place] += len(flat) - len(kept)
            flat[:] = kept
        size = len(CUT_FIELDS)
        self.cuts[:] = [x for i in range(0, len(self.cuts), size) if self.cuts[i] >= first for x in self.cuts[i:i + size]]
        cut = max(0, len(self.memory) - limit * len(MEMORY_FIELDS))
        del self.memory[:cut]
        self.gone[3] += cut

    def end(self, row: int, now: int) -> None:
        """Ends a row that was opened with a handle, wherever it stands."""
        opened, number = self.open, -2 - row
        if row < 0:                              # it was not kept
            return
        if opened and opened[-1] == number:
            opened.pop()
            self.calls.discard(number)
            self.ends += (row, now)
        elif number in self.calls:
            self._end_call(number, now)
        elif number in opened:
            self.end_event(opened.index(number), now)
        elif len(self.lanes) > 1:                # else it ended with the event that it began in
            self._in_its_lane(number, lambda: self.end(row, now))

    def _in_its_lane(self, number: int, end: Callable[[], None]) -> None:
        """Ends a row that another lane than the current one has open."""
        current = self.lane
        for lane in self.lanes:
            if lane is not current and number in lane.open:
                self.go_to(lane)
                end()
                self.go_to(current)
                return

    def _end_call(self, number: int, now: int) -> None:
        """Ends a Python call before an event that began in it: its row ends where that began, and what called it encloses the event."""
        opened = self.open
        place = opened.index(number)
        del opened[place]
        self.calls.remove(number)
        self.ends += (-2 - number, now)
        if opened[place] != -1:
            self.cuts += (-2 - number, opened[place], opened[place - 1] if place else self.base)

    def end_event(self, place: int, now: int) -> None:
        """Ends the row at a place of the stack. Python calls that began in it and go on end with it."""
        opened, calls = self.open, self.calls
        ended = opened[place]
        if place == len(opened) - 1:
            opened.pop()
        else:
            inside = [row for row in opened[place + 1:] if row in calls]
            opened[place:] = [row for row in opened[place + 1:] if row not in calls]
            calls.difference_update(inside)
            for row in inside:
                self.ends += (-2 - row, now)
        if ended != -1:
            self.ends += (-2 - ended if ended < -1 else ended, now)

    def end_elsewhere(self, row: int, now: int, thread: int) -> None:
        """As `end`, on another thread, whose number is given: the row leaves the nesting."""
        self.detached[row] = thread
        if row >= 0 and -2 - row in self.open:
            self.open.remove(-2 - row)
            self.ends += (row, now)
        elif row >= 0:
            self._in_its_lane(-2 - row, lambda: self.end_elsewhere(row, now, thread))


class Handle:
    """An open row that may be closed out of order or by another thread."""

    __slots__ = ("generation", "buffer", "row", "scopes")

    def __init__(self, generation: int, buffer: ThreadBuffer, row: int) -> None:
        self.generation, self.buffer, self.row = generation, buffer, row
        self.scopes: Any = None      # of a scope in a task: what `tasks.scope` is while it is open, and was before


class _Local(threading.local):
    buffer: ThreadBuffer | None = None


class Recorder:
    """The Python recorder. Every `enter_*` that is observed is closed by `leave`, on the same thread."""

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
        self.stacks = StackSampler()
        self.buffers: dict[int, ThreadBuffer] = {}     # thread number -> buffer of a thread that is recorded
        self.stray_memory: list[int] = []              # frees by threads that are not
        self._local = _Local()
        self.on_adopt: Callable[[ThreadBuffer], None] | None = None
        self._lanes: dict[int, tuple[Any, Any, Any]] = {}     # id of a task -> (weak reference to it, buffer, lane)
        self._has_tasks = tasks.may_exist()
        self._start_tables()

    def _start_tables(self) -> None:
        self.limit, self.newest = 0, False             # how many rows are kept, and which
        self.dropped = self._stored = 0

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
        buffer = self.buffers.get(info.number)
        if buffer is None:
            buffer = self.buffers[info.number] = self._make_buffer(info)
        buffer.calls_only = False
        self._bind(buffer)
        if self.on_adopt is not None:
            self.on_adopt(buffer)
        return buffer

    def adopt_calls(self) -> None:
        """Records the Python calls of the calling thread from now on, and all else that it does only where threads are recorded when
        first met."""
        number = identity.info.number
        if self.all_threads or number in self.buffers:
            self._buffer()
        elif self.on_adopt is not None:
            buffer = self.buffers[number] = self._make_buffer(identity.info)
            buffer.calls_only = True
            self.on_adopt(buffer)

    def _make_buffer(self, info: ThreadInfo) -> ThreadBuffer:
        return ThreadBuffer(info)

    def _bind(self, buffer: ThreadBuffer) -> None:
        """Makes a buffer the calling thread's."""
        self._local.buffer = buffer

    def _buffer(self) -> ThreadBuffer | None:
        """The slow way to the calling thread's buffer, where it has not been seen since `release`."""
        known = self.buffers.get(identity.info.number)
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
        """The lane of a task (of the one that runs now). One that is met for the first time inherits the scope that was open where
        it was created."""
        task = tasks.current() if task is None else task
        if task is None:
            return buffer.lanes[0]
        known_task, owner, lane = self._lanes.get(id(task), (None, None, None))
        if owner is not buffer or known_task() is not task:      # another one may have had the number
            generation, thread, row = tasks.scope.get() or (0, 0, -1)
            known = generation == self.generation and thread == buffer.info.number
            number = next(tasks.numbers)
            lane = buffer.add_lane(number, tasks.name_of(task, number), tasks.is_greenlet(task), row if known else -1)
            self._lanes[id(task)] = weakref.ref(task), buffer, lane
        return lane

    def meet_again(self) -> None:
        """Makes every thread pass by `adopt` once more."""
        self._local = _Local()

    def release(self, keep: set[int]) -> None:
        """Stops recording all threads but those numbered in `keep`, and those whose calls alone are recorded while calls are."""
        kept = {n: b for n, b in self.buffers.items() if n in keep or (b.calls_only and self.on_adopt is not None)}
        if len(kept) < len(self.buffers):
            self.buffers = kept
            self._lanes.clear()
            self.meet_again()

    # --- events -----------------------------------------------------------------------------------------------------
    def enter_op(self, op: Any, args: tuple[Any, ...], sequence_nr: int) -> None:
        buffer = self._local.buffer or self._buffer()
        detail = self.detail
        if detail and detail & LISTENERS:
            for listener in self.listeners:
                listener.enter(Kind.OP, op.event, op, args, sequence_nr, 0)
        if buffer is None:
            return
        label = op_numbers.get(op)
        if label is None:
            label = op_label(op)
        opened = buffer.open
        if self._has_tasks and not (opened and opened[-1] >= 0):      # no task is left inside an operator
            self._follow(buffer)
            opened = buffer.open
        if self.limit and not self._has_room(buffer):
            opened.append(-1)
            return
        row, parent = next(buffer.row_numbers), opened[-1] if opened else buffer.base
        if detail:
            inputs = self.inputs.of_op(op, args) if detail & SHAPES else -1
            stack = -1
            if detail & STACKS:
                stack = self._stack_of(buffer, parent)
                if op.event.startswith("aten::"):
                    if buffer.paused_by_ops is not None and not buffer.op_stacks:
                        if sys.getprofile() is buffer.paused_by_ops:
                            sys.setprofile(None)
                        else:
                            buffer.paused_by_ops = None     # another has taken its place
                    buffer.op_stacks[row] = stack
            buffer.details += (row, 0, inputs, stack, buffer.module)
        buffer.rows += (row, self.now(), label, parent, sequence_nr)
        opened.append(row)

    def enter_node(self, name: str, sequence_nr: int, forward_thread: int, inputs: tuple[Any, ...], is_backward: bool) -> None:
        """`forward_thread` is the identifier that Python gave to the thread of the forward, or 0 where that is not known:
        then it is taken to be the calling one. A name without the engine's prefix is the forward of a custom Function."""
        if not is_backward and not name.startswith(EVALUATE):
            self._enter(Kind.FUNCTION, name, inputs, sequence_nr)
            return
        number = self._thread_number(forward_thread, sequence_nr)
        self._enter(Kind.BACKWARD if is_backward else Kind.NODE, name, inputs if is_backward else (), sequence_nr, number)

    @staticmethod
    def _thread_number(ident: int, sequence_nr: int) -> int:
        """The number of the thread that ran a forward; 0 for what has none."""
        number = _number_of_ident.get(ident, 0)
        return identity.info.number if number == 0 and sequence_nr >= 0 else number

    def enter_scope(self, name: str, args: str | None = None) -> None:
        self._enter(Kind.SCOPE, name, args)

    def enter_function(self, name: str, args: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None,
                       sequence_nr: int = -1) -> None:
        """A named call that is shown like an operator."""
        self._enter(Kind.FUNCTION, name, args, sequence_nr, keywords=keywords)

    def _enter(self, kind: Kind, name: str, inputs: Any, sequence_nr: int = -1, forward_thread: int = 0,
               keywords: dict[str, Any] | None = None) -> None:
        buffer = self.thread_buffer()
        if self.detail & LISTENERS:
            self._tell(kind, name, inputs, sequence_nr, forward_thread)
        if buffer is not None:
            self._push(buffer, False, kind, name, inputs, sequence_nr, forward_thread, keywords)

    def _tell(self, kind: Kind, name: str, inputs: Any, sequence_nr: int, forward_thread: int) -> None:
        args = inputs if isinstance(inputs, tuple) else ()
        for listener in self.listeners:
            listener.enter(kind, name, None, args, sequence_nr, forward_thread)

    def _push(self, buffer: ThreadBuffer, by_handle: bool, kind: Kind, name: str, inputs: Any, sequence_nr: int = -1,
              forward_thread: int = 0, keywords: dict[str, Any] | None = None) -> int:
        opened = buffer.open
        if self.limit and not self._has_room(buffer):
            if not by_handle:
                opened.append(-1)
            return -1
        row, parent = next(buffer.row_numbers), opened[-1] if opened else buffer.base
        described = self._described(inputs, keywords)
        stack = self._stack_of(buffer, parent) if self.detail & STACKS else -1
        label = self.labels.number(name, kind)
        if forward_thread or self.detail or described >= 0:
            buffer.details += (row, forward_thread, described, stack, buffer.module)
        buffer.rows += (row, self.now(), label, parent, sequence_nr)
        opened.append(-2 - row if by_handle else row)
        return row

    def _described(self, inputs: Any, keywords: dict[str, Any] | None) -> int:
        if isinstance(inputs, str):
            return self.inputs.of_text(inputs)
        return self.inputs.of_values(inputs, keywords) if self.detail & SHAPES and (inputs or keywords) else -1

    def _stack_of(self, buffer: ThreadBuffer, parent: int) -> int:
        """The call stack of a new row. What an operator of the package calls has the operator's: only the package's own
        frames lie between them."""
        inherited = buffer.op_stacks.get(parent)
        return self.stacks.sample() if inherited is None else inherited

    def leave(self) -> None:
        now = self.now()
        detail = self.detail
        if detail and detail & LISTENERS:
            for listener in self.listeners:
                listener.leave()
        buffer = self._local.buffer or self._buffer()
        if buffer is None:
            return
        opened = buffer.open
        if self._has_tasks and not (opened and opened[-1] >= 0):
            self._follow(buffer)
            opened = buffer.open
        if not opened:
            return
        row = opened.pop()
        if row < -1:
            # Scopes that were opened inside and not closed outlive this event and stay open; Python calls end with it.
            opened.append(row)
            place = next((i for i in range(len(opened) - 1, -1, -1) if opened[i] >= -1), None)
            if place is None:
                return
            row = opened[place]
            buffer.end_event(place, now)
        elif row != -1:
            buffer.ends += (row, now)
        if row == -1:                       # a row that was not kept
            return
        if detail and detail & STACKS:
            was_op = buffer.op_stacks.pop(row, None) is not None
            if was_op and buffer.paused_by_ops is not None and not buffer.op_stacks and sys.getprofile() is None:
                sys.setprofile(buffer.paused_by_ops)

    # --- rows with a handle -----------------------------------------------------------------------------------------
    def open(self, kind: Kind, name: str, inputs: Any = None, keywords: dict[str, Any] | None = None,
             sequence_nr: int = -1) -> Handle | None:
        """Opens a row that `close` ends, in whatever order; None where the thread is not recorded."""
        buffer = self.thread_buffer()
        if self.detail & LISTENERS:
            self._tell(kind, name, inputs, -1, 0)
        if buffer is None:
            return None
        handle = Handle(self.generation, buffer, self._push(buffer, True, kind, name, inputs, sequence_nr, 0, keywords))
        if buffer.in_task and (kind == Kind.SCOPE or kind == Kind.STEP):
            handle.scopes = ((handle.generation, buffer.info.number, handle.row), tasks.scope.get())
            tasks.scope.set(handle.scopes[0])
        return handle

    def close(self, handle: Handle | None) -> None:
        """Ends a row, once; later calls do nothing, nor does one after the recorder has forgotten the row."""
        now = self.now()
        if self.detail & LISTENERS:
            for listener in self.listeners:
                listener.leave()
        if handle is None or handle.generation != self.generation:
            return
        if handle.scopes is not None and tasks.scope.get() == handle.scopes[0]:
            tasks.scope.set(handle.scopes[1])
        if handle.buffer.info.number == identity.info.number:
            handle.buffer.end(handle.row, now)
        else:
            handle.buffer.end_elsewhere(handle.row, now, identity.info.number)

    # --- loading ------------------------------------------------------------------------------------------------------
    def begin_loading(self, name: str) -> Any:
        """Something that is done once begins; `end_loading` takes what this gives. Listeners are not told."""
        buffer = self.thread_buffer()
        return None if buffer is None else (self.generation, buffer, self.push_python(buffer, self.labels.number(name, Kind.LOADING)))

    def end_loading(self, begun: Any) -> None:
        if begun is not None and begun[0] == self.generation:
            begun[1].end(begun[2], self.now())

    # --- results, memory, modules -----------------------------------------------------------------------------------
    def outputs(self, result: Any) -> None:
        """What the innermost operator returned; asked for while `watches_outputs`."""
        for listener in self.listeners:
            listener.outputs(result)

    def allocated(self, address: int, nbytes: int, device_type: str, device_index: int, block: int = 0) -> None:
        buffer = self._local.buffer or self._buffer()
        if buffer is not None:
            self._note_memory(buffer, block, address, nbytes, device_type, device_index)

    def freed(self, address: int, nbytes: int, device_type: str, device_index: int, block: int = 0) -> None:
        buffer = self._local.buffer or self._buffer()
        if buffer is not None:
            self._note_memory(buffer, block, address, -nbytes, device_type, device_index)
        elif self.watches_memory and not (self.limit and self.stray_count >= self.limit):
            self.stray_memory += (self.now(), block, address, -nbytes, device_number(device_type, device_index), -1)

    def _note_memory(self, buffer: ThreadBuffer, block: int, address: int, nbytes: int, device_type: str, device_index: int) -> None:
        if self.watches_memory:
            if self.limit and len(buffer.memory) >= len(MEMORY_FIELDS) * self.limit:
                if not self.newest:
                    self.dropped += 1
                    return
                if len(buffer.memory) >= 2 * len(MEMORY_FIELDS) * self.limit:
                    buffer.forget(self.limit)
            row = buffer.open[-1] if buffer.open else buffer.base
            buffer.memory += (self.now(), block, address, nbytes, device_number(device_type, device_index), row)

    def enter_module(self, module: Any) -> None:
        """An nn.Module is called; asked for while `watches_modules`."""
        buffer = self.thread_buffer()
        if buffer is None:
            return
        calls = buffer.module_stack
        root, before = calls[-1][0] if calls else module, buffer.module
        known = self.modules.calls.get((id(module), id(root), before))
        if known is None or known[0]() is not module or known[1]() is not root:
            known = self.modules.meet(module, root, before, self.labels)
        buffer.module = known[2]
        calls.append((root, before, self.push_python(buffer, known[3])))

    def leave_module(self) -> None:
        """The innermost module call of the thread ends."""
        buffer = self.thread_buffer()
        if buffer is not None and buffer.module_stack:
            _, buffer.module, row = buffer.module_stack.pop()
            buffer.end(row, self.now())

    def push_python(self, buffer: ThreadBuffer, label: int) -> int:
        """Opens a row for a Python call."""
        if self._has_tasks:
            self._follow(buffer)
        if self.limit and not self._has_room(buffer):
            return -1
        opened, row = buffer.open, next(buffer.row_numbers)
        parent = opened[-1] if opened else buffer.base
        if buffer.module >= 0:
            buffer.details += (row, 0, -1, -1, buffer.module)
        buffer.rows += (row, self.now(), label, parent, -1)
        opened.append(-2 - row)
        buffer.calls.add(-2 - row)
        return row
