"""Further inputs on which rows of the operator table are compared with the CPU: activations, order, selection,
pooling, losses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import _dtype as dt
from .._dispatch import aten
from .._python.creation import tensor
from .._tensor import Tensor

OneOp = Callable[..., Any]  # makes a case of an op's name and arguments
Normal = Callable[..., Tensor]


def further_cases(op: OneOp, normal: Normal) -> Iterator[Any]:
    """Cases as `checks.cases` makes them, with its way to make one and its random numbers."""
    x, y = normal(4, 6), normal(4, 6, seed=1)
    unit = aten.sigmoid(normal(4, 6, seed=2)) * 0.8 + 0.1
    yield from _elementwise(op, x, y, unit)
    yield from _activations(op, x, y)
    yield from _reductions(op, x, unit)
    yield from _selection(op, x)
    yield from _pooling(op, normal)
    yield from _resizing(op, normal)
    yield from _normalization_and_losses(op, normal, x, unit)


def _elementwise(op: OneOp, x: Tensor, y: Tensor, unit: Tensor) -> Iterator[Any]:
    for name in (
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
    ):
        yield op(name, unit)
    yield op("acosh", unit + 1.5)
    whole, other = aten.arange(1, 13), aten.arange(12, 0, -1)
    for name in ("remainder", "fmod"):
        yield op(f"{name}.Tensor", x, unit)
        yield op(f"{name}.Tensor", whole, other)
        yield op(f"{name}.Scalar", x, 0.7)
    for name in ("and", "or", "xor"):
        yield op(f"bitwise_{name}.Tensor", whole, other)
        yield op(f"bitwise_{name}.Scalar", whole, 5)
    yield op("bitwise_not", whole)
    yield op("logical_xor", x > 0, y > 0)
    yield op("floor_divide", whole, other)
    yield op("floor_divide", whole, 4)
    for operand in (other, 4):
        yield op("div.Tensor_mode", whole, operand, rounding_mode="trunc")
    yield op("pow.Tensor_Tensor", unit, x)
    yield op("pow.Scalar", 2.0, x)
    yield op("atan2", x, y)
    yield op("xlogy.Tensor", x, unit)
    yield op("xlogy.Scalar_Other", x, 2.0)
    yield op("xlogy.Scalar_Self", 2.0, unit)
    yield op("clamp_min.Tensor", x, y)
    yield op("clamp_max.Tensor", x, y)


def _activations(op: OneOp, x: Tensor, y: Tensor) -> Iterator[Any]:
    for name in ("hardswish", "hardsigmoid", "mish"):
        yield op(name, x)
        yield op(f"{name}_backward", y, x)
    for name, scalars in (("softplus", (2.0, 1.0)), ("softshrink", (0.5,)), ("hardshrink", (0.5,))):
        yield op(name, x, *scalars)
        yield op(f"{name}_backward", y, x, *scalars)
    yield op("threshold", x, 0.1, 20.0)
    yield op("hardtanh_backward", y, x, -1.0, 1.0)
    yield op("elu", x, 0.5, 2.0, 1.5)
    yield op("elu_backward", y, 0.5, 2.0, 1.5, False, x)
    yield op("gelu", x, approximate="tanh")
    yield op("gelu_backward", y, x, approximate="tanh")
    yield op("glu", x, 1)


def _reductions(op: OneOp, x: Tensor, unit: Tensor) -> Iterator[Any]:
    for name in ("var", "std"):
        yield op(f"{name}.correction", x, [1], correction=1)
        yield op(f"{name}_mean.correction", x, [0], correction=0)
    for order in (0, 3):
        yield op("linalg_vector_norm", x, order, [1])
    yield op("prod", unit)
    yield op("prod.dim_int", unit, 1)
    yield op("cumsum", x, 1)
    yield op("cumprod", unit, 0)
    yield op("sort", x, 1, True)
    yield op("topk", x, 3)
    yield op("searchsorted.Tensor", aten.arange(0, 6).to(dt.float32), unit * 6)


def _selection(op: OneOp, x: Tensor) -> Iterator[Any]:
    mask, rows, source = x > 0, tensor([2, 0]), aten.ones([2, 6])
    yield op("nonzero", mask)
    yield op("masked_select", x, mask)
    yield op("masked_scatter", x, mask, aten.arange(24).to(dt.float32))
    yield op("index_add", x, 0, rows, source, alpha=2)
    yield op("index_copy", x, 0, rows, source)
    yield op("scatter.src", x, 0, tensor([[0, 1, 2]]), aten.ones([1, 3]))
    yield op("scatter.value", x, 0, tensor([[0, 1, 2]]), 7.0)
    yield op("flip", x, [0, 1])
    yield op("repeat", x, [2, 1, 2])
    yield op("unfold_backward", aten.ones([2, 3]), [5], 0, 3, 2)


def _pooling(op: OneOp, normal: Normal) -> Iterator[Any]:
    for n in (2, 3):
        image = normal(2, 3, *(6, 5, 4)[:n])
        window = ([2] * n, [2] * n, [0] * n)
        pooled = aten.overload(f"avg_pool{n}d")(image, *window)
        yield op(f"avg_pool{n}d", image, *window)
        yield op(f"avg_pool{n}d_backward", pooled, image, *window, False, True, None)
        small = aten.overload(f"_adaptive_avg_pool{n}d")(image, [3] * n)
        yield op(f"_adaptive_avg_pool{n}d", image, [3] * n)
        yield op(f"_adaptive_avg_pool{n}d_backward", small, image)
        largest, indices = aten.overload(f"adaptive_max_pool{n}d")(image, [3] * n)
        yield op(f"adaptive_max_pool{n}d", image, [3] * n)
        yield op(f"adaptive_max_pool{n}d_backward", largest, image, indices)
    largest, indices = aten.max_pool3d_with_indices(image, [2] * 3, [2] * 3)
    yield op("max_pool3d_with_indices", image, [2] * 3, [2] * 3)
    yield op("max_pool3d_with_indices_backward", largest, image, [2] * 3, [2] * 3, [0] * 3, [1] * 3, False, indices)


def _resizing(op: OneOp, normal: Normal) -> Iterator[Any]:
    ways = (
        ("upsample_nearest1d", 1, ()),
        ("upsample_nearest2d", 2, ()),
        ("upsample_nearest3d", 3, ()),
        ("_upsample_nearest_exact2d", 2, ()),
        ("upsample_linear1d", 1, (False,)),
        ("upsample_bilinear2d", 2, (True,)),
        ("upsample_bicubic2d", 2, (False,)),
        ("upsample_trilinear3d", 3, (False,)),
    )
    for name, n, aligned in ways:
        shape = (2, 3, *(4, 5, 3)[:n])
        image, size = normal(*shape), [2 * s for s in shape[2:]]
        yield op(name, image, size, *aligned)
        yield op(f"{name}_backward", normal(2, 3, *size), size, list(shape), *aligned)
    for kind in ("reflection", "replication"):
        for n in (1, 2, 3):
            image, padding = normal(2, 3, *(4, 5, 3)[:n]), [1, 2] * n
            padded = aten.overload(f"{kind}_pad{n}d")(image, padding)
            yield op(f"{kind}_pad{n}d", image, padding)
            yield op(f"{kind}_pad{n}d_backward", padded, image, padding)
    image = normal(2, 3, 4, 5)
    yield op("im2col", image, [2, 2], [1, 1], [0, 0], [1, 1])
    yield op("col2im", aten.im2col(image, [2, 2], [1, 1], [0, 0], [1, 1]), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])


def _normalization_and_losses(op: OneOp, normal: Normal, x: Tensor, unit: Tensor) -> Iterator[Any]:
    image, weight, bias = normal(2, 6, 5), normal(6, seed=1), normal(6, seed=2)
    out, mean, rstd = aten.native_group_norm(image, weight, bias, 2, 6, 5, 3, 1e-5)
    yield op("native_group_norm", image, weight, bias, 2, 6, 5, 3, 1e-5)
    yield op(
        "native_group_norm_backward", out, image, mean, rstd, weight, 2, 6, 5, 3, [True, True, True], tolerance=1e-4
    )
    one = tensor(1.0)
    yield op("smooth_l1_loss", x, unit, 1, 0.5)
    yield op("smooth_l1_loss_backward", one, x, unit, 1, 0.5)
    yield op("binary_cross_entropy", unit, unit * 0.5, None, 1)
    yield op("binary_cross_entropy_backward", one, unit, unit * 0.5, None, 1)
    scores, labels = aten.log_softmax(normal(2, 3, 2, 2), 1), tensor([[[0, 1], [2, 1]], [[1, 1], [0, 2]]])
    loss, total = aten.nll_loss2d_forward(scores, labels, None, 1, -100)
    yield op("nll_loss2d_forward", scores, labels, None, 1, -100)
    yield op("nll_loss2d_backward", one, scores, labels, None, 1, -100, total)
    yield op("huber_loss", x, unit, 1, 0.5)
