"""Functions and layers that people train with give on the device what they give on the CPU, gradients included,
without running there.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn

from .function_calls import Call, Inputs, compare, image

pytestmark = pytest.mark.usefixtures("never_on_the_cpu")


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
    compare(lambda g: getattr(F, name)(image(g) * 3))
    compare(lambda g: getattr(F, name)(g.normal(4, 6).t() * 3))


def test_activations_with_parameters():
    compare(lambda g: F.gelu(g.normal(4, 6), approximate="tanh"))
    compare(lambda g: F.threshold(g.normal(4, 6), 0.1, 20.0))
    compare(lambda g: F.softplus(g.normal(4, 6), beta=2.0, threshold=1.0))
    compare(lambda g: F.elu(g.normal(4, 6), alpha=0.3))
    compare(lambda g: g.layer(nn.PReLU)(image(g)))
    compare(lambda g: g.layer(partial(nn.PReLU, 6))(image(g)))
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
    "channels": lambda g: g.layer(lambda: nn.ChannelShuffle(2))(image(g)),
    "windows": lambda g: [g.normal(9).unfold(0, 3, 2), g.normal(2, 7, 3).unfold(1, 2, 2)],
    "columns": lambda g: [F.unfold(image(g), (2, 3), padding=1, stride=2), F.fold(g.normal(2, 8, 12), (4, 5), (2, 2))],
    "numbers": lambda g: [
        torch.linspace(0, 1, 9, device=g.device),
        torch.eye(4, device=g.device),
        torch.eye(2, 3, device=g.device),
    ],
    "pad": lambda g: [
        F.pad(g.normal(4, 6), (1, 2)),
        F.pad(image(g), (1, 0, 2, 1), value=3.0),
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
