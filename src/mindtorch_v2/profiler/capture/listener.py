"""Listens for `mindprof ctl`: on a Unix socket that only its owner can use, and over HTTP where asked for."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import socket
import stat
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import Any

from .control import Controller
from .sockets import LONGEST, ControlError, is_trusted, peer, private_folder

THREAD_NAME = "mindprof listener"
_PATIENCE_S = 5.0  # for a peer that connects and says nothing
_TICK_S = 0.5  # how often such peers are looked for
_MOST_CLIENTS = 64  # at once; where more connect, those that came first and said nothing have to go


@dataclass
class _Client:
    """Who has connected: until when its request must be there, and what it has said so far."""

    deadline: float
    text: bytearray = field(default_factory=bytearray)


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
            made.listen(_MOST_CLIENTS)
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
        """Reads requests of all who connect at once, so that a slow client keeps nobody waiting; answers one after the
        other."""
        clients: dict[socket.socket, _Client] = {}
        with selectors.DefaultSelector() as ready:
            ready.register(self._socket, selectors.EVENT_READ)
            while self.running:
                for key, _ in ready.select(_TICK_S if clients else None):
                    connection: Any = key.fileobj
                    if connection is not self._socket:
                        if self._read(connection, clients[connection]):
                            self._drop(ready, clients, connection)
                    elif not self._accept(ready, clients):
                        break
                late = [c for c, client in clients.items() if client.deadline < time.monotonic()]
                for connection in [*late, *list(clients)[: max(len(clients) - _MOST_CLIENTS, 0)]]:
                    self._drop(ready, clients, connection)
            for connection in list(clients):
                self._drop(ready, clients, connection)

    def _accept(self, ready: selectors.BaseSelector, clients: dict[socket.socket, _Client]) -> bool:
        """Takes a connection in; a stranger's is closed and told nothing. False where the socket was closed."""
        try:
            connection, _ = self._socket.accept()
        except OSError:
            if self.running:  # no file descriptor is left: perhaps later
                time.sleep(_TICK_S)
            return False
        try:
            if is_trusted(peer(connection)):
                connection.setblocking(False)
                ready.register(connection, selectors.EVENT_READ)
                clients[connection] = _Client(time.monotonic() + _PATIENCE_S)
                return True
        except OSError:  # gone already
            pass
        connection.close()
        return True

    def _drop(
        self, ready: selectors.BaseSelector, clients: dict[socket.socket, _Client], connection: socket.socket
    ) -> None:
        if clients.pop(connection, None) is not None:
            ready.unregister(connection)
            connection.close()

    def _read(self, connection: socket.socket, client: _Client) -> bool:
        """Reads on; once the request is there, or too long, answers it. Whether that was all."""
        try:
            part = connection.recv(LONGEST)
            client.text += part
            if part and b"\n" not in client.text and len(client.text) < LONGEST:
                return False
            connection.settimeout(_PATIENCE_S)
            connection.sendall(json.dumps(self._answer(bytes(client.text))).encode() + b"\n")
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def _answer(self, text: bytes) -> dict[str, Any]:
        try:
            request = json.loads(text.partition(b"\n")[0][:LONGEST])
        except (ValueError, RecursionError):
            request = None
        return self.controller.answer(request)

    def close(self) -> None:
        """Stops listening; what is being recorded from outside ends with it."""
        if not self.running or os.getpid() != self.pid:
            return
        self.running = False
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._socket.close()  # only now: a selector forgets a closed socket, and would not wake
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
