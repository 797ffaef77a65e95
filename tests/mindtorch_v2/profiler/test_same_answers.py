"""A call that is observed takes steps that an unobserved one does not take; values, bits and warnings are the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import functional as F
from mindtorch_v2.profiler import profile

LOSSES: list[Callable[..., Any]] = [
    F.mse_loss,
    F.smooth_l1_loss,
    F.huber_loss,
    F.binary_cross_entropy_with_logits,
    F.soft_margin_loss,
]


def observed(function: Callable[[], Any], **options: bool) -> Any:
    with profile(**options):
        return function()


def bits(t: torch.Tensor) -> bytes:
    return t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda f: f.__name__)
def test_losses_round_at_the_same_places(loss: Callable[..., Any], reduction: str, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = (torch.from_numpy(rng.uniform(-2, 2, (7, 3))).to(dtype) for _ in range(2))
        plain = loss(a, b, reduction=reduction)
        other = observed(lambda a=a, b=b: loss(a, b, reduction=reduction))
        assert plain.dtype is other.dtype is dtype
        if dtype is torch.float32:  # where one pass over the elements may round less often than steps do
            torch.testing.assert_close(plain, other)
        else:
            assert bits(plain) == bits(other)


@pytest.mark.parametrize("size", [1, 5, 16, 40, 3000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_limits_keep_the_sign_of_zero_alike(dtype: torch.dtype, size: int) -> None:
    functions: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "relu6": F.relu6,
        "relu6_": lambda x: F.relu6(x, inplace=True),
        "hardtanh": lambda x: F.hardtanh(x, 0.0, 6.0),
        "hardtanh_": lambda x: F.hardtanh(x, -1.0, 0.0, inplace=True),
        "nan": lambda x: F.hardtanh(x, 0.0, float("nan")),
    }
    for start in (-0.0, 0.0):
        for name, function in functions.items():
            plain = function(torch.full((size,), start, dtype=dtype))
            other = observed(lambda start=start, function=function: function(torch.full((size,), start, dtype=dtype)))
            assert bits(plain) == bits(other), (name, start)


def test_a_limit_that_is_no_number_makes_every_element_none() -> None:
    x = torch.tensor([-1.0, 0.5, 9.0])
    for low, high in ((float("nan"), 1.0), (0.0, float("nan"))):
        assert x.clamp(low, high).isnan().all() and F.hardtanh(x, low, high).isnan().all()
    assert x.clamp(2.0, 1.0).tolist() == [1.0, 1.0, 1.0]  # the upper limit wins


@pytest.mark.parametrize("options", [{"with_stack": True}, {"with_modules": True}], ids=str)
def test_a_warning_of_a_module_names_the_same_file(options: dict[str, bool]) -> None:
    module = torch.nn.Softmax()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module(torch.ones(2, 2))
        with profile(**options):
            module(torch.ones(2, 2))
    plain, other = [w.filename for w in caught]
    assert plain == other


OF_VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "stack": lambda x: torch.stack([x, x]),
    "roll": lambda x: x.roll(1),
    "conv1d": lambda x: F.conv1d(x[None], torch.ones(2, 3, 2)),
    "affine_grid": lambda x: F.affine_grid(x[None, :2, :3], [1, 1, 2, 2], align_corners=False),
    "lstm": lambda x: nn.LSTM(4, 5)(x[None])[1][0],
}
"""What these compute is cut from something larger, or given another shape; to PyTorch they are new tensors."""


@pytest.mark.parametrize("call", OF_VIEWS.values(), ids=OF_VIEWS)
def test_new_tensors_are_no_views(call: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.ones(3, 4)
    with torch.no_grad():
        plain, seen = call(x), observed(lambda: call(x))
    assert not plain._is_view() and not seen._is_view()
    assert (plain._base, seen._base) == (None, None)


def test_views_that_pytorch_sees_are_views() -> None:
    x, w = torch.ones(2, 3, 4), torch.ones(5, 4)
    for call in (lambda: F.linear(x, w, torch.ones(5)), lambda: torch.einsum("bij,kj->bik", x, w), lambda: x.flatten()):
        assert call()._is_view() and observed(call)._is_view()


def test_drawn_indices_keep_no_index_for_each_category() -> None:
    for weights in (torch.ones(1000), torch.ones(3, 1000)):
        drawn = torch.multinomial(weights, 2)
        assert drawn.untyped_storage().nbytes() == drawn.numel() * 8
