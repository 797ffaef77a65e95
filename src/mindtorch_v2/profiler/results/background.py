"""Exports beside the program: `stop()` and `step()` do not wait for them."""

from __future__ import annotations

import queue
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from .results import Results


class BackgroundHandler:
    """An `on_trace_ready` that has a thread call another one, with the results of the cycle that has just ended, in
    the order of cycles. `wait()` returns when all have been called. The process does not end before that."""

    def __init__(self, handler: Callable[[Any], Any]) -> None:
        self._handler = handler
        self._waiting: queue.SimpleQueue[Results] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.errors: list[BaseException] = []

    def __call__(self, prof: Any) -> None:
        results = prof.profiler.results
        if results is None:
            raise AssertionError("Profiler must have recorded something before it is exported")
        with self._lock:
            self._waiting.put(results)
            if self._thread is None:  # not a daemon: what was recorded is written, even if the program ends now
                self._thread = threading.Thread(target=self._work, name="mindprof export")
                self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._waiting.empty():
                    self._thread = None
                    return
                results = self._waiting.get()
            try:
                self._handler(results)
            except Exception as error:  # noqa: BLE001 - the handler's own; there is no caller left to raise it to
                self.errors.append(error)
                print("mindprof: an export in the background failed:", file=sys.stderr)
                traceback.print_exception(error)

    def wait(self) -> None:
        """Returns when everything that has been handed over is exported."""
        while (thread := self._thread) is not None:
            thread.join()


def in_background(handler: Callable[[Any], Any]) -> BackgroundHandler:
    """Makes an `on_trace_ready` handler run beside the program: neither `prof.step()` nor `prof.stop()` waits for it.

    The handler is given the results of the cycle that has ended (what `torch.profiler.load` gives of a file:
    `export_chrome_trace`, `export_report`, `save`, `key_averages`, ...), which later cycles do not touch. What it
    raises is printed, and kept in `errors`.

    >>> import mindtorch_v2 as torch
    >>> ready = torch.profiler.in_background(lambda results: print(len(results.events()) > 0))
    >>> with torch.profiler.profile(on_trace_ready=ready):
    ...     y = torch.ones(2) + 1
    >>> ready.wait()
    True
    """
    if not callable(handler):
        raise TypeError(f"in_background: expected a function of one argument, got {type(handler).__name__}")
    return BackgroundHandler(handler)
