"""A sampler that gives every process its own part of a data set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Sized
from typing import Any, cast

from ..._dispatch import aten
from ..._python.random import Generator
from .dataset import Dataset
from .sampler import Sampler, T_co

__all__ = ["DistributedSampler"]


def _process_count() -> int:
    from ... import distributed as module

    distributed: Any = module
    if not distributed.is_available():
        raise RuntimeError("Requires distributed package to be available")
    return distributed.get_world_size()


def _process_rank() -> int:
    from ... import distributed as module

    distributed: Any = module
    if not distributed.is_available():
        raise RuntimeError("Requires distributed package to be available")
    return distributed.get_rank()


class DistributedSampler(Sampler[T_co]):
    """The indices of one process out of `num_replicas`, number `rank`: every `num_replicas`-th of the data set's.

    Shuffled anew in every epoch that `set_epoch` names, alike in all processes. So that all get the same number, the
    first indices are repeated at the end, or with `drop_last` the last ones left out.

    >>> list(torch.utils.data.DistributedSampler(range(4), num_replicas=2, rank=1, shuffle=False))
    [1, 3]
    """

    def __init__(
        self,
        dataset: Dataset[T_co] | Sequence[T_co],
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        num_replicas = _process_count() if num_replicas is None else num_replicas
        rank = _process_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.shuffle, self.seed, self.drop_last = 0, shuffle, seed, drop_last
        count = len(cast(Sized, dataset))
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[Any]:
        count = len(cast(Sized, self.dataset))
        indices = list(range(count))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = aten.randperm(count, generator=generator).tolist()
        if not self.drop_last and indices:
            repeats = math.ceil(self.total_size / count)
            indices = indices * repeats
        return iter(indices[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of the next epoch."""
        self.epoch = epoch
