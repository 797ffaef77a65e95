"""Data loading: `torch.utils.data`."""

from ._utils.collate import default_collate, default_convert
from ._utils.worker import WorkerInfo, get_worker_info
from .dataloader import DataLoader
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]


def __getattr__(name: str) -> object:
    """Data pipes are imported when asked for."""
    from importlib import import_module

    if name in ("IterDataPipe", "MapDataPipe", "functional_datapipe"):
        return getattr(import_module(f"{__name__}.datapipes.datapipe"), name)
    if name == "datapipes":
        return import_module(f"{__name__}.datapipes")
    raise AttributeError(f"module 'torch.utils.data' has no attribute '{name}'")
