"""Elementwise operators on a few elements are computed in C: the same bits as numpy's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native
from mindtorch_v2._dispatch import aten
from mindtorch_v2._dispatch.plan import plan_of
from mindtorch_v2._ops.table import find

pytestmark = pytest.mark.skipif(_native.native_module("_core") is None, reason="the native core is not built")
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-42, 3e38, -3e38, 0.1, 7.0]
BINARY = (
    "add.Tensor",
    "sub.Tensor",
    "mul.Tensor",
    "div.Tensor",
    "eq.Tensor",
    "ne.Tensor",
    "lt.Tensor",
    "le.Tensor",
    "gt.Tensor",
    "ge.Tensor",
)


def _values(dtype: Any) -> np.ndarray:
    """Every pair of the special values, as two rows."""
    if dtype == np.int64:
        numbers = np.array([0, 1, -1, 7, 2**62, -(2**63), 2**63 - 1])
    else:
        numbers = np.array(SPECIAL, dtype)
    return np.stack([np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))])


def _kernel(name: str, *operands: Any) -> np.ndarray:
    """The answer of the op's kernel on arrays."""
    plan = plan_of(find(name))
    assert plan.kernel is not None
    rest = [a.default for a in plan.arguments[len(operands) :]]
    return np.asarray(plan.kernel(*[o.numpy() if isinstance(o, torch.Tensor) else o for o in operands], *rest))


def _check(name: str, *operands: Any) -> None:
    made, expected = aten.overload(name)(*operands).numpy(), _kernel(name, *operands)
    assert (made.dtype, made.shape, made.strides) == (expected.dtype, expected.shape, expected.strides)
    assert np.array_equal(np.isnan(made), np.isnan(expected)) if made.dtype.kind == "f" else True
    numbers = ~np.isnan(expected) if made.dtype.kind == "f" else np.ones(made.shape, bool)
    assert made[numbers].tobytes() == expected[numbers].tobytes()  # -0.0 is not 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name: str, dtype: Any) -> None:
    if name == "div.Tensor" and dtype == np.int64:
        pytest.skip("integers are cast first")
    a, b = (torch.from_numpy(row.reshape(-1, 1).copy()) for row in _values(dtype))
    _check(name, a, b)


