"""Batch and group normalization in C against the same steps in numpy, and sums over slices that lie in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.cpu import indexing
from mindtorch_v2._backends.cpu import normalization_channels as channels
from mindtorch_v2._native import native_module

pytestmark = pytest.mark.skipif(native_module("_kernels") is None, reason="needs the native part")
SHAPES = [(1, 4, 8), (3, 6, 25), (2, 4, 1500), (2, 4, 3)]  # the last one is declined


def _draws(dtype: type, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    draw = np.random.default_rng(1)
    return [draw.standard_normal(shape).astype(dtype) + dtype(0.5) for shape in shapes]


def _agree(function: Any, given: tuple[Any, ...], made: list[tuple[int, ...]], dtype: type) -> None:
    """What the native form and numpy's write into arrays of these shapes, the last arguments."""
    results = []
    for form in (function, function.__wrapped__):
        written = [np.full(shape, np.nan, dtype) for shape in made]
        form(*given, *written)
        results.append(written)
    for mine, numpys in zip(*results, strict=True):
        np.testing.assert_allclose(mine, numpys, rtol=2000 * np.finfo(dtype).eps, atol=4000 * np.finfo(dtype).eps)


@pytest.mark.parametrize("affine", ["both", "weight", "bias", "none"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_as_numpy(shape: tuple[int, int, int], dtype: type, affine: str) -> None:
    batch, count, _ = shape
    x, g, w, b = _draws(dtype, shape, shape, (count,), (count,))
    weight, bias = w if affine in ("both", "weight") else None, b if affine in ("both", "bias") else None
    each, groups = (count,), (batch, 2)
    _agree(channels._normalize_channels, (x, weight, bias, 1e-5), [shape, each, each, each], dtype)
    _agree(channels._scale_channels, (x, w, b), [shape], dtype)
    mean, rstd = x.mean((0, 2)), 1 / x.std((0, 2))
    _agree(channels._channel_gradients, (g, x, weight, mean, rstd), [shape, each, each], dtype)
    _agree(channels._normalize_groups, (x, weight, bias, 2, 1e-5), [shape, groups, groups], dtype)
    rows = x.reshape(batch, 2, -1)
    mean, rstd = rows.mean(2), 1 / rows.std(2)
    _agree(channels._group_gradients, (g, x, weight, 2, mean, rstd), [shape, (batch, count), (batch, count)], dtype)


def test_no_gradient_of_the_input_is_made() -> None:
    x, g = _draws(np.float64, (2, 4, 9), (2, 4, 9))
    per_channel, per_sample = np.empty((2, 4)), np.empty((2, 2, 4))
    channels._channel_gradients(g, x, None, np.zeros(4), np.ones(4), None, *per_channel)
    channels._group_gradients(g, x, None, 2, np.zeros((2, 2)), np.ones((2, 2)), None, *per_sample)
    for sums, products in (per_channel, per_sample.sum(1)):
        np.testing.assert_allclose(sums, g.sum((0, 2)))
        np.testing.assert_allclose(products, (g * x).sum((0, 2)))


def test_running_statistics_of_bfloat16() -> None:
    x = torch.tensor([[0.0, 4.0], [2.0, 8.0]], dtype=torch.bfloat16)
    mean, var = torch.zeros(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16)
    torch.nn.functional.batch_norm(x, mean, var, training=True, momentum=0.5)
    assert mean.tolist() == [0.5, 3.0] and var.tolist() == [1.5, 4.5]


@pytest.mark.parametrize("source", ["whole", "turned"])
def test_slices_of_several_dimensions_are_added_at_once(source: str) -> None:
    draw = np.random.default_rng(2)
    table, values = (draw.integers(-8, 9, (n, 3, 5)).astype(np.float32) for n in (4, 50))
    index = draw.integers(0, 4, 50)
    given = values if source == "whole" else np.asfortranarray(values)
    got, want = table.copy(), table.copy()
    add: Any = indexing.index_add_
    add(got, 0, index, given, 1)
    np.add.at(want, index, values)
    assert np.array_equal(got, want)
    put: Any = torch.tensor(table)
    put.index_put_((torch.tensor(index),), torch.tensor(values), accumulate=True)
    assert np.array_equal(put.numpy(), want)


def test_softmax_of_far_and_infinite_elements() -> None:
    x = torch.tensor([[0.0, -80.0, -1e4, -torch.inf] * 16, [torch.nan] + [0.0] * 63, [-torch.inf] * 64])
    far, nan, nothing = x.softmax(-1)
    assert far[2::4].eq(0).all() and far[3::4].eq(0).all()
    torch.testing.assert_close(far[1::4], torch.full((16,), 1.8048513878454153e-35 / 16), rtol=1e-5, atol=0)
    torch.testing.assert_close(far[0::4], torch.full((16,), 1 / 16))
    assert nan.isnan().all() and nothing.isnan().all()
