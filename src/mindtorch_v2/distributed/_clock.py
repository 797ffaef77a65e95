"""The job's clock: one process answers what time it is, so that profiles of all ranks can be put on one time axis.

A question carries an id and comes back with it and the clock's nanoseconds, as one datagram each way. The answer was
made between question and reply, so that half of the round trip bounds the error. Nobody ever waits for another rank, so
any subset of the ranks may profile.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable
from typing import NamedTuple

VARIABLE = "MINDTORCH_DISTRIBUTED_CLOCK"  # host:port, as the launcher tells its processes
_QUESTION = struct.Struct("<Q")
_ANSWER = struct.Struct("<Qq")
_ROUNDS = 16  # of which the quickest counts
_PATIENCE = 0.1  # seconds that an answer may take
_MOST_LOST = 2  # answers that may be missing before nothing more is asked


class Reading(NamedTuple):
    """At `local_ns` the job's clock stood `offset_ns` ahead of this process's, give or take `uncertainty_ns`."""

    local_ns: int
    offset_ns: int
    uncertainty_ns: int


class ClockServer:
    """Answers questions at `address` (host:port) until it is closed or forgotten."""

    def __init__(self, host: str = "127.0.0.1", now: Callable[[], int] = time.perf_counter_ns) -> None:
        listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listening.bind(("127.0.0.1" if host == "127.0.0.1" else "", 0))
        self.address = f"{host}:{listening.getsockname()[1]}"
        threading.Thread(target=_answer, args=(listening, now), daemon=True, name="job clock").start()
        self.close = weakref.finalize(self, _stop, listening)


def _answer(listening: socket.socket, now: Callable[[], int]) -> None:
    while True:
        try:
            question, sender = listening.recvfrom(64)
        except OSError:  # closed
            return
        if len(question) != _QUESTION.size:
            if question == b"end":
                listening.close()
                return
            continue
        try:
            listening.sendto(_ANSWER.pack(*_QUESTION.unpack(question), now()), sender)
        except OSError:  # the asker is gone
            continue


def _stop(listening: socket.socket) -> None:
    """Wakes the thread, which closes its socket: closing it from here would not wake it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
        try:
            waker.sendto(b"end", ("127.0.0.1", listening.getsockname()[1]))
        except OSError:  # it is closed already
            return


def read(address: str, now: Callable[[], int], patience: float = _PATIENCE) -> Reading | None:
    """Asks the clock at an address several times; None where it does not answer within `patience` seconds."""
    host, _, port = address.rpartition(":")
    best: Reading | None = None
    lost = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(patience)
        for question in range(_ROUNDS):
            before = now()
            try:
                asking.sendto(_QUESTION.pack(question), (host, int(port)))
                answer = asking.recv(64)
                while (
                    len(answer) != _ANSWER.size or _ANSWER.unpack(answer)[0] != question
                ):  # late, of an earlier question
                    answer = asking.recv(64)
            except OSError:
                lost += 1
                if lost >= _MOST_LOST:
                    break
                continue
            after = now()
            found = Reading(
                (before + after) // 2, _ANSWER.unpack(answer)[1] - (before + after) // 2, (after - before + 1) // 2
            )
            if best is None or found.uncertainty_ns < best.uncertainty_ns:
                best = found
    return best


def identity() -> str:
    """What is equal in processes that read the very same monotonic clock: one start of one machine, in one time
    namespace; else ''."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot}/{os.stat('/proc/self/ns/time').st_ino}"
    except OSError:
        return ""
