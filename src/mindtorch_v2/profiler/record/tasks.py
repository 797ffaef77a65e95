"""Which asyncio task or greenlet runs on the calling thread, and which scope was open where it began."""

from __future__ import annotations

import itertools
import sys
from contextvars import ContextVar
from typing import Any

ids = itertools.count(1)  # of lanes, for the life of the process
# (recorder's generation, thread, row) of the innermost scope that the task opened. A task that it creates gets a copy
# of its context, and with it this.
scope: ContextVar[tuple[int, int, int] | None] = ContextVar("mindtorch_v2 scope", default=None)


def may_exist() -> bool:
    """Whether anything was imported that runs several tasks on one thread."""
    return "asyncio.tasks" in sys.modules or "greenlet" in sys.modules


def current() -> Any:
    """The greenlet or task that runs; None where the thread itself does."""
    greenlets = sys.modules.get("greenlet")
    if greenlets is not None and hasattr(greenlets, "getcurrent"):
        running = greenlets.getcurrent()
        if running.parent is not None:
            return running
    tasks = sys.modules.get("asyncio.tasks")
    loop = (
        sys.modules["asyncio.events"]._get_running_loop()
        if tasks is not None and hasattr(tasks, "current_task")
        else None
    )
    return None if loop is None else tasks.current_task(loop)  # type: ignore[union-attr]


def is_greenlet(task: Any) -> bool:
    greenlets = sys.modules.get("greenlet")
    return greenlets is not None and isinstance(task, greenlets.greenlet)


def name_of(task: Any, lane_id: int) -> str:
    """What a trace calls it."""
    name = task.get_name() if hasattr(task, "get_name") else getattr(task, "name", None)
    return name if isinstance(name, str) and name else f"{type(task).__name__} {lane_id}"
