"""Data pipes: what PyTorch 2.13 gives for the same calls, iterators that end, workers, scopes in profiles."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils.data import DataLoader, IterDataPipe, MapDataPipe, functional_datapipe
from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
from mindtorch_v2.utils.data.datapipes.map import SequenceWrapper


def numbers(count=6):
    return IterableWrapper(range(count))


def odd(x):
    return x % 2 == 1


def parity(x):
    return x % 2


@pytest.mark.parametrize(
    "pipe, wanted",
    [
        (numbers().map(str), list("012345")),
        (numbers().filter(odd), [1, 3, 5]),
        (numbers().batch(4), [[0, 1, 2, 3], [4, 5]]),
        (numbers().batch(4, drop_last=True), [[0, 1, 2, 3]]),
        (numbers().batch(2).batch(2).unbatch(unbatch_level=-1), [0, 1, 2, 3, 4, 5]),
        (numbers().batch(2).batch(2).unbatch(), [[0, 1], [2, 3], [4, 5]]),
        (numbers(2).zip(numbers(3)), [(0, 0), (1, 1)]),
        (numbers(2).concat(numbers(3)), [0, 1, 0, 1, 2]),
        (numbers(2).mux(numbers(3).map(str)), [0, "0", 1, "1"]),
        (numbers().groupby(parity), [[0, 2, 4], [1, 3, 5]]),
        (numbers().groupby(parity, group_size=2, keep_key=True), [(0, [0, 2]), (1, [1, 3]), (0, [4]), (1, [5])]),
        (numbers().groupby(parity, buffer_size=3), [[0, 2], [1, 3], [4], [5]]),
        (IterableWrapper([(1, 2), (3, 4)]).map(lambda x: x * 10, input_col=0), [(10, 2), (30, 4)]),
        (IterableWrapper([(1, 2)]).map(lambda a, b: a + b, input_col=[0, 1], output_col=-1), [(1, 2, 3)]),
        (IterableWrapper([(1, 2)]).map(lambda a, b: a + b, input_col=[0, 1]), [(3,)]),
        (IterableWrapper([{"a": 1}]).map(lambda a: a + 1, input_col="a"), [{"a": 2}]),
        (SequenceWrapper([5, 6, 7]).map(lambda x: x + 1), [6, 7, 8]),
        (SequenceWrapper([5, 6, 7]).batch(2), [[5, 6], [7]]),
        (SequenceWrapper([5, 6]).zip(SequenceWrapper([7, 8])), [(5, 7), (6, 8)]),
        (SequenceWrapper([5, 6]).concat(SequenceWrapper([7])), [5, 6, 7]),
        (SequenceWrapper([5, 6, 7]).shuffle(indices=[0, 1, 2]).set_seed(1), [6, 7, 5]),
    ],
)
def test_forms(pipe, wanted):
    got = list(pipe)
    assert got == wanted
    if isinstance(pipe, IterDataPipe) and "_seed" not in vars(pipe):
        assert list(pipe) == wanted  # again from the beginning


def test_the_order_of_shuffled_samples_is_pytorchs():
    torch.manual_seed(0)
    assert list(numbers().shuffle()) == [1, 3, 0, 2, 5, 4]
    torch.manual_seed(0)
    assert list(numbers().shuffle(buffer_size=3)) == [0, 1, 3, 5, 2, 4]
    assert list(numbers().shuffle().set_shuffle(False)) == [0, 1, 2, 3, 4, 5]


def test_forks_and_classes_of_samples():
    first, second = numbers().fork(2)
    assert list(first) == list(second) == [0, 1, 2, 3, 4, 5]
    assert list(first) == [0, 1, 2, 3, 4, 5]
    even, rest = numbers().demux(2, parity)
    assert (list(even), list(rest)) == ([0, 2, 4], [1, 3, 5])
    one, two = numbers().fork(2, buffer_size=2)
    with pytest.raises(BufferError, match="ForkerIterDataPipe buffer overflow, buffer size 2 is insufficient"):
        list(one)
    with pytest.raises(ValueError, match="should be between 0 and 1. 5 is returned"):
        list(numbers().demux(2, lambda x: 5)[0])
    assert list(numbers(3).demux(1, lambda x: None if x == 1 else 0, drop_none=True)[0]) == [0, 2]


def test_a_new_iterator_ends_the_old_one():
    pipe = numbers()
    old = iter(pipe)
    assert next(old) == 0
    assert next(iter(pipe)) == 0
    with pytest.raises(RuntimeError, match="This iterator has been invalidated because another iterator"):
        next(old)


def test_lengths():
    assert (len(numbers().batch(4)), len(numbers().batch(4, drop_last=True)), len(numbers().map(str))) == (2, 1, 6)
    shards = numbers(5).sharding_filter()
    shards.apply_sharding(2, 1)
    assert len(shards) == 2 and list(shards) == [1, 3]
    with pytest.raises(ValueError, match="should be smaller than num_of_instances"):
        shards.apply_sharding(2, 2)


def test_own_pipes_and_names():
    @functional_datapipe("tripled_in_test")
    class Tripler(IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for x in self.source:
                yield 3 * x

    try:
        assert list(numbers(3).tripled_in_test()) == [0, 3, 6]
        with pytest.raises(RuntimeError, match="Unable to add DataPipe function name tripled_in_test"):
            functional_datapipe("tripled_in_test")(Tripler)
    finally:
        del IterDataPipe.functions["tripled_in_test"]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        numbers().nothing()
    with pytest.raises(TypeError, match="can only decorate"):
        functional_datapipe("other")(int)
    assert repr(numbers().map(str)) == "MapperIterDataPipe" and issubclass(MapDataPipe, torch.utils.data.Dataset)


def test_a_pipe_that_is_its_own_iterator_keeps_its_methods():
    class Counter(IterDataPipe):
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            if self.n >= 3:
                self.n = 0
                raise StopIteration
            self.n += 1
            return self.n

        def twice(self, x):
            return 2 * x

    it = iter(Counter())
    assert it.twice(4) == 8 and list(it) == [1, 2, 3]


def test_workers_of_a_loader_share_the_samples():
    torch.manual_seed(1)
    pipe = numbers(8).shuffle().sharding_filter()
    found = list(DataLoader(pipe, batch_size=None, num_workers=2))
    assert sorted(found) == list(range(8))
    assert torch.equal(next(iter(DataLoader(numbers().batch(3).collate(), batch_size=None))), torch.tensor([0, 1, 2]))


def test_each_pipe_is_a_scope_in_profiles():
    with torch.profiler.profile() as prof:
        list(numbers(1).map(str))
    names = {event.name for event in prof.events()}
    assert "Mapper(datapipe=IterableWrapper, fn=str, input_col=None, output_col=None)" in names
    assert "IterableWrapper(deepcopy=True, iterable=range(0, 1))" in names
