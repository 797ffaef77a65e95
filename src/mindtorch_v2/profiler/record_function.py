"""User scopes: names for parts of a program, recorded as events around what runs inside."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ContextDecorator
from copy import copy
from types import TracebackType
from typing import Any

from .. import _observer
from .record.kinds import Kind
from .record.recorder import Handle, recorder


class _Entry:
    """One time that a scope was entered: by which thread, and its open row where it is recorded."""

    __slots__ = ("thread", "handle", "observed")

    def __init__(self, thread: int, handle: Handle | None, observed: bool) -> None:
        self.thread, self.handle, self.observed = thread, handle, observed

    def close(self) -> None:
        """Ends the row, once."""
        if self.observed:
            self.observed = False
            recorder.close(self.handle)

    def __del__(self) -> None:
        # A scope that nobody keeps has ended: `record_function("x").__enter__()` as a statement. An interrupt may have
        # come before the fields were set.
        if getattr(self, "observed", False):
            self.close()


def _check_text(value: Any, type_text: str, argument: str, position: int) -> None:
    if not isinstance(value, str) and (argument == "name" or value is not None):
        raise RuntimeError(
            f"profiler::_record_function_enter_new() Expected a value of type '{type_text}' for argument '{argument}' "
            f"but instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value}\n"
            "Declaration: profiler::_record_function_enter_new(str name, str? args=None) -> "
            "__torch__.torch.classes.profiler._RecordFunction"
        )


class record_function(ContextDecorator):
    """Names what runs inside it, as a context manager or as a decorator.

    One object may be entered again while it is open (recursion) and by several threads at once. Outside a profile it
    costs a test. Traces list `args` with the event.

    >>> with torch.profiler.profile() as prof:
    ...     with torch.profiler.record_function("my block"):
    ...         y = torch.ones(2) + 1
    >>> "my block" in [event.name for event in prof.events()]
    True
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self.record: _Entry | None = None
        self._entries: list[_Entry] = []

    def _recreate_cm(self) -> record_function:
        made = copy(self)
        made._entries, made.record = [], None
        return made

    def __enter__(self) -> record_function:
        _check_text(self.name, "str", "name", 0)
        _check_text(self.args, "Optional[str]", "args", 1)
        observed = _observer.active is not None
        self.record = _Entry(threading.get_ident(), self._open() if observed else None, observed)
        self._entries.append(self.record)
        return self

    def _open(self) -> Handle | None:
        return recorder.open(Kind.SCOPE, self.name, self.args)

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        if not self.run_callbacks_on_exit:
            return
        if self.record is None:
            raise AssertionError("Expected record to be set")
        entry = self._innermost()
        if entry is not None:
            entry.close()

    def _innermost(self) -> _Entry | None:
        """Takes out the calling thread's newest entry, else any thread's."""
        entries, thread = self._entries, threading.get_ident()
        for i in range(len(entries) - 1, -1, -1):
            if entries[i].thread == thread:
                return entries.pop(i)
        return entries.pop() if entries else None

    def _call_end_callbacks_on_future(self, fut: Any) -> Any:
        """Ends the event when the future is done; returns a future with the same value."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        if self.record is None:
            raise AssertionError("Expected record to be set")
        self.run_callbacks_on_exit = False
        entry = self._innermost()

        def done(future: Any) -> Any:
            if entry is not None:
                entry.close()
            return future.value()

        return fut.then(done)


class _RecordFunctionFast:
    """A named call that is recorded like an operator, with values as its inputs. The keyword value `scope` says what it
    is recorded as: "function", or "user_scope" for an annotation.
    """

    __slots__ = ("name", "input_values", "keyword_values", "_entries")

    def __init__(
        self, name: str, input_values: Sequence[Any] | None = None, keyword_values: dict[str, Any] | None = None
    ) -> None:
        self.name = name
        self.input_values = tuple(input_values or ())
        self.keyword_values = dict(keyword_values or {})
        self._entries: list[_Entry] = []

    def __enter__(self) -> None:
        observed = _observer.active is not None
        handle = recorder.open(self._kind(), self.name, self.input_values, self.keyword_values) if observed else None
        self._entries.append(_Entry(0, handle, observed))

    def _kind(self) -> Kind:
        return Kind.SCOPE if self.keyword_values and self.keyword_values.get("scope") == "user_scope" else Kind.FUNCTION

    def __exit__(self, *exc: object) -> None:
        if self._entries:
            self._entries.pop().close()
