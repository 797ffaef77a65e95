"""Python functions of single elements, in place."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch


def test_elements_are_replaced_in_place():
    x = torch.arange(4.0).view(2, 2)
    assert x.apply_(lambda v: v + 1) is x
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    x.t().map_(torch.tensor([10.0, 20.0]), lambda a, b: a * b)  # broadcast, and through a view
    assert x.tolist() == [[10.0, 20.0], [60.0, 80.0]]
    assert torch.ones(2).map2_(torch.ones(2), torch.ones(1), lambda a, b, c: a + b + c).tolist() == [3.0, 3.0]
    assert torch.ones(2, dtype=torch.int64).map_(torch.tensor([3, 4]), lambda _, v: v != 3).tolist() == [0, 1]


def test_what_cannot_be_written_is_refused():
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        torch.ones(2, requires_grad=True).apply_(abs)
    with pytest.raises(TypeError, match=r"map_: expected torch.FloatTensor for 'other' \(got torch.LongTensor\)"):
        torch.ones(2).map_(torch.ones(2, dtype=torch.int64), max)
    with pytest.raises(TypeError, match="only implemented on CPU tensors"):
        torch.ones(2, device="meta").apply_(abs)
    with pytest.raises(RuntimeError, match="number of sizes provided"):
        torch.ones(2).map_(torch.ones(3, 2), max)


def test_future_is_a_name_of_torch():
    assert torch.Future is torch.futures.Future
