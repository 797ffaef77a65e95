"""Pipes over several others, and several pipes over one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from ..datapipe import IterDataPipe, functional_datapipe


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """One pipe after the other."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[Any]):
    """Tuples of one sample of each pipe, until the shortest ends."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """A sample of each pipe in turn, until the shortest ends."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes) * len(self.datapipes)


class _Distributor:
    """Reads a pipe for several others, and keeps what they have not taken. `choose` says who gets a sample."""

    def __init__(self, source: Any, count: int, buffer_size: int, choose: Callable[[Any], Any], name: str) -> None:
        if count < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {count} is found")
        if buffer_size == 0:
            raise ValueError("Expected `buffer_size` larger than 0, but 0 is found")
        self.source, self.count, self.buffer_size, self.choose, self.name = source, count, buffer_size, choose, name
        self._reader: Any = None
        self._waiting: list[deque[Any]] = []
        self.passes = 0

    def begin(self) -> None:
        """Reads from the beginning, for all."""
        self._reader, self._waiting = iter(self.source), [deque() for _ in range(self.count)]
        self.passes += 1

    def next_for(self, own: int) -> Any:
        """The next sample for one of the pipes; StopIteration at the end."""
        while not self._waiting[own]:
            sample = next(self._reader)
            for index in self.choose(sample):
                self._waiting[index].append(sample)
                if 0 < self.buffer_size < len(self._waiting[index]) and index != own:
                    raise BufferError(f"{self.name} buffer overflow, buffer size {self.buffer_size} is insufficient.")
        return self._waiting[own].popleft()


class _ChildDataPipe(IterDataPipe[Any]):
    """One of several pipes over another. One that begins anew begins all of them anew."""

    def __init__(self, main: _Distributor, instance_id: int) -> None:
        self.main_datapipe, self.instance_id = main, instance_id
        self._pass = 0

    def __iter__(self) -> Iterator[Any]:
        if self._pass == self.main_datapipe.passes:
            self.main_datapipe.begin()
        own = self._pass = self.main_datapipe.passes
        while own == self.main_datapipe.passes:
            try:
                sample = self.main_datapipe.next_for(self.instance_id)
            except StopIteration:
                return
            yield sample
        raise RuntimeError("This iterator has been invalidated: another pipe of the same fork has begun anew.")

    def __len__(self) -> int:
        return len(self.main_datapipe.source)


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Several pipes that each give all samples of one.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> first, second = IterableWrapper([1, 2]).fork(2)
    >>> list(first), list(second)
    ([1, 2], [1, 2])
    """

    def __new__(cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: Any = None) -> Any:
        if copy is not None:
            raise NotImplementedError(f"fork(copy={copy!r}): all pipes give the same objects here")
        everybody = range(max(num_instances, 0))
        main = _Distributor(datapipe, num_instances, buffer_size, lambda sample: everybody, cls.__name__)
        return datapipe_list(main)


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Several pipes that share the samples of one: a function gives the pipe's number, or None with `drop_none`."""

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], Any],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        def choose(sample: Any) -> tuple[int, ...]:
            index = classifier_fn(sample)
            if index is None and drop_none:
                return ()
            if index is None or not 0 <= index < num_instances:
                raise ValueError(
                    f"Output of the classification fn should be between 0 and {num_instances - 1}. {index} is returned."
                )
            return (index,)

        return datapipe_list(_Distributor(datapipe, num_instances, buffer_size, choose, cls.__name__))


def datapipe_list(main: _Distributor) -> list[Any]:
    """The pipes over a distributor."""
    return [_ChildDataPipe(main, n) for n in range(main.count)]
