"""Worker processes: they fetch and collate, and report errors with their traceback."""

from __future__ import annotations

import os
import queue
import random
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._python import random as _random
from .fetch import make_fetch

_info: WorkerInfo | None = None
PARENT_CHECK_SECONDS = 5.0


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The seed of a worker's `numpy.random`: four words that depend on the worker in every bit, as `random` and
    `torch` are seeded with neighbouring numbers.
    """
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    words: list[int] = np.random.SeedSequence(entropy).generate_state(4).tolist()
    return words


@dataclass
class WorkerInfo:
    """What a worker process knows of itself."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """The worker that calls this, or None in the main process.

    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _info


class ExceptionWrapper:
    """An error on its way from a worker: its type, and its traceback as text."""

    def __init__(self, where: str) -> None:
        import sys

        kind, error, trace = sys.exc_info()
        self.kind: Any = kind
        self.text = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> None:
        """Raises the error anew, with the worker's traceback in its text."""
        name = getattr(self.kind, "__name__", str(self.kind))
        message = f"Caught {name} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            message = KeyErrorMessage(message)
        try:
            error = self.kind(message)
        except TypeError:
            raise RuntimeError(message) from None
        raise error


class KeyErrorMessage(str):
    """A text that KeyError prints as it is, line breaks included."""

    def __repr__(self) -> str:
        return str(self)


@dataclass
class EndOfStream:
    """A worker's iterable dataset is exhausted."""

    worker_id: int


def seed_worker(base_seed: int, worker_id: int) -> None:
    """Gives the process's generators seeds of their own, those of PyTorch's workers."""
    random.seed(base_seed + worker_id)
    _random.manual_seed(base_seed + worker_id)
    np.random.seed(_generate_state(base_seed, worker_id))


def worker_loop(
    dataset: Any,
    is_iterable: bool,
    tasks: Any,
    results: Any,
    done: Any,
    auto_batch: bool,
    collate: Any,
    drop_last: bool,
    base_seed: int,
    init: Any,
    worker_id: int,
    num_workers: int,
    parent: int,
) -> None:
    """The body of a worker process: tasks are (number, indices); None ends it, "resume" restarts a stream."""
    global _info
    seed_worker(base_seed, worker_id)
    _info = WorkerInfo(worker_id, num_workers, base_seed + worker_id, dataset)
    fetch: Any = None
    failed: ExceptionWrapper | None = None
    try:
        if init is not None:
            init(worker_id)
        fetch = make_fetch(dataset, is_iterable, collate, auto_batch, drop_last)
    except Exception:  # noqa: BLE001 - any error of user code travels to the main process
        failed = ExceptionWrapper(f"in DataLoader worker process {worker_id}")
    while True:
        try:
            task = tasks.get(timeout=PARENT_CHECK_SECONDS)
        except queue.Empty:
            if os.getppid() != parent:
                return
            continue
        if task is None or done.is_set():
            break
        number, index = task
        if number == "resume":
            fetch = make_fetch(dataset, is_iterable, collate, auto_batch, drop_last)
            results.put(("resume", worker_id))
            continue
        results.put((number, _one(fetch, index, failed, is_iterable, worker_id)))
        failed = None
    if done.is_set():
        results.cancel_join_thread()


def _one(fetch: Any, index: Any, failed: ExceptionWrapper | None, is_iterable: bool, worker_id: int) -> Any:
    if failed is not None:
        return failed
    try:
        return fetch(index)
    except Exception as error:  # noqa: BLE001 - any error of user code travels to the main process
        if isinstance(error, StopIteration) and is_iterable:
            return EndOfStream(worker_id)
        return ExceptionWrapper(f"in DataLoader worker process {worker_id}")
