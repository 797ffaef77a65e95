"""Samples by their keys."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from ..datapipe import DataChunk, IterDataPipe, MapDataPipe, fresh_seed, functional_datapipe


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """A pipe of a sequence or a dict, which is copied unless `deepcopy` is False.

    >>> torch.utils.data.datapipes.map.SequenceWrapper([3, 4])[1]
    4
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[Any]):
    """The results of a function."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any]) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe[Any]):
    """Lists of `batch_size` samples; the last may be shorter."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        first = index * self.batch_size
        last = min(first + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[n] for n in range(first, last)])

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe[Any]):
    """One pipe after the other."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __getitem__(self, index: int) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe[Any]):
    """Tuples of one sample of each pipe, as many as the shortest has."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)


class ShufflerIterDataPipe(IterDataPipe[Any]):
    """A stream of all samples in a random order."""

    def __init__(self, datapipe: Any, *, indices: Any = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled, self._seed = True, None

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Whether it shuffles."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next pass."""
        self._seed = seed  # type: ignore[assignment]
        return self

    def __iter__(self) -> Iterator[Any]:
        order = self.indices
        if self._enabled:
            chooser = random.Random(fresh_seed() if self._seed is None else self._seed)
            self._seed = None
            order = chooser.sample(self.indices, len(self.indices))[::-1]  # PyTorch takes them from the end
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
