"""Small key-value stores that processes use to tell each other where they are."""

from __future__ import annotations

import os
import socket
import socketserver
import struct
import threading
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from .work import DistNetworkError, DistStoreError

_POLL = 0.01
_LENGTH = struct.Struct("<Q")
_LARGEST = 1 << 30  # bytes of one request


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise TypeError(f"a store holds str and bytes, got {type(value).__name__}")


class Store:
    """Values (bytes) by key. `get` and `wait` wait until others have set the keys, `timeout` at most."""

    def __init__(self) -> None:
        self.timeout = timedelta(seconds=300)

    def set_timeout(self, timeout: timedelta) -> None:
        """How long `get` and `wait` wait."""
        self.timeout = timeout

    def _update(self, change: Callable[[dict[str, bytes]], Any], writes: bool = True) -> Any:
        """Runs `change` on the values, alone; with `writes`, what it changed is kept."""
        raise NotImplementedError(f"{type(self).__name__} is no store by itself; take TCPStore, FileStore or HashStore")

    def set(self, key: str, value: Any) -> None:
        """Stores a value."""
        data = _bytes(value)
        self._update(lambda values: values.__setitem__(key, data))

    def get(self, key: str) -> bytes:
        """The value of a key, once somebody has set it."""
        self.wait([key])
        return self._update(lambda values: values[key], False)

    def add(self, key: str, amount: int) -> int:
        """Adds to a number (0 at first); returns the sum."""

        def change(values: dict[str, bytes]) -> int:
            total = int(values.get(key, b"0")) + amount
            values[key] = str(total).encode()
            return total

        return self._update(change)

    def append(self, key: str, value: Any) -> None:
        """Appends to a value."""
        data = _bytes(value)
        self._update(lambda values: values.__setitem__(key, values.get(key, b"") + data))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Sets the value if it is the expected one, or if there is none and '' is expected; returns what is then
        stored.
        """
        expected, desired = _bytes(expected_value), _bytes(desired_value)

        def change(values: dict[str, bytes]) -> bytes:
            if values.get(key, b"") == expected:
                values[key] = desired
            return values.get(key, expected)

        return self._update(change)

    def delete_key(self, key: str) -> bool:
        """Forgets a key; whether there was one."""
        return self._update(lambda values: values.pop(key, None) is not None)

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are set."""
        return self._update(lambda values: all(key in values for key in keys), False)

    def num_keys(self) -> int:
        """How many keys are set."""
        return self._update(len, False)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Waits until all keys are set; DistStoreError when time runs out."""
        limit = timeout or self.timeout
        end = time.monotonic() + limit.total_seconds()
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(f"wait timeout after {limit.total_seconds():g} s for keys: {', '.join(keys)}")
            time.sleep(_POLL)

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values of several keys, once they are set."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Stores several values."""
        for key, value in zip(keys, values):
            self.set(key, value)


