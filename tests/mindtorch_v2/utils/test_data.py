"""Datasets, samplers and loaders: PyTorch's order of samples and random numbers, workers, errors."""

from __future__ import annotations

import collections
import random

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import data


class Numbers(data.Dataset):
    def __init__(self, n: int = 6) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i):
        info = data.get_worker_info()
        return {"i": i, "random": torch.rand(1).item(), "worker": info.id if info else -1}


class Stream(data.IterableDataset):
    def __init__(self, n: int = 7) -> None:
        self.n = n

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(info.id, self.n, info.num_workers)) if info else iter(range(self.n))


class Broken(data.Dataset):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, i):
        raise KeyError("no such sample")


def test_shuffled_order_is_pytorchs():
    torch.manual_seed(3)
    loader = data.DataLoader(data.TensorDataset(torch.arange(10)), batch_size=4, shuffle=True)
    assert [b[0].tolist() for b in loader] == [[6, 2, 0, 1], [8, 3, 5, 4], [7, 9]]  # recorded from PyTorch 2.13


def test_loading_without_shuffling_still_draws_a_seed():
    torch.manual_seed(0)
    list(data.DataLoader(data.TensorDataset(torch.ones(1))))
    after_one = torch.rand(1).item()
    torch.manual_seed(0)
    assert torch.rand(1).item() != after_one


def test_workers_give_all_samples_in_order_with_seeds_of_their_own():
    torch.manual_seed(0)
    batches = list(data.DataLoader(Numbers(), batch_size=2, num_workers=2))
    assert [b["i"].tolist() for b in batches] == [[0, 1], [2, 3], [4, 5]]
    assert [b["worker"].tolist() for b in batches] == [[0, 0], [1, 1], [0, 0]]
    randoms = [x for b in batches for x in b["random"].tolist()]
    assert len(set(randoms)) == 6
    torch.manual_seed(0)
    assert [x for b in data.DataLoader(Numbers(), batch_size=2, num_workers=2) for x in b["random"].tolist()] == randoms


def test_persistent_workers_serve_several_passes():
    loader = data.DataLoader(Numbers(), batch_size=3, num_workers=1, persistent_workers=True)
    first = iter(loader)
    pids = [w.pid for w in first._workers]
    assert [b["i"].tolist() for b in first] == [[0, 1, 2], [3, 4, 5]]
    second = iter(loader)
    assert [b["i"].tolist() for b in second] == [[0, 1, 2], [3, 4, 5]] and [w.pid for w in second._workers] == pids


def test_an_abandoned_pass_does_not_disturb_the_next():
    loader = data.DataLoader(Numbers(20), batch_size=2, num_workers=1, persistent_workers=True)
    for _ in loader:
        break
    assert [b["i"].tolist() for b in loader][0] == [0, 1]


def test_streams():
    assert [b.tolist() for b in data.DataLoader(Stream(), batch_size=3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [b.tolist() for b in data.DataLoader(Stream(), batch_size=3, drop_last=True)] == [[0, 1, 2], [3, 4, 5]]
    assert sorted(x for b in data.DataLoader(Stream(), batch_size=2, num_workers=2) for x in b.tolist()) == list(
        range(7)
    )


@pytest.mark.parametrize("workers", [0, 1])
def test_errors_reach_the_user(workers):
    with pytest.raises(KeyError) as caught:
        list(data.DataLoader(Broken(), num_workers=workers))
    if workers:
        text = str(caught.value)
        assert text.startswith(
            "Caught KeyError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):"
        )
        assert "no such sample" in text


def test_worker_init_and_its_errors():
    def init(worker_id):
        raise ValueError(f"worker {worker_id} will not start")

    with pytest.raises(ValueError, match="worker 0 will not start"):
        list(data.DataLoader(Numbers(), num_workers=1, worker_init_fn=init))


def test_collate():
    point = collections.namedtuple("point", "x y")
    out = data.default_collate([{"a": 1, "b": (2.0, "s"), "c": point(np.float32(1), torch.ones(2))}] * 2)
    assert out["a"].tolist() == [1, 1] and out["b"][0].dtype is torch.float64 and out["b"][1] == ("s", "s")
    assert out["c"].x.dtype is torch.float32 and out["c"].y.shape == (2, 2)
    with pytest.raises(
        TypeError, match="batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'object'>"
    ):
        data.default_collate([object()])
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1], [1, 2]])


