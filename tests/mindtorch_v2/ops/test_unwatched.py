"""Calls that take a short cut while nobody watches: the answers are those of the steps that a profile shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile

_SIZES = [(0,), (), (1,), (3,), (4,), (15,), (16,), (17,), (3, 7), (5, 16), (2, 3, 40)]
_TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def _seeded(call: Callable[[], Any]) -> tuple[Any, Any]:
    """What a call gives after a seed and a draw of an odd count, and what the generator gives next."""
    torch.manual_seed(7)
    torch.randn(3, dtype=torch.float64)
    return call(), torch.randn(5)


def _same(call: Callable[[], Any]) -> None:
    alone, after = _seeded(call)
    with profile():
        watched, then = _seeded(call)
    for made, want in ((alone, watched), (after, then)):
        assert (made.dtype, made.shape, made.stride()) == (want.dtype, want.shape, want.stride())
        assert (
            made.contiguous().view(-1).view(torch.uint8).tolist()
            == want.contiguous().view(-1).view(torch.uint8).tolist()
        )


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
@pytest.mark.parametrize("size", _SIZES, ids=str)
def test_draws(size: tuple[int, ...], dtype: torch.dtype) -> None:
    like = torch.ones(size, dtype=dtype)
    _same(lambda: torch.rand(size, dtype=dtype))
    _same(lambda: torch.randn(size, dtype=dtype))
    _same(lambda: torch.normal(0.0, 0.3, size, dtype=dtype))
    _same(lambda: torch.normal(-0.0, 1e31, size, dtype=dtype))
    _same(lambda: torch.normal(0.5, 0.0, size, dtype=dtype))
    _same(lambda: torch.randint(-3, 9, size, dtype=dtype))
    _same(lambda: torch.rand_like(like))
    _same(lambda: torch.randn_like(like))
    _same(lambda: torch.bernoulli(like * 0.4))
    _same(lambda: torch.nn.functional.dropout(like, 0.3))


def test_draws_like_tensors_in_other_orders() -> None:
    for like in (torch.ones(3, 4).t(), torch.ones(2, 6)[:, ::2], torch.ones(1, 4).expand(3, 4)):
        _same(lambda like=like: torch.rand_like(like))
        _same(lambda like=like: torch.randn_like(like))
        _same(lambda like=like: torch.randn_like(like, dtype=torch.float64))
        _same(lambda like=like: torch.randn_like(like, memory_format=torch.contiguous_format))
        _same(lambda like=like: torch.bernoulli(like * 0.4))


@pytest.mark.parametrize("wrong", [-0.5, 1.5, float("nan")])
def test_a_probability_must_be_one(wrong: float) -> None:
    p = torch.tensor([0.5, wrong, 0.25])
    with pytest.raises(RuntimeError, match="p_in >= 0"):
        torch.bernoulli(p)
    assert torch.bernoulli(torch.tensor([0.0, 1.0])).tolist() == [0, 1] and torch.bernoulli(p[:0]).shape == (0,)


def test_numbers_left_over_from_a_pair() -> None:
    """Small normals come in pairs: of an odd count, the next call begins with what is left."""
    torch.manual_seed(1)
    whole = torch.randn(12, dtype=torch.float64)
    torch.manual_seed(1)
    parts = [torch.randn(n, dtype=torch.float64) for n in (1, 1, 3, 4, 2, 1)]
    assert np.array_equal(torch.cat(parts).numpy(), whole.numpy())
