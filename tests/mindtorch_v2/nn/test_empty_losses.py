"""Losses of batches without examples."""

from __future__ import annotations

import math

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


@pytest.mark.parametrize("loss", [F.nll_loss, F.cross_entropy, F.multi_margin_loss])
def test_the_mean_is_undefined_and_the_sum_is_nothing(loss):
    """Where PyTorch's multi_margin_loss returns memory that nobody has written."""
    x, target = torch.zeros(0, 3, requires_grad=True), torch.zeros(0, dtype=torch.int64)
    assert math.isnan(loss(x, target).item()) and loss(x, target, reduction="sum").item() == 0
    assert loss(x, target, reduction="none").shape == (0,)
    loss(x, target, reduction="sum").backward()
    assert x.grad.shape == (0, 3)


@pytest.mark.parametrize("size", [0, 2])
def test_a_single_example_has_a_single_target(size):
    with pytest.raises(ValueError, match=f"For 1D input, 1D target must have size 1, but got target size: {size}"):
        F.nll_loss(torch.zeros(3), torch.zeros(size, dtype=torch.int64))
    assert F.nll_loss(torch.zeros(3) - 1, torch.zeros(1, dtype=torch.int64)).item() == 1
