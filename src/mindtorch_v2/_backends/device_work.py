"""What devices did, as columns: how any backend tells the profiler."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

KINDS = ("kernel", "memcpy", "memset")
KERNEL, MEMCPY, MEMSET = range(3)


class Work(NamedTuple):
    """A row for each thing that a device did: arrays of int64, times in nanoseconds of the profiler's clock.
    `launch_id` is that of the launch, -1 if unknown.
    """

    names: list[str]
    kind: np.ndarray  # of KINDS
    name: np.ndarray  # of names
    start_ns: np.ndarray
    end_ns: np.ndarray
    device: np.ndarray
    stream: np.ndarray
    launch_id: np.ndarray
    nbytes: np.ndarray

    def where(self, wanted: np.ndarray) -> Work:
        """The rows that an array of bool chooses."""
        return Work(self.names, *(column[wanted] for column in self[1:]))


class Result(NamedTuple):
    """What happened on the devices of a backend, and how far its times can be trusted."""

    work: Work
    notes: dict[str, Any]  # source of the times, bound of their error
    properties: str  # JSON: a list of devices


NOTHING = Work([], *(np.zeros(0, np.int64) for _ in range(8)))


def join_work(parts: list[Work]) -> Work:
    """The rows of all parts (at least one), one after the other."""
    shifts = np.cumsum([0] + [len(part.names) for part in parts])
    parts = [part._replace(name=part.name + shift) for part, shift in zip(parts, shifts)]
    names = [name for part in parts for name in part.names]
    return Work(names, *(np.concatenate(columns) for columns in zip(*(part[1:] for part in parts))))
