"""Functions and layers that people train with give on the device what they give on the CPU, gradients included,
without running there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn


class Inputs:
    """Makes the same tensors on any device. `leaves` are those whose gradients are compared."""

    def __init__(self, device: str, dtype: Any = torch.float32) -> None:
        self.device, self.dtype, self.leaves, self._seed = device, dtype, [], 0

    def _next(self) -> torch.Generator:
        self._seed += 1
        return torch.Generator().manual_seed(self._seed)

    def normal(self, *shape: int) -> torch.Tensor:
        made = torch.randn(shape, generator=self._next()).to(self.device, self.dtype).requires_grad_()
        self.leaves.append(made)
        return made

    def positive(self, *shape: int) -> torch.Tensor:
        """In (0.1, 0.9), where every function is defined."""
        return torch.sigmoid(self.normal(*shape)) * 0.8 + 0.1

    def constant(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self._next()).to(self.device, self.dtype)

    def whole(self, *shape: int, below: int = 4) -> torch.Tensor:
        return torch.randint(0, below, shape, generator=self._next()).to(self.device)

    def mask(self, *shape: int) -> torch.Tensor:
        return (torch.rand(shape, generator=self._next()) > 0.5).to(self.device)

    def layer(self, make: Callable[[], nn.Module]) -> nn.Module:
        torch.manual_seed(1)
        made = make().to(self.device)
        self.leaves += list(made.parameters())
        return made


Call = Callable[[Inputs], Any]


def flat(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for part in result for t in flat(part)] if isinstance(result, (tuple, list)) else []


def results(call: Call, device: str, dtype: Any) -> list[np.ndarray]:
    """What a call gives, and the gradients of the sum of its squares."""
    given = Inputs(device, dtype)
    outs = flat(call(given))
    sums = [(x * x).sum() for x in outs if x.requires_grad]
    if sums:
        sum(sums).backward()
    return [x.detach().cpu().numpy() for x in outs] + [x.grad.cpu().numpy() for x in given.leaves if x.grad is not None]


def compare(call: Call, dtype: Any = torch.float32, relative: float = 3e-4, absolute: float = 3e-5) -> None:
    here, there = results(call, "cpu", dtype), results(call, "npu", dtype)
    assert [x.shape for x in here] == [x.shape for x in there] and [x.dtype for x in here] == [x.dtype for x in there]
    assert here
    for x, y in zip(here, there):
        np.testing.assert_allclose(y.astype(np.float64), x.astype(np.float64), relative, absolute)


@pytest.fixture(autouse=True)
def never_on_the_cpu(monkeypatch):
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "error")


def _image(g: Inputs) -> torch.Tensor:
    return g.normal(2, 6, 9, 8)


def _volume(g: Inputs) -> torch.Tensor:
    return g.normal(2, 4, 5, 6, 5)


def _sequence(g: Inputs) -> torch.Tensor:
    return g.normal(2, 6, 9)


# --- elementwise
UNARY = (
    "floor",
    "ceil",
    "round",
    "trunc",
    "frac",
    "log1p",
    "expm1",
    "log2",
    "log10",
    "exp2",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "atanh",
    "erfc",
    "erfinv",
    "sign",
    "sgn",
    "logit",
    "deg2rad",
    "rad2deg",
    "nan_to_num",
    "square",
)
ACTIVATIONS = (
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "gelu",
    "silu",
    "mish",
    "softplus",
    "softsign",
    "tanhshrink",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
    "softshrink",
    "hardshrink",
    "glu",
    "logsigmoid",
)
BINARY = (
    "fmax",
    "fmin",
    "pow",
    "atan2",
    "remainder",
    "fmod",
    "xlogy",
    "floor_divide",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
)
NO_GRADIENT = ("floor_divide",)
INTEGER = (
    "add",
    "sub",
    "mul",
    "floor_divide",
    "remainder",
    "fmod",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "maximum",
    "minimum",
    "pow",
)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", [(), (5,), (4, 3, 2)])
def test_unary(name, shape):
    compare(lambda g: getattr(torch, name)(g.positive(*shape)))


# numpy's vectorised float32 functions are right to 4 units in the last place, the C library's (there) to 1
ULPS = 4 + 1


def test_unary_where_the_values_are_special():
    special = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 2.5, -2.5, 3.5])
    for name in ("sign", "round", "trunc", "floor", "ceil", "nan_to_num"):
        np.testing.assert_array_equal(
            getattr(torch, name)(special.npu()).cpu().numpy(), getattr(torch, name)(special).numpy(), name
        )
    for name in ("acosh", "erfinv", "log1p"):
        there, here = getattr(torch, name)(special.npu()).cpu().numpy(), getattr(torch, name)(special).numpy()
        finite = np.isfinite(here)
        np.testing.assert_array_equal(there[~finite], here[~finite], name)
        np.testing.assert_array_max_ulp(there[finite], here[finite], ULPS)
    compare(lambda g: torch.acosh(g.positive(4) + 1.5))
    compare(lambda g: torch.logit(g.positive(6) * 2 - 0.5, eps=0.3))
    flipped = special.flip(0)
    for name in ("fmax", "fmin"):
        there = getattr(torch, name)(special.npu(), flipped.npu())
        np.testing.assert_array_equal(there.cpu().numpy(), getattr(torch, name)(special, flipped).numpy())


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    compare(lambda g: getattr(F, name)(_image(g) * 3))
    compare(lambda g: getattr(F, name)(g.normal(4, 6).t() * 3))


def test_activations_with_parameters():
    compare(lambda g: F.gelu(g.normal(4, 6), approximate="tanh"))
    compare(lambda g: F.threshold(g.normal(4, 6), 0.1, 20.0))
    compare(lambda g: F.softplus(g.normal(4, 6), beta=2.0, threshold=1.0))
    compare(lambda g: F.elu(g.normal(4, 6), alpha=0.3))
    compare(lambda g: g.layer(nn.PReLU)(_image(g)))
    compare(lambda g: g.layer(partial(nn.PReLU, 6))(_image(g)))
    compare(lambda g: F.rrelu(g.normal(4, 6), training=False))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    function = getattr(torch, name)
    if name in NO_GRADIENT:
        compare(lambda g: function(g.constant(4, 6) * 9, g.constant(6) + 0.5))
        compare(lambda g: function(g.constant(4, 6) * 9, 0.7))
    else:
        compare(lambda g: function(g.positive(4, 6), g.positive(4, 6)))
        compare(lambda g: function(g.positive(4, 6) * 3, g.positive(6)))
    if name not in (
        "fmax",
        "fmin",
        "maximum",
        "minimum",
        "atan2",
        "logical_and",
        "logical_or",
        "logical_xor",
        *NO_GRADIENT,
    ):
        compare(lambda g: function(g.positive(4, 6), 2.0))


@pytest.mark.parametrize("name", INTEGER)
def test_integers(name):
    function = getattr(torch, name)
    compare(lambda g: function(g.whole(4, 6, below=9) - 4, g.whole(4, 6) + 1))
    if name not in ("maximum", "minimum"):
        compare(lambda g: function(g.whole(4, 6, below=9) - 4, 2))


def test_divisions_in_all_modes():
    for mode in (None, "floor", "trunc"):
        compare(lambda g, mode=mode: torch.div(g.constant(4, 6) - 0.5, g.constant(6) + 0.1, rounding_mode=mode))
        compare(lambda g, mode=mode: torch.div(g.constant(4, 6) - 0.5, 0.2, rounding_mode=mode))
        compare(lambda g, mode=mode: torch.div(g.whole(4, 6, below=9) - 4, g.whole(4, 6) + 1, rounding_mode=mode))
        compare(lambda g, mode=mode: torch.div(g.whole(4, 6, below=9) - 4, 3, rounding_mode=mode))


def test_logic_and_bits():
    compare(
        lambda g: [
            ~g.mask(4, 6),
            g.mask(4) & g.mask(4),
            g.mask(4) | g.mask(4),
            g.mask(4) ^ g.mask(4),
            ~g.whole(5, below=9),
        ]
    )
    compare(lambda g: [2 ** g.normal(5), torch.xlogy(2.0, g.positive(5)), torch.xlogy(g.positive(5), 3.0)])
    compare(
        lambda g: [
            torch.clamp(g.normal(4, 6), g.constant(6) - 1, g.constant(4, 6)),
            torch.clamp_min(g.normal(6), g.constant(6)),
            torch.clamp_max(g.normal(6), g.constant(6)),
        ]
    )


# --- reductions, order, movement
REDUCTIONS: dict[str, Call] = {
    "prod": lambda g: [g.positive(3, 4).prod(), g.positive(3, 4).prod(1, keepdim=True), g.whole(5).prod()],
    "var": lambda g: [
        g.normal(4, 6).var(),
        g.normal(4, 6).var(1),
        g.normal(4, 6).var((0, 1), unbiased=False, keepdim=True),
    ],
    "var.correction": lambda g: g.normal(4, 6).var(1, correction=2),
    "std": lambda g: [g.normal(4, 6).std(), g.normal(4, 6).std(0, keepdim=True), g.normal(4, 6).std(1, unbiased=False)],
    "var_mean": lambda g: [*torch.var_mean(g.normal(4, 6), 1), *torch.std_mean(g.normal(4, 6), 0)],
    "norms": lambda g: [torch.linalg.vector_norm(g.normal(4, 6), p, dim=1) for p in (1, 2, 3, float("inf"))],
    "norm": lambda g: [
        g.normal(4, 6).norm(),
        g.normal(4, 6).norm(dim=1, keepdim=True),
        torch.linalg.vector_norm(g.normal(4), 0),
    ],
    "cumsum": lambda g: [g.normal(4, 6).cumsum(0), g.whole(4, 6).cumsum(-1), g.mask(5).cumsum(0)],
    "cumprod": lambda g: [g.positive(4, 6).cumprod(1), g.whole(5).cumprod(0)],
    "extremes": lambda g: [
        *g.normal(4, 6).min(1),
        *g.normal(4, 6).max(0),
        g.whole(4, 6, below=99).min(),
        g.whole(9, below=99).argmin(),
        *g.normal(4, 6).aminmax(dim=1),
        g.normal(4, 6).amin((0, 1)),
        g.whole(4, 6).amax(1),
    ],
    "truth": lambda g: [
        g.mask(4, 6).any(),
        g.mask(4, 6).all(1),
        g.normal(4, 6).any(0, keepdim=True),
        g.whole(4, 6).all(),
    ],
    "counts": lambda g: [
        torch.count_nonzero(g.whole(4, 6)),
        torch.count_nonzero(g.whole(4, 6), 1),
        torch.nansum(g.normal(4, 6), 1),
    ],
    "sort": lambda g: [
        *g.normal(4, 6).sort(),
        *g.normal(4, 6).sort(0, descending=True),
        *torch.sort(g.whole(9), stable=True),
    ],
    "argsort": lambda g: [g.normal(4, 6).argsort(), g.normal(4, 6).argsort(0, descending=True)],
    "topk": lambda g: [*g.normal(4, 6).topk(3), *g.normal(6, 4).topk(2, 0, largest=False)],
    "median": lambda g: [
        g.normal(5, 7).median(),
        *g.normal(5, 7).median(1),
        *g.normal(5, 7).kthvalue(3, 0, keepdim=True),
    ],
    "places": lambda g: [
        torch.searchsorted(torch.arange(8.0).to(g.device), g.constant(3, 4) * 8),
        torch.bucketize(g.constant(5) * 8, torch.arange(8.0).to(g.device), right=True),
    ],
    "logsumexp": lambda g: g.normal(4, 6).logsumexp(1),
    "trace": lambda g: g.normal(4, 5).trace(),
}
MOVEMENT: dict[str, Call] = {
    "flip": lambda g: [g.normal(4, 6).flip(0, 1), g.normal(4, 6).roll(2, 1), g.normal(4, 6).rot90()],
    "repeat": lambda g: [g.normal(4, 6).repeat(2, 1, 3), g.normal(4).tile(3), g.normal(4, 2).repeat_interleave(2, 0)],
    "repeat_interleave": lambda g: g.normal(4, 2).repeat_interleave(torch.tensor([1, 0, 3, 2]).to(g.device), 0),
    "pixels": lambda g: [F.pixel_shuffle(g.normal(2, 8, 3, 5), 2), F.pixel_unshuffle(g.normal(2, 2, 4, 6), 2)],
    "channels": lambda g: g.layer(lambda: nn.ChannelShuffle(2))(_image(g)),
    "windows": lambda g: [g.normal(9).unfold(0, 3, 2), g.normal(2, 7, 3).unfold(1, 2, 2)],
    "columns": lambda g: [F.unfold(_image(g), (2, 3), padding=1, stride=2), F.fold(g.normal(2, 8, 12), (4, 5), (2, 2))],
    "numbers": lambda g: [
        torch.linspace(0, 1, 9, device=g.device),
        torch.eye(4, device=g.device),
        torch.eye(2, 3, device=g.device),
    ],
    "pad": lambda g: [
        F.pad(g.normal(4, 6), (1, 2)),
        F.pad(_image(g), (1, 0, 2, 1), value=3.0),
        F.pad(g.normal(4, 6), (-1, 2)),
    ],
}
INDEXING: dict[str, Call] = {
    "nonzero": lambda g: [
        torch.nonzero(g.mask(4, 6)),
        *torch.nonzero(g.whole(3, 2, 4), as_tuple=True),
        torch.argwhere(g.mask(5)),
    ],
    "masks": lambda g: [
        g.normal(4, 6)[g.mask(4, 6)],
        g.normal(4, 6)[g.mask(4)],
        g.normal(4, 6).masked_select(g.mask(6)),
    ],
    "no element": lambda g: [
        g.normal(4, 6)[g.mask(4, 6) & False],
        torch.nonzero(g.mask(5) & False),
        g.normal(4)[g.whole(4)[:0]],
    ],
    "one index": lambda g: [
        g.normal(4, 6)[g.whole(3)],
        g.normal(4, 6)[:, g.whole(2, 2)],
        g.normal(4, 6)[torch.tensor([-1, 0])],
    ],
    "several": lambda g: [
        g.normal(4, 6)[g.whole(3), g.whole(3)],
        g.normal(4, 3, 6)[g.whole(3), :, g.whole(3)],
        g.normal(4, 6)[torch.arange(4).to(g.device)[:, None], g.whole(4, 3)],
        g.normal(4, 6, 5)[:, g.whole(2), g.whole(2)],
    ],
    "a mask and an index": lambda g: g.normal(4, 3)[
        torch.tensor([True, False, True, True]).to(g.device), g.whole(3, below=3)
    ],
    "put": lambda g: [
        g.normal(4, 6).index_put((torch.tensor([2, 0]).to(g.device),), g.normal(2, 6)),
        g.normal(4, 6).index_put((g.whole(3), g.whole(3)), g.normal(3), accumulate=True),
        g.normal(4, 6).index_put((g.mask(4, 6),), g.normal(1)),
    ],
    "gather": lambda g: [
        g.normal(4, 6).gather(1, g.whole(4, 3)),
        torch.take_along_dim(g.normal(4, 6), g.whole(4, 3), 1),
    ],
    "take": lambda g: [torch.take(g.normal(4, 6), g.whole(2, 3, below=20))],
    "scatter": lambda g: [
        g.normal(4, 6).scatter(1, g.whole(4, 1), g.normal(4, 1)),
        g.normal(4, 6).scatter(1, g.whole(4, 2), 1.5),
        g.normal(4, 6).scatter_add(1, g.whole(4, 3), g.normal(4, 3)),
        g.whole(4, 6).scatter(0, g.whole(2, 6), 7),
        g.normal(4, 6).scatter_reduce(1, g.whole(4, 3), g.normal(4, 3), "sum"),
    ],
    "scatter with reduction": lambda g: [
        g.constant(4, 6).scatter(1, g.whole(4, 3), g.constant(4, 3), reduce="add"),
        g.constant(4, 6).scatter(1, g.whole(4, 3), 2.0, reduce="multiply"),
    ],
    "index_add": lambda g: [
        g.normal(4, 6).index_add(0, g.whole(3), g.normal(3, 6), alpha=2),
        g.whole(4, 6).index_add(1, g.whole(2), g.whole(4, 2)),
    ],
    "index_copy": lambda g: [
        g.normal(4, 6).index_copy(0, torch.tensor([0, 2]).to(g.device), g.normal(2, 6)),
        g.normal(4, 6).index_fill(1, g.whole(2), 1.5),
    ],
    "masked_scatter": lambda g: g.normal(4, 6).masked_scatter(g.mask(4, 6), g.normal(24)),
    "one_hot": lambda g: [F.one_hot(g.whole(5), 6), F.one_hot(g.whole(2, 3))],
    "bincount": lambda g: [torch.bincount(g.whole(9)), torch.bincount(g.whole(9), g.constant(9), minlength=7)],
    "unique": lambda g: [
        torch.unique(g.whole(9)),
        *torch.unique(g.whole(3, 4), return_inverse=True, return_counts=True),
    ],
}
TABLES = {**REDUCTIONS, **MOVEMENT, **INDEXING}


@pytest.mark.parametrize("name", TABLES)
def test_reductions_movement_and_indexing(name):
    compare(TABLES[name])


def test_writing_through_indices():
    def write(g: Inputs) -> list[torch.Tensor]:
        a, b, c, d = (g.constant(4, 6) for _ in range(4))
        a[a > 0.5] = 0.0
        b[g.whole(2)] = 7.0
        c[torch.tensor([1, 3]).to(g.device)] = g.constant(2, 6)
        d[g.whole(2), g.whole(2)] = 1.0
        return [
            a,
            b,
            c,
            d,
            g.constant(4, 4).index_add_(0, g.whole(2), g.constant(2, 4)),
            g.constant(4, 4).scatter_(1, g.whole(4, 1), 2.0),
        ]

    compare(write)


# --- layers
POOLS: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    "avg1d": (lambda: nn.AvgPool1d(2), _sequence),
    "avg2d": (lambda: nn.AvgPool2d(2), _image),
    "avg2d without padding": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), _image),
    "avg2d with padding": (lambda: nn.AvgPool2d((3, 2), (2, 1), (1, 0)), _image),
    "avg2d ceil": (lambda: nn.AvgPool2d(3, 2, 1, True), _image),
    "avg2d divisor": (lambda: nn.AvgPool2d(2, divisor_override=3), _image),
    "avg3d": (lambda: nn.AvgPool3d(2), _volume),
    "max1d": (lambda: nn.MaxPool1d(3, 2, 1), _sequence),
    "max2d": (lambda: nn.MaxPool2d(3, 2, 1, return_indices=True), _image),
    "max3d": (lambda: nn.MaxPool3d(2, return_indices=True), _volume),
    "max3d dilated": (lambda: nn.MaxPool3d(2, 1, 1, 2), _volume),
    "adaptive avg1d": (lambda: nn.AdaptiveAvgPool1d(4), _sequence),
    "adaptive avg2d": (lambda: nn.AdaptiveAvgPool2d((4, 3)), _image),
    "global": (lambda: nn.AdaptiveAvgPool2d(1), _image),
    "adaptive avg3d": (lambda: nn.AdaptiveAvgPool3d((2, 3, 2)), _volume),
    "adaptive max1d": (lambda: nn.AdaptiveMaxPool1d(4), _sequence),
    "adaptive max2d": (lambda: nn.AdaptiveMaxPool2d((4, 3), True), _image),
    "adaptive max3d": (lambda: nn.AdaptiveMaxPool3d((2, 3, 2), True), _volume),
    "lp": (lambda: nn.LPPool2d(2, 2), _image),
}
NORMS: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    "group": (lambda: nn.GroupNorm(3, 6), _image),
    "group of a sequence": (lambda: nn.GroupNorm(2, 6), _sequence),
    "group, plain": (lambda: nn.GroupNorm(6, 6, affine=False), _image),
    "instance1d": (lambda: nn.InstanceNorm1d(6), _sequence),
    "instance2d": (lambda: nn.InstanceNorm2d(6, affine=True, track_running_stats=True), _image),
    "instance3d": (lambda: nn.InstanceNorm3d(4), _volume),
    "batch, evaluated": (lambda: nn.BatchNorm2d(6).eval(), _image),
    "batch": (lambda: nn.BatchNorm2d(6), _image),
    "rms": (lambda: nn.RMSNorm(8), _image),
    "response": (lambda: nn.LocalResponseNorm(2), _image),
}
CONVOLUTIONS: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    "1d": (lambda: nn.Conv1d(6, 4, 3, padding=1), _sequence),
    "1d grouped": (lambda: nn.Conv1d(6, 4, 3, groups=2, dilation=2), _sequence),
    "2d": (lambda: nn.Conv2d(6, 4, 3, stride=2, padding="valid"), _image),
    "2d same": (lambda: nn.Conv2d(6, 4, 4, padding="same"), _image),
    "depthwise": (lambda: nn.Conv2d(6, 6, 3, groups=6, padding=1), _image),
    "3d": (lambda: nn.Conv3d(4, 4, 3, padding=1), _volume),
    "reflecting": (lambda: nn.Conv2d(6, 4, 3, padding=1, padding_mode="reflect"), _image),
    "1d transposed": (lambda: nn.ConvTranspose1d(6, 4, 3, stride=2), _sequence),
    "2d transposed": (lambda: nn.ConvTranspose2d(6, 4, 3, stride=2, output_padding=1), _image),
    "2d transposed, grouped": (lambda: nn.ConvTranspose2d(6, 4, 3, groups=2), _image),
    "3d transposed": (lambda: nn.ConvTranspose3d(4, 4, 3), _volume),
}
RECURRENT: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    f"{kind.__name__}{' with two directions' * both}": (
        partial(kind, 8, 5, num_layers=2, bidirectional=both, batch_first=not both),
        lambda g: g.normal(3, 4, 8),
    )
    for kind in (nn.RNN, nn.LSTM, nn.GRU)
    for both in (False, True)
}
RECURRENT["LSTM with projections"] = (lambda: nn.LSTM(8, 5, proj_size=3), lambda g: g.normal(3, 4, 8))
RECURRENT["LSTMCell"] = (lambda: nn.LSTMCell(8, 5), lambda g: g.normal(3, 8))
RECURRENT["GRUCell"] = (lambda: nn.GRUCell(8, 5), lambda g: g.normal(3, 8))
LAYERS = {
    **POOLS,
    **NORMS,
    **CONVOLUTIONS,
    **RECURRENT,
    "embedding": (lambda: nn.Embedding(10, 4, padding_idx=1), lambda g: g.whole(3, 5, below=10)),
    "embedding of short rows": (lambda: nn.Embedding(10, 4, max_norm=1.0), lambda g: g.whole(3, 5, below=10)),
    "bag": (lambda: nn.EmbeddingBag(10, 4), lambda g: g.whole(3, 5, below=10)),
    "bag of sums": (
        lambda: nn.EmbeddingBag(10, 4, mode="sum", scale_grad_by_freq=True),
        lambda g: g.whole(3, 5, below=10),
    ),
    "padding": (
        lambda: nn.Sequential(nn.ReflectionPad2d((1, 2, 0, 1)), nn.ReplicationPad2d(2), nn.CircularPad2d(1)),
        _image,
    ),
    "padding 1d": (lambda: nn.Sequential(nn.ReflectionPad1d((1, 2)), nn.ReplicationPad1d(2)), _sequence),
    "padding 3d": (lambda: nn.Sequential(nn.ReplicationPad3d((1, 2, 0, 1, 2, 0)), nn.ReflectionPad3d(1)), _volume),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, given = LAYERS[name]
    compare(lambda g: g.layer(make)(given(g)))


@pytest.mark.parametrize(
    "mode, given",
    [
        ("nearest", _sequence),
        ("nearest", _image),
        ("nearest", _volume),
        ("nearest-exact", _image),
        ("linear", _sequence),
        ("bilinear", _image),
        ("bicubic", _image),
        ("trilinear", _volume),
    ],
)
def test_resizing(mode, given):
    compare(lambda g: F.interpolate(given(g), scale_factor=2, mode=mode))
    compare(lambda g: F.interpolate(given(g), scale_factor=1.7, mode=mode))
    compare(lambda g: F.interpolate(given(g), size=[3] * (given(g).dim() - 2), mode=mode))
    if not mode.startswith("nearest"):
        compare(lambda g: F.interpolate(given(g), scale_factor=2, mode=mode, align_corners=True))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction):
    for loss in (
        F.l1_loss,
        F.mse_loss,
        F.smooth_l1_loss,
        F.huber_loss,
        F.binary_cross_entropy_with_logits,
        F.poisson_nll_loss,
    ):
        compare(lambda g, loss=loss: loss(g.normal(4, 6) * 2, g.constant(4, 6), reduction=reduction))
    compare(lambda g: F.smooth_l1_loss(g.normal(4, 6), g.constant(4, 6), reduction=reduction, beta=0.3))
    compare(lambda g: F.huber_loss(g.normal(4, 6), g.constant(4, 6), reduction=reduction, delta=0.3))
    compare(lambda g: F.binary_cross_entropy(g.positive(4, 6), g.constant(4, 6), reduction=reduction))
    compare(lambda g: F.binary_cross_entropy(g.positive(4, 6), g.constant(4, 6), g.constant(4, 6), reduction=reduction))
    compare(lambda g: F.cross_entropy(_image(g), g.whole(2, 9, 8), reduction=reduction))
    compare(lambda g: F.cross_entropy(_image(g), g.whole(2, 9, 8), g.constant(6), ignore_index=2, reduction=reduction))
    compare(lambda g: F.cross_entropy(g.normal(4, 6), g.whole(4), reduction=reduction, label_smoothing=0.1))
    compare(lambda g: F.soft_margin_loss(g.normal(4, 6), (g.constant(4, 6) - 0.5).sign(), reduction=reduction))
    over = "batchmean" if reduction == "mean" else reduction
    compare(lambda g: F.kl_div(F.log_softmax(g.normal(4, 6), 1), g.constant(4, 6), reduction=over))


def test_attention():
    def shapes(g: Inputs) -> tuple[torch.Tensor, ...]:
        return g.normal(2, 4, 5, 8), g.normal(2, 4, 5, 8), g.normal(2, 4, 5, 8)

    compare(lambda g: F.scaled_dot_product_attention(*shapes(g)))
    compare(lambda g: F.scaled_dot_product_attention(*shapes(g), is_causal=True))
    compare(
        lambda g: F.scaled_dot_product_attention(
            *shapes(g), attn_mask=torch.ones(5, 5, dtype=torch.bool).tril().to(g.device)
        )
    )
    compare(
        lambda g: F.scaled_dot_product_attention(
            g.normal(2, 4, 5, 8), g.normal(2, 2, 5, 8), g.normal(2, 2, 5, 8), enable_gqa=True
        )
    )


def test_packed_sequences():
    from mindtorch_v2.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    for batch_first in (True, False):

        def run(g: Inputs, batch_first: bool = batch_first) -> list[torch.Tensor]:
            padded = g.normal(3, 4, 8) if batch_first else g.normal(4, 3, 8)
            packed = pack_padded_sequence(padded, torch.tensor([4, 3, 1]), batch_first=batch_first)
            out, (h, c) = g.layer(lambda: nn.LSTM(8, 5, batch_first=batch_first))(packed)
            return [pad_packed_sequence(out, batch_first=batch_first)[0], h, c]

        compare(run)


def test_bags_of_different_sizes():
    compare(lambda g: F.embedding_bag(g.whole(7, below=9), g.normal(9, 4), torch.tensor([0, 2, 2, 5]).to(g.device)))
    compare(
        lambda g: F.embedding_bag(
            g.whole(7, below=9),
            g.normal(9, 4),
            torch.tensor([0, 3]).to(g.device),
            mode="sum",
            per_sample_weights=g.constant(7),
        )
    )


def test_products():
    compare(lambda g: torch.addr(g.normal(4, 6), g.normal(4), g.normal(6), beta=0.5, alpha=2))
    compare(lambda g: torch.addbmm(g.normal(4, 3), g.normal(2, 4, 6), g.normal(2, 6, 3), beta=0.5))
    compare(lambda g: torch.einsum("bhid,bhjd->bhij", g.normal(2, 2, 4, 8), g.normal(2, 2, 5, 8)))
    compare(lambda g: g.layer(lambda: nn.Bilinear(6, 5, 3))(g.normal(4, 6), g.normal(4, 5)))


# --- types
HALVES: dict[str, Call] = {
    "activations": lambda g: [
        getattr(F, name)(g.normal(4, 6)) for name in ("softplus", "hardswish", "elu", "mish", "leaky_relu")
    ],
    "pooling": lambda g: [F.avg_pool2d(_image(g), 2), F.adaptive_avg_pool2d(_image(g), 3)],
    "resizing": lambda g: F.interpolate(_image(g), scale_factor=2, mode="bilinear"),
    "padding": lambda g: F.pad(_image(g), (1, 1, 1, 1), mode="reflect"),
    "order": lambda g: [*g.normal(4, 6).sort(), *g.normal(4, 6).topk(2), g.normal(4, 6).cumsum(0)],
    "statistics": lambda g: [g.normal(4, 6).std(1), g.normal(4, 6).norm()],
    "selection": lambda g: [g.normal(4, 6)[g.mask(4, 6)], g.normal(4, 6)[g.whole(3), g.whole(3)]],
}


@pytest.mark.parametrize("name", HALVES)
def test_half_precision(name):
    compare(HALVES[name], torch.float16, 1e-2, 5e-3)


# --- random numbers
def test_random_draws_have_their_distributions():
    torch.npu.manual_seed(2)
    dice = torch.randint(1, 7, (6000,), device="npu").cpu()
    assert dice.min() == 1 and dice.max() == 6 and abs(dice.float().mean().item() - 3.5) < 0.1
    order = torch.randperm(100, device="npu").cpu()
    assert order.sort()[0].tolist() == list(range(100)) and order.tolist() != list(range(100))
    weights = torch.tensor([0.0, 1.0, 3.0]).npu()
    drawn = torch.multinomial(weights, 4000, replacement=True).cpu()
    assert drawn.min() == 1 and 0.70 < (drawn == 2).float().mean().item() < 0.80
    assert sorted(torch.multinomial(weights[1:], 2).tolist()) == [0, 1]
    waits = torch.empty(4000, device="npu").exponential_(2.0).cpu()
    assert waits.min() >= 0 and abs(waits.mean().item() - 0.5) < 0.05
    coins = torch.bernoulli(torch.full((4000,), 0.25, device="npu")).cpu()
    assert set(coins.tolist()) == {0.0, 1.0} and abs(coins.mean().item() - 0.25) < 0.04
    shifted = torch.normal(torch.full((4000,), 3.0, device="npu"), 0.5).cpu()
    assert abs(shifted.mean().item() - 3) < 0.05 and abs(shifted.std().item() - 0.5) < 0.05


def test_random_draws_refuse_bad_bounds():
    with pytest.raises(RuntimeError, match=r"random_ expects 'from' to be less than 'to', but got from=5 >= to=5"):
        torch.randint(5, 5, (3,), device="npu")
    with pytest.raises(RuntimeError, match="exponential_ expects lambda > 0.0, but found lambda=0.0"):
        torch.ones(3, device="npu").exponential_(0.0)
