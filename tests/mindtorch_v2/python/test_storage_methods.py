"""`x.set_(...)` with storages."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch


def test_a_storage_gives_its_memory():
    x, y = torch.ones(2), torch.arange(6.0).reshape(2, 3)
    assert x.set_(y.storage()) is x
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and x.data_ptr() == y.data_ptr()
    x[0] = 9
    assert y[0, 0] == 9
    assert torch.empty(0).set_(y.untyped_storage()).tolist() == [9, 1, 2, 3, 4, 5]


def test_a_part_of_a_storage():
    x, y = torch.ones(2), torch.arange(6.0)
    x.set_(y.storage(), 1, (2, 2), (2, 1))
    assert x.tolist() == [[1, 2], [3, 4]] and x.storage_offset() == 1
    assert torch.ones(1).set_(y.storage(), 4).tolist() == [4, 5]


def test_another_tensor_or_none():
    x, y = torch.ones(2), torch.arange(3.0)
    assert x.set_(y).data_ptr() == y.data_ptr()
    assert x.set_(y, 1, (2,), (1,)).tolist() == [1, 2]
    assert x.set_().shape == (0,)


def test_a_storage_of_another_type_is_refused():
    with pytest.raises(RuntimeError, match="Expected a Storage of type torch.float32"):
        torch.ones(2).set_(torch.arange(3).storage())