class HashStore(Store):
    """A store for the threads of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def _update(self, change: Callable[[dict[str, bytes]], Any], writes: bool = True) -> Any:
        with self._lock:
            return change(self._values)


class FileStore(Store):
    """A store in a file that all processes reach."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = os.fspath(file_name)

    def _update(self, change: Callable[[dict[str, bytes]], Any], writes: bool = True) -> Any:
        import fcntl

        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(handle, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            values = _decode(file.read())
            result = change(values)
            if writes:
                file.seek(0)
                file.truncate()
                file.write(_encode(values))
            return result


class PrefixStore(Store):
    """Another store, with a prefix before every key."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self.underlying_store = prefix + "/", store

    def set(self, key: str, value: Any) -> None:
        self.underlying_store.set(self._prefix + key, value)

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self.underlying_store.get(self._prefix + key)

    def add(self, key: str, amount: int) -> int:
        return self.underlying_store.add(self._prefix + key, amount)

    def append(self, key: str, value: Any) -> None:
        self.underlying_store.append(self._prefix + key, value)

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        return self.underlying_store.compare_set(self._prefix + key, expected_value, desired_value)

    def delete_key(self, key: str) -> bool:
        return self.underlying_store.delete_key(self._prefix + key)

    def check(self, keys: list[str]) -> bool:
        return self.underlying_store.check([self._prefix + key for key in keys])

    def num_keys(self) -> int:
        """How many keys the store below holds, of whatever prefix."""
        return self.underlying_store.num_keys()


# Values on disk and on the wire: length and bytes of keys and values in turn. Nothing is unpickled.
def _encode(values: dict[str, bytes]) -> bytes:
    parts = [part for key, value in values.items() for part in (key.encode(), value)]
    return b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def _decode(data: bytes) -> dict[str, bytes]:
    parts, at = [], 0
    while at + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        parts.append(data[at : at + length])
        at += length
    return {key.decode(): value for key, value in zip(parts[::2], parts[1::2])}


# --- over the network
class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, _Handler)
        self.values = HashStore()


class _Handler(socketserver.BaseRequestHandler):
    """Answers one client: each request is the name of an operation and its arguments, as fields of bytes."""

    server: _Server

    def handle(self) -> None:
        while (fields := _receive(self.request)) is not None:
            name, *arguments = fields
            operation = _OPERATIONS.get(name)
            _send(
                self.request,
                [b"error", b"unknown operation"]
                if operation is None
                else [b"ok", operation(self.server.values, *arguments)],
            )


_OPERATIONS: dict[bytes, Callable[..., bytes]] = {
    b"set": lambda store, key, value: store.set(key.decode(), value) or b"",
    b"get": lambda store, key: store._update(lambda values: values.get(key.decode(), b""), False),
    b"add": lambda store, key, amount: str(store.add(key.decode(), int(amount))).encode(),
    b"append": lambda store, key, value: store.append(key.decode(), value) or b"",
    b"compare_set": lambda store, key, expected, desired: store.compare_set(key.decode(), expected, desired),
    b"delete": lambda store, key: str(int(store.delete_key(key.decode()))).encode(),
    b"check": lambda store, *keys: str(int(store.check([key.decode() for key in keys]))).encode(),
    b"count": lambda store: str(store.num_keys()).encode(),
}


def _send(connection: socket.socket, fields: list[bytes]) -> None:
    body = b"".join(_LENGTH.pack(len(field)) + field for field in fields)
    connection.sendall(_LENGTH.pack(len(body)) + body)


def _read(connection: socket.socket, count: int) -> bytes | None:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            return None
        data += part
    return data


def _receive(connection: socket.socket) -> list[bytes] | None:
    """The fields of the next message; None when the other side is gone or sends what is none."""
    head = _read(connection, _LENGTH.size)
    size = _LENGTH.unpack(head)[0] if head is not None else _LARGEST + 1
    body = _read(connection, size) if size <= _LARGEST else None
    if body is None:
        return None
    fields, at = [], 0
    while at + _LENGTH.size <= len(body):
        (length,) = _LENGTH.unpack_from(body, at)
        fields.append(body[at + _LENGTH.size : at + _LENGTH.size + length])
        at += _LENGTH.size + length
    return fields or None


def _stop(server: _Server) -> None:
    """Ends a server whose store is gone."""
    server.shutdown()
    server.server_close()


class TCPStore(Store):
    """A store that one process serves (`is_master`) and others reach over the network.

    Port 0 lets the system choose one.
    """

    def __init__(
        self,
        host_name: str,
        port: int = 0,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300),
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self.timeout, self.host = timeout, host_name
        self._server: _Server | None = None
        if is_master:
            self._server = _Server((host_name, port))
            port = self._server.server_address[1]
            threading.Thread(target=self._server.serve_forever, daemon=True, name="TCPStore").start()
            weakref.finalize(self, _stop, self._server)
        self.port = port
        self._lock = threading.Lock()
        self._connection = self._connect()
        if world_size is not None and wait_for_workers:
            self._wait_for_all(world_size)

    def _connect(self) -> socket.socket:
        end = time.monotonic() + self.timeout.total_seconds()
        while True:
            try:
                return socket.create_connection((self.host, self.port), timeout=self.timeout.total_seconds())
            except OSError as error:
                if time.monotonic() > end:
                    raise DistNetworkError(
                        f"no store answers at {self.host}:{self.port} within {self.timeout.total_seconds():g} s: "
                        f"{error}"
                    ) from error
                time.sleep(_POLL)

    def _wait_for_all(self, world_size: int) -> None:
        self.add("__workers__", 1)
        end = time.monotonic() + self.timeout.total_seconds()
        while int(self._ask(b"get", b"__workers__")) < world_size:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"{self._ask(b'get', b'__workers__').decode()} of {world_size} processes joined the store at "
                    f"{self.host}:{self.port} within {self.timeout.total_seconds():g} s"
                )
            time.sleep(_POLL)

    def _ask(self, *fields: bytes) -> bytes:
        with self._lock:
            try:
                _send(self._connection, list(fields))
                answer = _receive(self._connection)
            except OSError as error:
                raise DistNetworkError(f"the store at {self.host}:{self.port} is gone: {error}") from error
        if answer is None or answer[0] != b"ok":
            raise DistNetworkError(f"the store at {self.host}:{self.port} does not answer")
        return answer[1]

    def set(self, key: str, value: Any) -> None:
        self._ask(b"set", key.encode(), _bytes(value))

    def get(self, key: str) -> bytes:
        self.wait([key])
        return self._ask(b"get", key.encode())

    def add(self, key: str, amount: int) -> int:
        return int(self._ask(b"add", key.encode(), str(amount).encode()))

    def append(self, key: str, value: Any) -> None:
        self._ask(b"append", key.encode(), _bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        return self._ask(b"compare_set", key.encode(), _bytes(expected_value), _bytes(desired_value))

    def delete_key(self, key: str) -> bool:
        return self._ask(b"delete", key.encode()) == b"1"

    def check(self, keys: list[str]) -> bool:
        return self._ask(b"check", *(key.encode() for key in keys)) == b"1"

    def num_keys(self) -> int:
        return int(self._ask(b"count"))
