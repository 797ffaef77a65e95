"""Tensors in any layout, for tests of properties that hold for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mindtorch_v2 as torch

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
FULL_SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


def random_values(shape: tuple[int, ...]) -> np.ndarray:
    """Distinct values in order."""
    return np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)


@st.composite
def layouts(draw: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An array of the shape whose elements lie in memory in order, transposed, with gaps, or repeated."""
    kind = draw(st.sampled_from(["plain", "transposed", "gaps", "expanded"]))
    values = random_values(shape)
    if kind == "transposed" and len(shape) > 1:
        order = draw(st.permutations(range(len(shape))))
        values = np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))
    elif kind == "gaps" and shape:
        wide = np.zeros((*shape[:-1], shape[-1] * 2 + 1))
        wide[..., 1::2] = values
        values = wide[..., 1::2]
    elif kind == "expanded" and shape:
        first = values[:1].copy()
        values = np.lib.stride_tricks.as_strided(first, shape, (0, *first.strides[1:])) if shape[0] > 1 else values
    return values


def to_tensor(array: np.ndarray) -> Any:
    """A tensor over the array's memory; an expanded one for an array that repeats its first row."""
    array = np.asarray(array)
    if array.ndim and array.shape[0] > 1 and array.strides[0] == 0:
        return torch.from_numpy(array[:1]).expand(array.shape)
    return torch.from_numpy(array)


def assert_same(t: Any, a: Any) -> None:
    a = np.asarray(a)
    assert tuple(t.shape) == a.shape
    np.testing.assert_array_equal(t.detach().numpy(), a)
