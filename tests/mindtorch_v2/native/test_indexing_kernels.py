"""Native gather, scatter_add and index_add: the numpy kernels' answers, for any strides of the index; else declined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native
from mindtorch_v2._backends.cpu import indexing, indexing_elements

pytestmark = pytest.mark.skipif(not _native.available(), reason="no native kernels")
RANDOM = np.random.default_rng(3)
# the table, the axis, the index's shape
SHAPES = [
    ((7,), 0, (11,)),
    ((6, 5), 0, (9, 5)),
    ((6, 5), 1, (6, 12)),
    ((6, 5), -1, (4, 3)),
    ((4, 3, 5), 1, (4, 8, 5)),
    ((4, 3, 5), 0, (2, 3, 4)),
    ((2, 3, 4, 2), 2, (2, 3, 9, 2)),
]


def _numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RANDOM.integers(-8, 9, shape).astype(dtype)  # their sums are exact in any order


def _index(shape: tuple[int, ...], limit: int, how: str) -> np.ndarray:
    whole = RANDOM.integers(0, limit, shape)
    if how == "turned":
        return np.asfortranarray(whole)
    if how == "expanded":
        return np.broadcast_to(whole[..., :1], shape)
    return np.repeat(whole, 2, axis=-1)[..., ::2] if how == "sliced" else whole


@pytest.mark.parametrize("how", ["plain", "turned", "expanded", "sliced"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_as_numpy(sizes: Any, dtype: Any, how: str) -> None:
    shape, axis, walked = sizes
    table, index = _numbers(*shape, dtype=dtype), _index(walked, shape[axis], how)
    gather: Any = indexing_elements.gather
    made = gather(table, axis, index, False)
    assert made.dtype == dtype and np.array_equal(made, gather.__wrapped__(table, axis, index, False))
    for other in (
        np.asfortranarray(table),
        np.broadcast_to(table.dtype.type(3), shape),
        np.repeat(table, 2, -1)[..., ::2],
    ):
        assert np.array_equal(gather(other, axis, index, False), gather.__wrapped__(other, axis, index, False))
    scatter: Any = indexing_elements._scatter_add_
    for source in (_numbers(*walked, dtype=dtype), np.asfortranarray(_numbers(*walked, dtype=dtype))):
        got, want = table.copy(), table.copy()
        scatter(got, axis, index, source)
        scatter.__wrapped__(want, axis, index, source)
        assert np.array_equal(got, want) and not np.array_equal(got, table)


@pytest.mark.parametrize("alpha", [1, 2.5])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_slices_are_added(axis: int, alpha: float) -> None:
    table, where = _numbers(4, 5, 3), RANDOM.integers(0, 3, 12)[::2]
    shape = list(table.shape)
    shape[axis] = len(where)
    source, add = _numbers(*shape), indexing.index_add_
    got, want = table.copy(), table.copy()
    add(got, axis, where, source, alpha)
    add.__wrapped__(want, axis, where, source, alpha)  # type: ignore[attr-defined]
    assert np.array_equal(got, want)


def test_wrong_indices_are_told_and_nothing_is_written() -> None:
    table = torch.zeros(3, 2)
    for index in ([[0, 3]], [[-1, 0]]):
        with pytest.raises(RuntimeError, match="out of bounds"):
            table.scatter_add_(0, torch.tensor(index), torch.ones(1, 2))
        with pytest.raises(RuntimeError, match="out of bounds"):
            table.gather(0, torch.tensor(index))
    with pytest.raises((IndexError, RuntimeError)):
        table.index_add_(0, torch.tensor([0, 3]), torch.ones(2, 2))
    assert table.tolist() == [[0, 0]] * 3


def test_a_source_in_the_target_s_own_memory() -> None:
    table = torch.arange(6.0).reshape(3, 2)
    want = table.clone().index_add_(0, torch.tensor([1, 2]), table[:2].clone())
    assert torch.equal(table.index_add_(0, torch.tensor([1, 2]), table[:2]), want)


def test_gradients_of_a_graph_layer() -> None:
    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    source, target = torch.tensor([0, 1, 4, 4, 2]), torch.tensor([1, 1, 0, 3, 3])

    def layer(h: Any) -> Any:
        spread = target.unsqueeze(-1).expand(5, 3)
        summed = torch.zeros(5, 3, dtype=torch.float64).scatter_add(0, spread, h.index_select(0, source) ** 2)
        return summed.index_add(0, source, h.gather(0, spread))

    assert torch.autograd.gradcheck(layer, (x,))


def test_the_order_of_additions_does_not_depend_on_the_number_of_threads() -> None:
    rng, before = np.random.default_rng(0), torch.get_num_threads()
    index = torch.from_numpy(rng.integers(0, 50, 4000))
    source = torch.from_numpy(rng.standard_normal((4000, 70)).astype("float32"))
    made = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            sums = torch.zeros(50, 70).index_add(0, index, source, alpha=0.3)
            spread = torch.zeros(50, 70).scatter_add(0, index.unsqueeze(1).expand(-1, 70), source)
            along = torch.zeros(70, 50).scatter_add(1, index.expand(70, -1), source.t())
            made.append((sums, spread, along))
    finally:
        torch.set_num_threads(before)
    for sums, spread, along in made[1:]:
        assert torch.equal(sums, made[0][0]) and torch.equal(spread, made[0][1]) and torch.equal(along, made[0][2])


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 2, 4), (1, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_rows_are_taken(shape: tuple[int, ...], dtype: Any) -> None:
    table, take = _numbers(*shape, dtype=dtype), indexing._take_rows
    n = shape[0]
    for index in (RANDOM.integers(-n, n, 11), RANDOM.integers(-n, n, (3, 4)), RANDOM.integers(0, n, 12)[::3]):
        made = take(table, index)
        assert made.dtype == dtype and made.flags.c_contiguous and np.array_equal(made, table[index])
    for wrong in ([0, n], [-n - 1]):
        with pytest.raises(IndexError):
            take(table, np.array(wrong))
