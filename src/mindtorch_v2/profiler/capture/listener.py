"""Listens for `mindprof ctl`: on a Unix socket that only its owner can use, and over HTTP where asked for."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import stat
import threading
import weakref
from typing import Any

from .control import Controller
from .sockets import LONGEST, ControlError, is_trusted, peer, private_folder

THREAD_NAME = "mindprof listener"
_PATIENCE_S = 5.0  # for a peer that connects and says nothing


class Listener:
    """A process that listens; `torch.profiler.listen()` makes it. `path` is its socket; `url` and `token` are of its
    HTTP endpoint, None without one."""

    def __init__(self, path: str | None = None, http: int | None = None, token: str | None = None) -> None:
        self.pid = os.getpid()
        self.path = os.path.abspath(path) if path is not None else os.path.join(private_folder(), f"{self.pid}.sock")
        self.controller = Controller()
        self.url: str | None = None
        self.token: str | None = None
        self._http: Any = None
        self._socket = self._bound()
        self.running = True
        self._thread = threading.Thread(target=self._serve, name=THREAD_NAME, daemon=True)
        self._thread.start()
        if http is not None:
            self._serve_http(http, token)

    def _bound(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _remove_stale(self.path)
            made.bind(self.path)
            os.chmod(self.path, 0o600)
            made.listen(8)
        except OSError as error:
            made.close()
            raise ControlError(f"cannot listen at {self.path!r}: {error.strerror or error}") from error
        return made

    def _serve_http(self, port: int, token: str | None) -> None:
        from .http_endpoint import HttpEndpoint

        try:
            self._http = HttpEndpoint(self.controller, port, token)
        except OSError as error:
            self.close()
            raise ControlError(f"cannot listen at port {port} of 127.0.0.1: {error.strerror or error}") from error
        self.url, self.token = self._http.url, self._http.token
        self._http.start()

    def _serve(self) -> None:
        while self.running:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            with connection, contextlib.suppress(OSError):
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        if not is_trusted(peer(connection)):
            return  # a stranger is told nothing
        connection.settimeout(_PATIENCE_S)
        line = connection.makefile("rb").readline(LONGEST)
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            request = None
        answer = self.controller.answer(request)
        connection.sendall(json.dumps(answer).encode() + b"\n")

    def close(self) -> None:
        """Stops listening; what is being recorded from outside ends with it."""
        if not self.running or os.getpid() != self.pid:
            return
        self.running = False
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._socket.close()
        if self._thread is not threading.current_thread():
            self._thread.join()
        if self._http is not None:
            self._http.close()
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        self.controller.close()

    def abandon(self) -> None:
        """In a forked child: the parent goes on listening."""
        self.running = False
        self._socket.close()
        if self._http is not None:
            self._http.abandon()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _remove_stale(path: str) -> None:
    """Removes the socket of a process that has ended. One that is in use stays, and so does anything else: binding
    fails."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
    except OSError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except OSError:
            return


_current: Listener | None = None


def current() -> Listener | None:
    """What listens for this process, if anything does."""
    return _current if _current is not None and _current.running else None


def start(path: str | None, http: int | None, token: str | None) -> Listener:
    """Begins to listen; where this process does already, that one."""
    global _current
    running = current()
    if running is None:
        running = _current = Listener(path, http, token)
        atexit.register(_close_at_exit, weakref.ref(running))
    return running


def _close_at_exit(made: weakref.ref[Listener]) -> None:
    listener = made()
    if listener is not None:
        listener.close()


def _after_fork_in_child() -> None:
    global _current
    listener, _current = _current, None
    if listener is not None and listener.running:
        listener.abandon()


os.register_at_fork(after_in_child=_after_fork_in_child)
