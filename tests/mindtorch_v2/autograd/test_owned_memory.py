"""A gradient is written or taken over only where nothing else can see its memory."""

from __future__ import annotations

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._autograd.accumulate import owns_memory


def test_a_tensor_that_nothing_else_sees() -> None:
    whole, rows, transposed = torch.ones(3), torch.ones(4, 3)[1:], torch.ones(4, 3).t()
    assert owns_memory(whole)
    assert owns_memory(rows) and owns_memory(transposed)  # their bases live on for these views alone


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[1:], lambda x: x.t()], ids=["itself", "rows", "transposed"])
def test_an_array_in_other_hands(view) -> None:
    whole = torch.ones(4, 3)
    array = whole.numpy()
    x = view(whole)
    del whole
    assert not owns_memory(x)
    del array
    assert owns_memory(x)


def test_a_view_of_a_tensor_in_other_hands() -> None:
    whole = torch.ones(4, 3)
    x = whole[1:]
    assert not owns_memory(x)
    del whole
    assert owns_memory(x)


def test_memory_of_a_foreign_array() -> None:
    foreign = np.ones(3, np.float32)
    x = torch.from_numpy(foreign)
    assert not owns_memory(x)
    del foreign
    assert owns_memory(x)


def test_an_expanded_tensor_repeats_its_elements() -> None:
    assert not owns_memory(torch.ones(1).expand(3))


def test_one_gradient_for_two_leaves_that_are_used_again() -> None:
    """Both get the same tensor first; the sum of the second use must not be written into the other's."""
    a, b = torch.zeros(3, requires_grad=True), torch.zeros(3, requires_grad=True)
    (a + b + a * 2).sum().backward()
    assert a.grad.tolist() == [3, 3, 3] and b.grad.tolist() == [1, 1, 1]
