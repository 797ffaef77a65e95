"""Signals that reach a thread even while the program's own thread is stuck: in a call of C, or in a lock.

A handler written in Python runs when the main thread next runs Python. `faulthandler` has a handler in C that writes
the stacks of all threads to a file at once; here that file is a pipe, which wakes the thread that reads it. Python's
own table of handlers stays as it is, so a program that asks for the handler, or sets one, sees no difference."""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
from typing import Any

_READ = 1 << 16


class SignalPipe:
    """One signal, as a file descriptor that can be waited for. `takes_over` says that the signal would have ended the
    process: then whoever reads it has to do so (`deliver`)."""

    def __init__(self, signum: int) -> None:
        self.signum = signum
        self.takes_over = False
        self.fd = self._write = -1
        self._before: Any = None

    def open(self) -> bool:
        """Begins to listen; False where the signal is ignored by the program's own wish, or faulthandler is in use for
        it."""
        self._before = signal.getsignal(self.signum)
        ends_process = self._before is signal.SIG_DFL
        if self._before is signal.SIG_IGN and self.signum == signal.SIGTERM:
            return False
        self.fd, self._write = os.pipe()
        os.set_blocking(self._write, False)
        os.set_blocking(self.fd, False)
        self.takes_over = ends_process and self.signum == signal.SIGTERM
        try:
            chain = not ends_process and self._before is not signal.SIG_IGN
            faulthandler.register(self.signum, file=self._write, all_threads=True, chain=chain)
        except (ValueError, RuntimeError, OSError):
            self._close_pipe()
            return False
        return True

    def read(self) -> str:
        """What the handler wrote: the stacks of all threads; "" where nothing came."""
        parts = []
        while True:
            try:
                part = os.read(self.fd, _READ)
            except (BlockingIOError, OSError):
                break
            if not part:
                break
            parts.append(part)
        return b"".join(parts).decode("utf-8", "replace")

    def deliver(self) -> None:
        """Lets the signal do what it would have done."""
        faulthandler.unregister(self.signum)
        os.kill(os.getpid(), self.signum)

    def close(self) -> None:
        """Ends that. A handler that the program has set meanwhile stays."""
        now = signal.getsignal(self.signum)
        faulthandler.unregister(self.signum)
        if now is not self._before and callable(now) and threading.current_thread() is threading.main_thread():
            signal.signal(self.signum, now)
        self._close_pipe()

    def _close_pipe(self) -> None:
        ends, self.fd, self._write = (self.fd, self._write), -1, -1  # closed once, even if an interrupt comes between
        for fd in ends:
            if fd >= 0:
                os.close(fd)
