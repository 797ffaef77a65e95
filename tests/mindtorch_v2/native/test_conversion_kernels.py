"""Native conversions between float32 and the types of 16 bits: numpy's and ml_dtypes' answers, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _dtype as dt
from mindtorch_v2._quiet import convert_into, converted

NARROW = [dt.float16.np, dt.bfloat16.np]
FLOAT32 = np.dtype(np.float32)
RANDOM = np.random.default_rng(4)


def _python(function: Any) -> Any:
    return getattr(function, "__wrapped__", function)


def _same(made: np.ndarray, want: np.ndarray) -> None:
    """The same numbers, with the same signs; NaN where there is NaN."""
    assert made.dtype == want.dtype and made.shape == want.shape and made.strides == want.strides
    nan = np.isnan(want)
    assert np.array_equal(np.isnan(made), nan)
    bits: Any = np.uint16 if want.itemsize == 2 else np.uint32
    made, want = np.ascontiguousarray(made), np.ascontiguousarray(want)
    assert np.array_equal(made.view(bits)[~nan], want.view(bits)[~nan])


@pytest.mark.parametrize("narrow", NARROW, ids=str)
def test_every_number_is_widened(narrow: np.dtype[Any]) -> None:
    whole = np.arange(1 << 16, dtype=np.uint16).view(narrow)
    with np.errstate(all="ignore"):
        _same(converted(whole, FLOAT32), whole.astype(np.float32))


@pytest.mark.parametrize("narrow", NARROW, ids=str)
def test_numbers_are_rounded_to_nearest_even(narrow: np.dtype[Any]) -> None:
    near = np.arange(1 << 16, dtype=np.uint32) << 16  # every bfloat16, with what lies just beside and halfway
    steps = np.concatenate([near + d for d in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x0FFF, 0x1000, 0x1001, 0x3000)])
    with np.errstate(all="ignore"):
        given = steps.view(np.float32)
        _same(converted(given, narrow), given.astype(narrow))


@pytest.mark.parametrize("size", [1, 7, 8, 9, 100])
@pytest.mark.parametrize("narrow", NARROW, ids=str)
def test_orders_in_memory(narrow: np.dtype[Any], size: int) -> None:
    x = RANDOM.standard_normal((6, 4, size)).astype(np.float32)
    for view in (
        x,
        x.T,
        x.transpose(1, 0, 2),
        x[:, 1:3],
        x[::2, :, : size - 1 or 1],
        x[:, :, ::-1],
        x[:0],
        x[0, 0, 0:1],
    ):
        _same(converted(view, narrow), view.astype(narrow))
        small = view.astype(narrow)
        _same(converted(small, FLOAT32), small.astype(np.float32))


@pytest.mark.parametrize("narrow", NARROW, ids=str)
def test_into_memory_that_is_given(narrow: np.dtype[Any]) -> None:
    x = RANDOM.standard_normal((5, 9)).astype(np.float32)
    for target in (np.zeros((5, 9), narrow), np.zeros((9, 5), narrow).T, np.zeros((5, 18), narrow)[:, ::2]):
        convert_into(target, x)
        _same(np.ascontiguousarray(target), x.astype(narrow))
    shared = RANDOM.standard_normal(64).astype(np.float32)
    want = shared.copy()
    want.view(narrow)[:32] = shared[:32].astype(narrow)
    convert_into(shared.view(narrow)[:32], shared[:32])
    _same(shared.view(narrow), want.view(narrow))


def test_other_types_are_numpy_s() -> None:
    for given, wanted in ((np.arange(9.0), dt.float16.np), (np.arange(9), FLOAT32), (np.ones(3, ">f4"), dt.float16.np)):
        made = converted(given, wanted)
        assert made.dtype == wanted and np.array_equal(made, _python(converted)(given, wanted))


@pytest.mark.parametrize("op", ["add", "sub"])
def test_half_precision_is_rounded_once(op: str) -> None:
    a, b = (RANDOM.standard_normal(5000).astype(np.float16) * np.float16(s) for s in (1, 300))
    want = getattr(np, {"add": "add", "sub": "subtract"}[op])(a, b)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    assert np.array_equal(getattr(torch, op)(x, y).numpy(), want)
    assert np.array_equal(getattr(x.clone(), f"{op}_")(y).numpy(), want)