def test_datasets():
    a, b = data.TensorDataset(torch.arange(3)), data.TensorDataset(torch.arange(10, 12))
    joined = a + b
    assert [int(joined[i][0]) for i in (0, 2, 3, -1)] == [0, 2, 10, 11] and len(joined) == 5
    assert [int(x[0]) for x in data.Subset(joined, [4, 0])] == [11, 0]
    assert list(Stream(2) + Stream(1)) == [0, 1, 0]
    assert data.StackDataset(a=[1, 2], b=[3, 4])[1] == {"a": 2, "b": 4}
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(torch.ones(2), torch.ones(3))


def test_random_split():
    parts = data.random_split(range(10), [0.3, 0.7], generator=torch.Generator().manual_seed(1))
    assert [len(p) for p in parts] == [3, 7] and sorted(x for p in parts for x in p.indices) == list(range(10))
    with pytest.raises(ValueError, match="does not equal the length"):
        data.random_split(range(3), [1, 1])


def test_samplers():
    g = torch.Generator().manual_seed(0)
    assert sorted(data.RandomSampler(range(5), generator=g)) == list(range(5))
    assert len(list(data.RandomSampler(range(5), replacement=True, num_samples=40, generator=g))) == 40
    assert set(data.WeightedRandomSampler([0.0, 1.0], 9)) == {1}
    assert list(data.BatchSampler(data.SequentialSampler(range(5)), 2, True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(range(5), 2, False)) == 3


@pytest.mark.parametrize(
    "options, text",
    [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"shuffle": True, "sampler": range(3)}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"batch_size": None, "drop_last": True}, "disables auto-batching"),
        ({"timeout": -1}, "timeout option should be non-negative"),
    ],
)
def test_misuse(options, text):
    with pytest.raises(ValueError, match=text):
        data.DataLoader(range(3), **options)


# --- the parts of loaders that libraries import
def test_collate_takes_what_a_map_says_and_rebuilds_containers():
    from mindtorch_v2.utils.data._utils.collate import collate, default_collate_fn_map

    class Box:
        def __init__(self, value):
            self.value = value

    def boxes(batch, *, collate_fn_map=None):
        return [box.value for box in batch]

    batch = [{"a": Box(1), "b": [2, "x"]}, {"a": Box(3), "b": [4, "y"]}]
    made = collate(batch, collate_fn_map={Box: boxes, **default_collate_fn_map})
    assert made["a"] == [1, 3] and made["b"][0].tolist() == [2, 4] and made["b"][1] == ("x", "y")
    assert collate([(1, 2), (3, 4)], collate_fn_map={int: lambda batch, *, collate_fn_map: sum(batch)}) == [4, 6]


def test_collate_keeps_the_other_fields_of_a_mapping():
    class Batch(dict):
        pass

    first = Batch(a=1)
    first.note = "kept"
    made = torch.utils.data.default_collate([first, Batch(a=2)])
    assert made.__class__ is Batch and made.note == "kept" and made["a"].tolist() == [1, 2] and first["a"] == 1


def test_iterators_take_loaders_that_others_wrote():
    from mindtorch_v2.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

    class Loader:
        _dataset_kind, _auto_collation, drop_last, pin_memory, generator = (
            _DatasetKind.Iterable,
            False,
            False,
            False,
            None,
        )
        _index_sampler, dataset, collate_fn = range(10), [5, 6], staticmethod(lambda x: x)

    assert list(_SingleProcessDataLoaderIter(Loader())) == [5, 6]


def test_names_of_the_parts():
    from mindtorch_v2.utils.data import _utils

    assert _utils.collate.default_collate is torch.utils.data.default_collate
    assert _utils.worker.get_worker_info is torch.utils.data.get_worker_info
    assert _utils.pin_memory.pin_memory([1, "a"]) == [1, "a"]


WORKER_DRAWS = [
    [[374366730, 457743450, 151894186], [529201449, 593668826, 624026189]],
    [[731306218, 350946064, 88885002], [433669527, 1000915814, 172548965]],
]


class _Draws:
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return [np.random.randint(1 << 30), random.randrange(1 << 30), int(torch.randint(1 << 30, ()))]


def test_workers_draw_pytorchs_numbers():
    """What datasets draw from the generators of numpy, Python and torch in two workers; recorded from PyTorch 2.13."""
    torch.manual_seed(0)
    loader = data.DataLoader(_Draws(), batch_size=2, num_workers=2, collate_fn=torch.tensor)
    assert [part.tolist() for part in loader] == WORKER_DRAWS
