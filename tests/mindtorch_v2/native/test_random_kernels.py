"""Native uniform and normal numbers: the bits of the numpy code, which are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mindtorch_v2._backends.cpu import generator_engine, generator_normal

WORDS = np.random.default_rng(5).integers(0, 1 << 32, 48 * 1024, dtype=np.uint32)


def _both(function: Any, *args: Any) -> tuple[Any, Any]:
    return function(*args), getattr(function, "__wrapped__", function)(*args)


def test_uniform_numbers() -> None:
    edges = np.array([0, 1, 0xFFFFFF, 0x1000000, 0xFFFFFFFF], np.uint32)
    for words in (WORDS, edges, WORDS[1:18], WORDS[::2]):
        made, want = _both(generator_engine.uniforms, words)
        assert made.dtype == np.float32 and np.array_equal(made, want) and made.min() >= 0 and made.max() < 1


def test_wide_uniform_numbers() -> None:
    edges = np.array([0, 0, 0, 1, 0x1FFFFF, 0xFFFFFFFF, 0x200000, 0, 0xFFFFFFFF, 0xFFFFFFFF], np.uint32)
    for words in (WORDS, edges, WORDS[1:19], WORDS[::2], WORDS[:0]):
        made, want = _both(generator_engine.wide_uniforms, words)
        assert made.dtype == np.float64 and np.array_equal(made, want)
        assert made.size == words.size // 2 and all((made >= 0) & (made < 1))
    assert generator_engine.wide_uniforms(edges).tolist() == [0, 2.0**-53, 1 - 2.0**-53, 0, 1 - 2.0**-53]


@pytest.mark.parametrize("mean,std", [(0.0, 1.0), (0.5, 0.125), (-3.0, 0.0)])
def test_normal_numbers(mean: float, std: float) -> None:
    edges = np.resize(np.array([0, 1, 0x800000, 0xFFFFFF, 0x4AFB0D, 0x200000, 0x600000], np.uint32), 16 * 7 * 16)
    for words in (WORDS, edges, WORDS[:16], WORDS[3:51]):
        made, want = _both(generator_normal._normal_blocks, words, mean, std)
        assert made.dtype == np.float32 and np.array_equal(made, want)
