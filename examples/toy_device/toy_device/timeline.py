"""Launches, and what the profiler learns of them: when work ran, on which stream, launched by which call."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch_v2.utils.backend_toolkit import MEMCPY, Result, Work

from . import runtime


def launch(name: str, kind: int, work: Callable[[], Any], nbytes: int = 0) -> None:
    """Puts work into the current stream."""
    stream, watch = runtime.current_stream(), runtime.watcher
    if watch is None:
        stream.put(work)
    else:
        watch.launch(name, kind, work, nbytes, stream)


class Watch:
    """Notes the work of all streams while at least one profile runs."""

    def __init__(self, host: Any) -> None:
        self._host = host
        self._users = 0
        self._rows: list[tuple[str, int, int, int, int, int, int]] = []

    def launch(self, name: str, kind: int, work: Callable[[], Any], nbytes: int, stream: runtime.Stream) -> None:
        launch_id = next(self._host.launch_ids)
        call = self._host.open(name if kind == MEMCPY else "toyLaunchKernel", launch_id)

        def watched() -> None:
            start = self._host.now()
            work()
            time.sleep(runtime.DELAY)
            label = "Memcpy" if kind == MEMCPY else f"toy_{name}"
            self._rows.append((label, kind, start, self._host.now(), stream.stream_id, launch_id, nbytes))

        stream.put(watched)
        self._host.close(call)

    def start(self) -> int:
        self._users += 1
        runtime.watcher = self
        return int(next(self._host.launch_ids))

    def stop(self, first: int) -> Result:
        runtime.synchronize()
        self._users -= 1
        rows = [row for row in self._rows if row[5] >= first]
        if not self._users:
            runtime.watcher, self._rows = None, []
        names = list(dict.fromkeys(row[0] for row in rows))
        table = [(row[1], names.index(row[0]), row[2], row[3], 0, *row[4:]) for row in rows]
        columns = np.array(table, np.int64).reshape(-1, 8).T
        return Result(Work(names, *columns), {"source": "the stream's clock"}, json.dumps([{"id": 0, "name": "Toy"}]))


watch = functools.cache(Watch)  # one for the process
