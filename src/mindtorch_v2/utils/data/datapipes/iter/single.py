"""Pipes over one other pipe."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..._utils.collate import default_collate
from ..._utils.worker import get_worker_info
from ..datapipe import IterDataPipe, fresh_seed, functional_datapipe


class IterableWrapperIterDataPipe(IterDataPipe[Any]):
    """A pipe of an iterable, which is copied for each pass unless `deepcopy` is False.

    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([3, 4]))
    [3, 4]
    """

    def __init__(self, iterable: Any, deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place modification would affect "
                    "source data.",
                    stacklevel=2,
                )
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """The results of a function. `input_col` gives it parts of each sample (an index, a key, or a list of them);
    `output_col` says where its result goes: None to replace the (first) input, -1 for the end.
    """

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        self.datapipe, self.fn, self.input_col = datapipe, fn, input_col
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col

    def _applied(self, sample: Any) -> Any:
        if self.input_col is None:
            return self.fn(sample)
        columns = list(self.input_col) if isinstance(self.input_col, (list, tuple)) else [self.input_col]
        made = self.fn(*(sample[c] for c in columns))
        parts = list(sample) if isinstance(sample, tuple) else copy.copy(sample)
        if self.output_col == -1:
            parts.append(made)
        elif self.output_col is not None:
            parts[self.output_col] = made
        else:
            parts[columns[0]] = made
            for column in sorted(columns[1:], reverse=True):
                del parts[column]
        return tuple(parts) if isinstance(sample, tuple) else parts

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            yield self._applied(sample)

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches as tensors: `default_collate`, or another function."""

    def __init__(self, datapipe: Any, conversion: Any = default_collate, collate_fn: Any = None) -> None:
        super().__init__(datapipe, fn=conversion if collate_fn is None else collate_fn)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which a function is True."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def _is_wanted(self, sample: Any) -> bool:
        if self.input_col is None:
            found = self.filter_fn(sample)
        else:
            columns = self.input_col if isinstance(self.input_col, (list, tuple)) else [self.input_col]
            found = self.filter_fn(*(sample[c] for c in columns))
        if not isinstance(found, bool):
            raise ValueError(f"Boolean output is required for `filter_fn` of {type(self).__name__}, got {type(found)}")
        return found

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            if self._is_wanted(sample):
                yield sample


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """Every n-th sample: each worker of a DataLoader takes its own, or what `apply_sharding` says."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self._sharding: tuple[int, int] | None = None

    def is_shardable(self) -> bool:
        """True."""
        return True

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        """Takes samples `instance_id`, `instance_id + num_of_instances`, ..."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self._sharding = num_of_instances, instance_id

    def _part(self) -> tuple[int, int]:
        worker = get_worker_info()
        return self._sharding or ((1, 0) if worker is None else (worker.num_workers, worker.id))

    def __iter__(self) -> Iterator[Any]:
        count, own = self._part()
        for position, sample in enumerate(self.source_datapipe):
            if position % count == own:
                yield sample

    def __len__(self) -> int:
        count, own = self._part()
        return (len(self.source_datapipe) - own + count - 1) // count


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe[Any]):
    """The samples in a random order, through a buffer. Workers of a DataLoader shuffle alike, so that a
    `sharding_filter` after it gives each sample once.
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size
        self._enabled, self._seed = True, None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Whether it shuffles."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """The seed of the next pass."""
        self._seed = seed  # type: ignore[assignment]
        return self

    def reset(self) -> None:
        """Seeds the order of the pass that begins."""
        if self._enabled:
            worker = get_worker_info()
            if self._seed is None:
                self._rng.seed(fresh_seed() if worker is None else worker.seed - worker.id)
            else:
                self._rng.seed(self._seed)
            self._seed = None

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        held: list[Any] = []
        for sample in self.datapipe:
            if len(held) == self.buffer_size:
                chosen = self._rng.randint(0, len(held) - 1)
                given, held[chosen] = held[chosen], sample
                yield given
            else:
                held.append(sample)
        while held:
            yield held.pop(self._rng.randint(0, len(held) - 1))

    def __len__(self) -> int:
        return len(self.datapipe)
