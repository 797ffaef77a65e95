"""Pipes that put samples together, and take them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ..datapipe import DataChunk, IterDataPipe, functional_datapipe


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[Any]):
    """Lists of `batch_size` samples; the last may be shorter."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The items of batches; of batches of batches with a higher `unbatch_level`, -1 for all."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def _items(self, sample: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level == -1 and not isinstance(sample, list)):
            yield sample
        elif isinstance(sample, list):
            for item in sample:
                yield from self._items(item, level if level == -1 else level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            yield from self._items(sample, self.unbatch_level)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Lists of samples with equal keys. A group is given when it has `group_size`, the others at the end; where
    `buffer_size` samples wait, the largest group of at least `guaranteed_group_size` is given early.
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size, self.drop_remaining = buffer_size, group_size, drop_remaining
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size
        self.wrapper_class = DataChunk

    def _group(self, key: Any, items: list[Any]) -> Any:
        made = self.wrapper_class(items)
        return (key, made) if self.keep_key else made

    def _largest(self, waiting: dict[Any, list[Any]]) -> Any:
        """The key of the largest group, which must go to make room."""
        key = max(waiting, key=lambda k: len(waiting[k]))
        wanted = self.guaranteed_group_size
        if wanted is not None and len(waiting[key]) < wanted and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(waiting[key]))
        return key

    def __iter__(self) -> Iterator[Any]:
        waiting: dict[Any, list[Any]] = defaultdict(list)
        count = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            waiting[key].append(sample)
            count += 1
            full = key if self.group_size is not None and len(waiting[key]) == self.group_size else None
            if full is None and count == self.buffer_size:
                full = self._largest(waiting)
            if full is not None:
                items = waiting.pop(full)
                count -= len(items)
                wanted = self.guaranteed_group_size
                if wanted is None or len(items) >= wanted:
                    yield self._group(full, items)
        if not self.drop_remaining:
            for key, items in waiting.items():
                yield self._group(key, items)
