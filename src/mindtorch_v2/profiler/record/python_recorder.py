"""The observer: fixed-width rows, one list per thread, written while the program runs.

There is one recorder in a process. It sits in the observer slot while a session records or a listener wants to see
calls, and forgets everything when the last of them ends. A row is five integers, added in one indivisible step; its end
follows as a pair in another list, and what only some rows have (arguments, stacks) in a third. Whatever interrupts a
thread between two steps (the garbage collector running a finaliser, a signal handler) may therefore record events of
its own. Nothing here locks, formats or keeps a tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..._observer import NODE_PREFIX
from ..._storage import next_block
from . import kernel_memory, tasks
from .interning import op_label, op_label_ids
from .kernel_memory import KernelMemory
from .kinds import Kind
from .recorded_threads import RecordedThreads
from .row_format import LISTENERS, MEMORY_FIELDS, REFERENCES, SHAPES, STACKS, TENSORS, device_code
from .thread_buffer import ThreadBuffer
from .thread_identity import id_of_ident, identity


class Handle:
    """An open row that may be closed out of order or by another thread."""

    __slots__ = ("generation", "buffer", "row", "scopes")

    def __init__(self, generation: int, buffer: ThreadBuffer, row: int) -> None:
        self.generation, self.buffer, self.row = generation, buffer, row
        self.scopes: Any = None  # of a scope in a task: what `tasks.scope` is while it is open, and was before


class Recorder(RecordedThreads):
    """The Python recorder. Every `enter_*` that is observed is closed by `leave`, on the same thread."""

    # --- events -----------------------------------------------------------------------------------------------------
    def enter_op(self, op: Any, args: tuple[Any, ...], sequence_nr: int) -> None:
        buffer = self._local.buffer or self._buffer()
        detail = self.detail
        if detail and detail & LISTENERS:
            for listener in self.listeners:
                listener.enter(Kind.OP, op.event, op, args, sequence_nr, 0)
        if buffer is None:
            return
        label = op_label_ids.get(op)
        if label is None:
            label = op_label(op)
        opened = buffer.open
        if self._has_tasks and not buffer.is_in_op:  # no task is left inside an operator
            self._follow(buffer)
            opened = buffer.open
        if self.limit and not self._has_room(buffer):
            opened.append(-1)
            return
        row, parent = next(buffer.row_ids), buffer.innermost
        if detail:
            inputs = self.inputs.of_op(op, args) if detail & SHAPES else -1
            if detail & REFERENCES:
                buffer.refer(row, args)
            stack = -1
            if detail & STACKS:
                stack = self._stack_of(buffer, parent)
                if op.event.startswith("aten::"):
                    if buffer.paused_by_ops is not None and not buffer.op_stacks:
                        if sys.getprofile() is buffer.paused_by_ops:
                            sys.setprofile(None)
                        else:
                            buffer.paused_by_ops = None  # another profile function has replaced it
                    buffer.op_stacks[row] = stack
            buffer.details += (row, 0, inputs, stack, buffer.module)
        buffer.rows += (row, self.now(), label, parent, sequence_nr)
        opened.append(row)

    def enter_node(
        self, name: str, sequence_nr: int, forward_thread: int, inputs: tuple[Any, ...], is_backward: bool
    ) -> None:
        """`forward_thread` is the identifier that Python gave to the thread of the forward, or 0 where that is not
        known: then it is taken to be the calling one. A name without the engine's prefix is the forward of a custom
        Function.
        """
        if not is_backward and not name.startswith(NODE_PREFIX):
            self._enter(Kind.FUNCTION, name, inputs, sequence_nr)
            return
        thread = self._thread_id(forward_thread, sequence_nr)
        self._enter(
            Kind.BACKWARD if is_backward else Kind.NODE, name, inputs if is_backward else (), sequence_nr, thread
        )

    @staticmethod
    def _thread_id(ident: int, sequence_nr: int) -> int:
        """The id of the thread that ran a forward; 0 for what has none."""
        thread = id_of_ident.get(ident, 0)
        return identity.info.id if thread == 0 and sequence_nr >= 0 else thread

    def enter_scope(self, name: str, args: str | None = None) -> None:
        self._enter(Kind.SCOPE, name, args)

    def enter_function(
        self, name: str, args: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None, sequence_nr: int = -1
    ) -> None:
        """A named call that is recorded like an operator."""
        self._enter(Kind.FUNCTION, name, args, sequence_nr, keywords=keywords)

    def _enter(
        self,
        kind: Kind,
        name: str,
        inputs: Any,
        sequence_nr: int = -1,
        forward_thread: int = 0,
        keywords: dict[str, Any] | None = None,
    ) -> None:
        buffer = self.thread_buffer()
        if self.detail & LISTENERS:
            self._tell(kind, name, inputs, sequence_nr, forward_thread)
        if buffer is not None:
            self._push(buffer, False, kind, name, inputs, sequence_nr, forward_thread, keywords)

    def _tell(self, kind: Kind, name: str, inputs: Any, sequence_nr: int, forward_thread: int) -> None:
        args = inputs if isinstance(inputs, tuple) else ()
        for listener in self.listeners:
            listener.enter(kind, name, None, args, sequence_nr, forward_thread)

    def _push(
        self,
        buffer: ThreadBuffer,
        by_handle: bool,
        kind: Kind,
        name: str,
        inputs: Any,
        sequence_nr: int = -1,
        forward_thread: int = 0,
        keywords: dict[str, Any] | None = None,
    ) -> int:
        opened = buffer.open
        if self.limit and not self._has_room(buffer):
            if not by_handle:
                opened.append(-1)
            return -1
        row, parent = next(buffer.row_ids), buffer.innermost
        described = self._described(inputs, keywords)
        if self.detail & REFERENCES and isinstance(inputs, (list, tuple)):
            buffer.refer(row, inputs)
        stack = self._stack_of(buffer, parent) if self.detail & STACKS else -1
        label = self.labels.id_of(name, kind)
        if forward_thread or self.detail or described >= 0:
            buffer.details += (row, forward_thread, described, stack, buffer.module)
        buffer.rows += (row, self.now(), label, parent, sequence_nr)
        opened.append(-2 - row if by_handle else row)
        return row

    def _described(self, inputs: Any, keywords: dict[str, Any] | None) -> int:
        if isinstance(inputs, str):
            return self.inputs.of_text(inputs)
        if inputs is None and keywords:  # facts about a row that are not arguments: they stay without shapes too
            return self.inputs.of_values((), keywords)
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
        if self._has_tasks and not buffer.is_in_op:
            self._follow(buffer)
            opened = buffer.open
        last = opened[-1:]
        if not last:
            return
        row = last[0]
        if row < -1:
            # Scopes that were opened inside and not closed outlive this event and stay open; Python calls end with it.
            event = next((row for row in reversed(opened[:]) if row >= -1), None)
            if event is None:
                return
            row = event
            buffer.end_event(row, now)
        else:
            opened.pop()  # the same one: what other threads take off is scopes
            if row != -1:
                buffer.ends += (row, now)
        if row == -1:  # a row that was not kept
            return
        if detail and detail & STACKS:
            was_op = buffer.op_stacks.pop(row, None) is not None
            if was_op and buffer.paused_by_ops is not None and not buffer.op_stacks and sys.getprofile() is None:
                sys.setprofile(buffer.paused_by_ops)

    # --- rows with a handle -----------------------------------------------------------------------------------------
    def open(
        self, kind: Kind, name: str, inputs: Any = None, keywords: dict[str, Any] | None = None, sequence_nr: int = -1
    ) -> Handle | None:
        """Opens a row that `close` ends, in whatever order; None where the thread is not recorded."""
        buffer = self.thread_buffer()
        if self.detail & LISTENERS:
            self._tell(kind, name, inputs, -1, 0)
        if buffer is None:
            return None
        handle = Handle(self.generation, buffer, self._push(buffer, True, kind, name, inputs, sequence_nr, 0, keywords))
        if buffer.in_task and (kind == Kind.SCOPE or kind == Kind.STEP):
            handle.scopes = ((handle.generation, buffer.info.id, handle.row), tasks.scope.get())
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
        if handle.buffer.info.id == identity.info.id:
            handle.buffer.end(handle.row, now)
        else:
            handle.buffer.end_elsewhere(handle.row, now, identity.info.id)

    # --- loading ------------------------------------------------------------------------------------------------------
    def begin_loading(self, name: str) -> Any:
        """Something that is done once begins; `end_loading` takes what this gives. Listeners are not told."""
        buffer = self.thread_buffer()
        return (
            None
            if buffer is None
            else (self.generation, buffer, self.push_python(buffer, self.labels.id_of(name, Kind.LOADING)))
        )

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
            kernel = buffer.kernel if device_type == "cpu" else None
            began = None if kernel is None else kernel.claim(nbytes, buffer.innermost, self.now())
            if self._has_room_for_memory(buffer):
                device = device_code(device_type, device_index) | TENSORS
                time_ns = self.now() if began is None else began
                buffer.memory += (time_ns, block, address, nbytes, device, buffer.innermost)

    def freed(self, address: int, nbytes: int, device_type: str, device_index: int, block: int = 0) -> None:
        buffer, device = self._local.buffer or self._buffer(), device_code(device_type, device_index)
        if buffer is not None:
            if self._has_room_for_memory(buffer):
                buffer.memory += (self.now(), block, address, -nbytes, device, buffer.innermost)
        elif self.watches_memory and not (self.limit and self.stray_count >= self.limit):
            self.stray_memory += (self.now(), block, address, -nbytes, device, -1)

    def _has_room_for_memory(self, buffer: ThreadBuffer) -> bool:
        """Whether one more record of memory is kept. Makes room where the newest are kept, or counts a dropped one."""
        if not self.watches_memory:
            return False
        if self.limit and len(buffer.memory) >= len(MEMORY_FIELDS) * self.limit:
            if not self.newest:
                self.dropped += 1
                return False
            if len(buffer.memory) >= 2 * len(MEMORY_FIELDS) * self.limit:
                buffer.forget(self.limit)
        return True

    def run_kernel(self, kernel: Callable[..., Any], args: tuple[Any, ...], claim: Callable[[Any], None]) -> Any:
        buffer = self._local.buffer or self._buffer()
        if buffer is None or buffer.kernel is not None:  # inside another kernel
            out = kernel(*args)
            claim(out)
            return out
        memory = buffer.kernel = KernelMemory(self.now(), buffer.innermost)
        try:
            try:
                memory.begin()
                out = kernel(*args)
            finally:
                memory.end(self.now())
            claim(out)
            return out
        finally:
            buffer.kernel = None
            if memory.scratch:
                block, row = next_block(), buffer.innermost
                for time_ns, nbytes in ((memory.start_ns, memory.scratch), (memory.end_ns, -memory.scratch)):
                    if self._has_room_for_memory(buffer):
                        buffer.memory += (time_ns, block, 0, nbytes, 0, row)

    def watch_memory(self, on: bool) -> None:
        super().watch_memory(on)
        if not on:
            kernel_memory.forget()

    def enter_module(self, module: Any) -> None:
        """An nn.Module is called; asked for while `watches_modules`."""
        buffer = self.thread_buffer()
        if buffer is None:
            return
        calls = buffer.module_stack
        root, before = calls[-1][0] if calls else module, buffer.module
        known = self.modules.calls.get((id(module), id(root), before))
        is_met = False
        if known is None or known[0]() is not module or known[1]() is not root:
            known, is_met = self.modules.meet(module, root, before, self.labels), True
        buffer.module = known[2]
        row = self.push_python(buffer, known[3])
        calls.append((root, before, row))
        if is_met and self.detail & STACKS and self.owned.is_new(module):
            self.owned.add_module(module, self.now(), buffer.info.id, row)

    def optimizer_stepped(self, optimizer: Any) -> None:
        """An optimizer has updated its parameters; asked for while `watches_modules`."""
        buffer = self.thread_buffer()
        if buffer is not None and self.detail & STACKS and self.owned.is_new(optimizer):
            self.owned.add_optimizer(optimizer, self.now(), buffer.info.id, buffer.open_row)

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
        opened, row = buffer.open, next(buffer.row_ids)
        parent = buffer.innermost
        if buffer.module >= 0:
            buffer.details += (row, 0, -1, -1, buffer.module)
        buffer.rows += (row, self.now(), label, parent, -1)
        opened.append(-2 - row)
        buffer.calls.add(-2 - row)
        return row
