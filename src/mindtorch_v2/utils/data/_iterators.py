"""Iterating over a loader, in this process or with workers."""

from __future__ import annotations

import multiprocessing
import os
import queue
from collections.abc import Iterator
from typing import Any

from ... import _observer
from ..._dispatch import aten
from ..._dtype import int64
from ._utils.fetch import _DatasetKind, make_fetch
from ._utils.pin_memory import can_pin, pin_memory
from ._utils.worker import EndOfStream, ExceptionWrapper, worker_loop

STATUS_CHECK_SECONDS = 5.0


class BaseIterator:
    """One pass over a loader. Each `next` is a scope in a profile: `enumerate(DataLoader)#<class>.__next__`."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._dataset = loader.dataset
        self._is_iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._auto_batch = loader._auto_collation
        self._indices: Iterator[Any] = iter(loader._index_sampler)
        self._base_seed = int(aten.random_(aten.empty([], dtype=int64), generator=loader.generator).item())
        self._scope = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
        self._yielded = 0
        self._pins = loader.pin_memory and can_pin()

    def __iter__(self) -> BaseIterator:
        return self

    def __next__(self) -> Any:
        observer = _observer.active
        if observer is None:
            return self._next()
        observer.enter_scope(self._scope, None)
        try:
            return self._next()
        finally:
            observer.leave()

    def _next(self) -> Any:
        data = self._next_data()
        self._yielded += 1
        return pin_memory(data) if self._pins else data

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._loader._index_sampler)


class _SingleProcessDataLoaderIter(BaseIterator):
    """Fetches in the calling process."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._fetch = make_fetch(
            self._dataset, self._is_iterable, loader.collate_fn, self._auto_batch, loader.drop_last
        )

    def _next_data(self) -> Any:
        return self._fetch(next(self._indices))


class _MultiProcessingDataLoaderIter(BaseIterator):
    """Keeps `num_workers` processes busy with `prefetch_factor` batches each, and gives batches in order."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        context = loader.multiprocessing_context or multiprocessing.get_context("fork")
        self._num_workers = loader.num_workers
        self._results = context.Queue()
        self._done = context.Event()
        self._tasks = [context.Queue() for _ in range(self._num_workers)]
        self._workers = []
        self._shut = False
        for i in range(self._num_workers):
            self._tasks[i].cancel_join_thread()
            process = context.Process(
                target=worker_loop,
                daemon=True,
                args=(
                    self._dataset,
                    self._is_iterable,
                    self._tasks[i],
                    self._results,
                    self._done,
                    self._auto_batch,
                    loader.collate_fn,
                    loader.drop_last,
                    self._base_seed,
                    loader.worker_init_fn,
                    i,
                    self._num_workers,
                    os.getpid(),
                ),
            )
            process.start()
            self._workers.append(process)
        self._begin()

    def _begin(self) -> None:
        """Starts a pass: nothing sent, nothing received."""
        self._sent = self._received = 0
        self._ready: dict[int, Any] = {}
        self._owner: dict[int, int] = {}
        self._active = [True] * self._num_workers
        self._turn = 0
        for _ in range(self._loader.prefetch_factor * self._num_workers):
            self._send()

    def restart(self, loader: Any) -> None:
        """A further pass with the same (persistent) workers."""
        BaseIterator.__init__(self, loader)
        while self._received < self._sent and self._ready is not None:
            if self._received in self._ready:
                del self._ready[self._received]
            elif self._received in self._owner and not isinstance(self._wait_for(self._received), EndOfStream):
                pass
            self._received += 1
        for tasks in self._tasks:
            tasks.put(("resume", None))
        waiting = self._num_workers
        while waiting:
            number, _ = self._receive()
            waiting -= number == "resume"
        self._begin()

    def _send(self) -> None:
        try:
            index = next(self._indices)
        except StopIteration:
            return
        for _ in range(self._num_workers):
            worker = self._turn % self._num_workers
            self._turn += 1
            if self._active[worker]:
                break
        else:
            return
        self._tasks[worker].put((self._sent, index))
        self._owner[self._sent] = worker
        self._sent += 1

    def _receive(self) -> Any:
        limit = self._loader.timeout
        waited = 0.0
        while True:
            step = min(STATUS_CHECK_SECONDS, limit) if limit > 0 else STATUS_CHECK_SECONDS
            try:
                return self._results.get(timeout=step)
            except queue.Empty:
                waited += step
                dead = [w.pid for w in self._workers if not w.is_alive()]
                if dead:
                    raise RuntimeError(
                        f"DataLoader worker (pid(s) {', '.join(map(str, dead))}) exited unexpectedly"
                    ) from None
                if 0 < limit <= waited:
                    raise RuntimeError(f"DataLoader timed out after {limit} seconds") from None

    def _wait_for(self, number: int) -> Any:
        while number not in self._ready:
            got, data = self._receive()
            self._ready[got] = data
        self._owner.pop(number)
        return self._ready.pop(number)

    def _next_data(self) -> Any:
        while self._received < self._sent:
            number = self._received
            data = self._wait_for(number)
            self._received += 1
            if isinstance(data, EndOfStream):
                self._active[data.worker_id] = False
                self._send()
                continue
            self._send()
            if isinstance(data, ExceptionWrapper):
                data.reraise()
            return data
        if not self._loader.persistent_workers:
            self.shutdown()
        raise StopIteration

    def shutdown(self) -> None:
        """Ends the workers."""
        if self._shut:
            return
        self._shut = True
        self._done.set()
        for tasks in self._tasks:
            tasks.put(None)
        for worker in self._workers:
            worker.join(timeout=STATUS_CHECK_SECONDS)
            if worker.is_alive():
                worker.terminate()
        for channel in (*self._tasks, self._results):
            channel.close()
            channel.cancel_join_thread()

    def __del__(self) -> None:
        if getattr(self, "_workers", None):
            self.shutdown()
