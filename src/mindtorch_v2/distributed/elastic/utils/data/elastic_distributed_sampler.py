"""A sampler that can begin in the middle of an epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any, cast

from .....utils.data import DistributedSampler

__all__ = ["ElasticDistributedSampler"]


class ElasticDistributedSampler(DistributedSampler[int]):
    """A shuffled DistributedSampler that leaves out the first `start_index` samples of the data set's order."""

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, start_index: int = 0):
        super().__init__(dataset, num_replicas, rank)
        length = len(cast(Sized, dataset))
        if not 0 <= start_index < length:
            raise ValueError(f"Start index {start_index} should be less than dataset size {length}")
        self.start_index = start_index
        self.num_samples = math.ceil((length - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        from ..... import Generator, randperm

        chosen = Generator()
        chosen.manual_seed(self.epoch)
        left = len(cast(Sized, self.dataset)) - self.start_index
        order = [self.start_index + index for index in randperm(left, generator=chosen).tolist()]
        order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])
