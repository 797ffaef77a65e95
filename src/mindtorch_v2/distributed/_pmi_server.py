"""Introduces processes to each other that no MPI launcher started: `_pmi_server.py SIZE MAPPING SECONDS DIRECTORY`.

MPICH's processes learn where their peers are from a process manager, in lines of text (PMI, version 1): each puts its
address, all meet in a barrier, each gets the others' addresses. A launcher usually is that process manager; here the
first process of a group starts this one. It prints the port that it listens on, and ends with the last of its clients;
then it removes the job's directory, if one is named.
It is a process of its own, because MPI's initialisation holds Python's lock, and it imports nothing of the package.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import socket
import sys
import time

_LONGEST_KEY, _LONGEST_VALUE = 64, 4096
_NAME = f"kvs_{os.getpid()}_{os.urandom(6).hex()}"  # MPI names shared memory after it: of two jobs it must differ


def _fields(line: str) -> dict[str, str]:
    """`cmd=put kvsname=x key=a value=b c` as a dict; the value may hold spaces."""
    found = {}
    head, is_put, value = line.partition(" value=")
    for part in head.split():
        key, _, text = part.partition("=")
        found[key] = text
    if is_put:
        found["value"] = value
    return found


class Server:
    """The processes of one group, their values, and who waits in the barrier."""

    def __init__(self, size: int, mapping: str) -> None:
        self.size, self.values = size, {"PMI_process_mapping": mapping}
        self.ranks: dict[socket.socket, int] = {}
        self.waiting: list[socket.socket] = []
        self.seen: set[int] = set()

    def answer(self, client: socket.socket, line: str) -> None:
        """Answers one line of a client."""
        fields = _fields(line)
        command = fields.get("cmd", "")
        if command == "initack":
            rank = self.ranks[client] = int(fields.get("pmiid", -1))
            self.seen.add(rank)
            text = f"cmd=initack rc=0\ncmd=set size={self.size}\ncmd=set rank={rank}\ncmd=set debug=0\n"
        elif command == "barrier_in":
            self.waiting.append(client)
            if len(self.waiting) < self.size:
                return
            everyone, self.waiting = self.waiting, []
            for each in everyone:
                each.sendall(b"cmd=barrier_out rc=0 msg=success\n")
            return
        else:
            text = self._reply(command, fields)
        client.sendall(text.encode())

    def _reply(self, command: str, fields: dict[str, str]) -> str:
        if command == "put":
            self.values[fields.get("key", "")] = fields.get("value", "")
            return "cmd=put_result rc=0 msg=success\n"
        if command == "get":
            key = fields.get("key", "")
            if key in self.values:
                return f"cmd=get_result rc=0 msg=success value={self.values[key]}\n"
            return "cmd=get_result rc=-1 msg=key_not_found value=unknown\n"
        sizes = f"kvsname_max=64 keylen_max={_LONGEST_KEY} vallen_max={_LONGEST_VALUE}"
        return {
            "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
            "get_maxes": f"cmd=maxes rc=0 {sizes}\n",
            "get_appnum": "cmd=appnum rc=0 appnum=0\n",
            "get_my_kvsname": f"cmd=my_kvsname rc=0 kvsname={_NAME}\n",
            "get_universe_size": f"cmd=universe_size rc=0 size={self.size}\n",
            "finalize": "cmd=finalize_ack rc=0\n",
        }.get(command, f"cmd={command}_result rc=-1 msg=not_supported\n")

    def left(self, client: socket.socket) -> bool:
        """A client closed its connection. True when nobody is left of those that came."""
        self.ranks.pop(client, None)
        if client in self.waiting:
            self.waiting.remove(client)
        return not self.ranks


def serve(size: int, mapping: str, seconds: float) -> None:
    """Serves until all clients are gone, or until not all have come within the given time."""
    with socket.socket() as listening, selectors.DefaultSelector() as ready:
        listening.bind(("", 0))
        listening.listen(size)
        print(listening.getsockname()[1], flush=True)
        ready.register(listening, selectors.EVENT_READ)
        server = Server(size, mapping)
        buffers: dict[socket.socket, bytes] = {}
        end = time.monotonic() + seconds
        while True:
            for key, _ in ready.select(1.0):
                if key.fileobj is listening:
                    client, _ = listening.accept()
                    buffers[client] = b""
                    ready.register(client, selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket) and _read(server, key.fileobj, buffers, ready):
                    return
            if len(server.seen) < size and time.monotonic() > end:
                return


def _read(
    server: Server, client: socket.socket, buffers: dict[socket.socket, bytes], ready: selectors.BaseSelector
) -> bool:
    """Reads what a client sent. True when the last one is gone."""
    try:
        data = client.recv(65536)
    except OSError:
        data = b""
    if not data:
        ready.unregister(client)
        client.close()
        del buffers[client]
        return server.left(client)
    *lines, buffers[client] = (buffers[client] + data).split(b"\n")
    for line in lines:
        try:
            server.answer(client, line.decode(errors="replace"))
        except OSError:  # it left before its answer; the next read says so
            continue
    return False


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: it ends with its clients
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        serve(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
    finally:
        if sys.argv[4]:
            shutil.rmtree(sys.argv[4], ignore_errors=True)
