"""What happens when a program raises something that nobody catches."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ..._errors import OutOfMemoryError


def reason_of(error: type[BaseException]) -> str:
    """A word for files' names."""
    if issubclass(error, (MemoryError, OutOfMemoryError)):
        return "out-of-memory"
    return "interrupt" if issubclass(error, KeyboardInterrupt) else "exception"


class ExceptionHooks:
    """Calls `told(reason, text)` before the hooks of Python that print what was raised, in any thread."""

    def __init__(self, told: Callable[[str, str], None]) -> None:
        self._told = told
        self._main: Any = None
        self._thread: Any = None

    def install(self) -> None:
        self._main, self._thread = sys.excepthook, threading.excepthook
        sys.excepthook, threading.excepthook = self._raised, self._raised_in_thread

    def remove(self) -> None:
        """Puts back what was there, unless somebody else has come since."""
        if sys.excepthook == self._raised:
            sys.excepthook = self._main
        if threading.excepthook == self._raised_in_thread:
            threading.excepthook = self._thread

    def _raised(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._tell(kind, error, trace)
        self._main(kind, error, trace)

    def _raised_in_thread(self, args: Any) -> None:
        if args.exc_type is not SystemExit:
            self._tell(args.exc_type, args.exc_value, args.exc_traceback)
        self._thread(args)

    def _tell(self, kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        lines = traceback.format_exception(kind, error, trace)
        self._told(reason_of(kind), lines[-1].strip() + "\n" + "".join(lines))