@pytest.mark.parametrize("number", [2, -3, 0, 0.1, 1e300, float("nan"), float("-inf"), 2**24 + 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "name", ["add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "eq.Scalar", "lt.Scalar", "ge.Scalar"]
)
def test_an_operand_and_a_number(name: str, dtype: Any, number: float) -> None:
    _check(name, torch.from_numpy(_values(dtype)[0].copy()), number)


IN_PLACE = ("add_.Tensor", "sub_.Tensor", "mul_.Tensor", "div_.Tensor")


def _check_in_place(name: str, target: torch.Tensor, other: Any) -> None:
    """The op's kernel and the op write the same bits, and the op counts the write."""
    plan = plan_of(find(name))
    assert plan.kernel is not None
    expected = target.numpy().copy()
    if isinstance(other, torch.Tensor):  # a view of the target is one of the copy, too
        shift = other.data_ptr() - target.data_ptr()
        inside = 0 <= shift < expected.nbytes
        given = (
            np.ndarray(other.shape, expected.dtype, expected, shift, other.numpy().strides) if inside else other.numpy()
        )
    else:
        given = other
    plan.kernel(expected, given, *[a.default for a in plan.arguments[2:]])
    before, version = target.data_ptr(), target._version
    assert aten.overload(name)(target, other) is target
    assert (target.data_ptr(), target._version) == (before, version + 1)
    assert np.array_equal(target.numpy(), expected, equal_nan=expected.dtype.kind == "f")
    numbers = ~np.isnan(expected) if expected.dtype.kind == "f" else np.ones(expected.shape, bool)
    assert target.numpy()[numbers].tobytes() == expected[numbers].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str, dtype: Any) -> None:
    if name == "div_.Tensor" and dtype == np.int64:
        pytest.skip("the result is no integer")
    rows = _values(dtype)
    a, b = (torch.from_numpy(row.copy()) for row in rows)
    _check_in_place(name, a, b)
    _check_in_place(name, torch.from_numpy(rows[0].copy()), torch.from_numpy(rows[0][3:4].copy().reshape(())))
    if dtype != np.int64:
        for number in (2, -3, 0.1, float("nan"), 2**24 + 1):
            _check_in_place(name, torch.from_numpy(rows[0].copy()), number)


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_of_what_is_read(name: str) -> None:
    values = torch.arange(1.0, 9.0)
    _check_in_place(name, values, values)
    _check_in_place(name, values, values[2])
    whole = torch.arange(1.0, 33.0).reshape(4, 8)
    _check_in_place(name, whole[1], whole[2])
    _check_in_place(name, torch.tensor([]), torch.tensor([]))
    own = np.ones(3, np.float32)
    own.flags.writeable = False
    for array in (np.broadcast_to(np.float32(1), (3,)), own):
        with pytest.warns(UserWarning, match="not writable"):
            fixed = torch.from_numpy(array)
        for other in (torch.full((3,), 2.0), 2.0):
            with pytest.raises((RuntimeError, ValueError)):
                aten.overload(name)(fixed, other)
        assert fixed.tolist() == [1, 1, 1]


@pytest.mark.parametrize("number", [2, -3, 0, 2**53 + 1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("name", ["add.Tensor", "sub.Tensor", "mul.Tensor", "eq.Scalar", "lt.Scalar", "ge.Scalar"])
def test_whole_numbers(name: str, number: int) -> None:
    values = torch.from_numpy(_values(np.int64)[0].copy())
    _check(name, values, number)
    assert aten.overload(name)(values, number).dtype is (torch.bool if name.endswith("Scalar") else torch.int64)
    if not name.endswith("Scalar"):
        _check_in_place(name.replace(".", "_."), values, number)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64, torch.bool])
@pytest.mark.parametrize("number", [1, -1, True, 1.5, 2**63])
def test_numbers_promote_as_in_the_fallback(dtype: Any, number: Any) -> None:
    """Whichever way a call goes, the type of its result is that of `result_type`."""
    values = torch.tensor([0, 1, 3]).to(dtype)
    try:
        made = values + number
    except (RuntimeError, OverflowError):
        assert number == 2**63
        return
    assert made.dtype is torch.result_type(values, number)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", ["neg", "relu", "sum"])
def test_one_operand(name: str, dtype: Any) -> None:
    if name == "relu" and dtype != np.int64:
        values = _values(dtype)[0]
        _check(name, torch.from_numpy(values[~np.isnan(values)].copy()))
    elif name == "neg":
        _check(name, torch.from_numpy(_values(dtype)[0].copy()))


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100, 128, 129, 1000, 2048])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sums(dtype: Any, count: int) -> None:
    """Sums of whole numbers have one answer in any order."""
    values = np.random.default_rng(count).integers(-1000, 1000, count).astype(dtype)
    made = torch.from_numpy(values).sum()
    assert made.shape == () and made.item() == values.astype(object).sum()


@pytest.mark.parametrize("name", ["add.Tensor", "mul.Tensor", "sub.Tensor", "div.Tensor", "lt.Tensor", "eq.Tensor"])
def test_an_expanded_operand_stands_for_all(name: str) -> None:
    matrix, one = torch.arange(12.0).reshape(3, 4) - 5, torch.tensor(3.0)
    for operands in (
        (matrix, one),
        (one, matrix),
        (matrix, one.expand(3, 4)),
        (one.expand(3, 4), matrix),
        (matrix, torch.tensor([[2.0]]).expand(3, 4)),
        (one, one),
        (one.expand(3, 4), one.expand(3, 4)),
    ):
        made = aten.overload(name)(*operands)
        expected = _kernel(name, *(o.contiguous() for o in operands))
        assert made.tolist() == expected.tolist() and made.shape == expected.shape


def test_what_is_laid_out_otherwise_keeps_its_order() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    assert (x.t() + x.t()).stride() == (1, 4)
    assert (x.t() + x.t().contiguous()).stride() == (1, 4)
    assert (x.t().contiguous() + x.t()).stride() == (3, 1)


def test_numpy_is_not_told() -> None:
    with np.errstate(all="raise"):
        assert (torch.ones(3) / torch.zeros(3)).tolist() == [float("inf")] * 3
        assert np.float32(1) + np.float32(1) == 2
