"""Key-value stores: in a process, in a file, over the network."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mindtorch_v2.distributed import (
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    Store,
    TCPStore,
)


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """The same store, as two users see it."""
    if request.param == "hash":
        store = HashStore()
        yield store, store
    elif request.param == "file":
        yield FileStore(str(tmp_path / "store")), FileStore(str(tmp_path / "store"))
    elif request.param == "prefix":
        inner = HashStore()
        inner.set("k", "outside")
        yield PrefixStore("a", inner), PrefixStore("a", inner)
    else:
        master = TCPStore("127.0.0.1", 0, is_master=True)
        yield master, TCPStore("127.0.0.1", master.port)


def test_values(stores: tuple[Store, Store]) -> None:
    one, other = stores
    one.set("k", "first")
    assert other.get("k") == b"first"
    assert [one.add("n", 2), other.add("n", -5)] == [2, -3] and one.get("n") == b"-3"
    other.append("k", b" and more")
    assert one.get("k") == b"first and more"
    assert one.compare_set("k", "wrong", "x") == b"first and more"
    assert one.compare_set("k", "first and more", "second") == b"second" == other.get("k")
    assert other.compare_set("new", "", "made") == b"made"
    assert one.check(["k", "n"]) and not one.check(["k", "missing"])
    assert one.num_keys() == (4 if isinstance(one, PrefixStore) else 3)  # PyTorch counts all keys below a prefix
    assert other.delete_key("k") and not other.delete_key("k") and not one.check(["k"])
    one.multi_set(["p", "q"], ["1", "2"])
    assert other.multi_get(["q", "p"]) == [b"2", b"1"]


def test_waiting(stores: tuple[Store, Store]) -> None:
    one, other = stores
    thread = threading.Thread(target=other.set, args=("late", "here"))
    thread.start()
    assert one.get("late") == b"here"
    thread.join()
    with pytest.raises(DistStoreError, match="never"):
        one.wait(["never"], timedelta(milliseconds=1))


def test_values_are_text_or_bytes() -> None:
    with pytest.raises(TypeError, match="a store holds str and bytes, got int"):
        HashStore().set("k", 3)
    with pytest.raises(NotImplementedError, match="take TCPStore, FileStore or HashStore"):
        Store().set("k", "v")


def test_a_store_that_is_not_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DistNetworkError, match=f"no store answers at 127.0.0.1:{port}"):
        TCPStore("127.0.0.1", port, timeout=timedelta(milliseconds=1))


def test_what_is_no_request_harms_nobody() -> None:
    master = TCPStore("127.0.0.1", 0, is_master=True)
    for nonsense in (b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 64, b""):
        with socket.create_connection(("127.0.0.1", master.port)) as stranger:
            stranger.sendall(nonsense)
    master.set("k", "v")
    assert master.get("k") == b"v"
