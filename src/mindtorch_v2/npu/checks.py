"""Inputs on which every row of the operator table is compared with the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .. import _dtype as dt
from .._dispatch import aten
from .._python.creation import tensor
from .._python.random import Generator
from .._tensor import Tensor
from .checks_layers import further_cases


class Case(NamedTuple):
    """One call: `run` is given a function that puts tensors on a device, and computes there."""

    name: str
    run: Callable[[Callable[[Tensor], Tensor]], Any]
    tolerance: float = 1e-5


def _randn(*shape: int, seed: int = 0) -> Tensor:
    return aten.randn(shape, generator=Generator().manual_seed(seed))


def _op(name: str, *args: Any, tolerance: float = 1e-5, **keywords: Any) -> Case:
    """A case that calls the op of this name with arguments in schema order."""

    def run(put: Callable[[Tensor], Tensor]) -> Any:
        moved = [
            put(a)
            if isinstance(a, Tensor)
            else [put(x) for x in a]
            if a.__class__ is list and isinstance(a[0], Tensor)
            else a
            for a in args
        ]
        return aten.overload(name)(*moved, **keywords)

    return Case(name, run, tolerance)


def cases() -> Iterator[Case]:
    """At least one case per row."""
    x, y, positive = _randn(4, 6), _randn(4, 6, seed=1), aten.abs(_randn(4, 6, seed=2)) + 0.5
    yield from _elementwise(x, y, positive)
    yield from _reductions(x)
    yield from _products()
    yield from _movement(x)
    yield from _layers(x)
    yield from further_cases(_op, _randn)


def _elementwise(x: Tensor, y: Tensor, positive: Tensor) -> Iterator[Case]:
    for name in ("exp", "sin", "cos", "erf", "tanh", "sigmoid", "neg", "abs", "relu", "silu", "gelu"):
        yield _op(name, x, tolerance=1e-5)
    for name in ("log", "sqrt", "rsqrt", "reciprocal"):
        yield _op(name, positive)
    row = _randn(6, seed=3)
    for name in ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor"):
        yield _op(name, x, y)
        yield _op(name, x, row)
        yield _op(name, x.t(), y.t())
        yield _op(name, x, 2.5)
        yield _op(name.replace(".", "_."), aten.clone(x), y)
    yield _op("add.Tensor", aten.arange(6), row)
    yield _op("add.Tensor", x, y, alpha=3)
    yield _op("rsub.Scalar", x, 2.0)
    for name in ("maximum", "minimum"):
        yield _op(name, x, y)
    yield _op("pow.Tensor_Scalar", positive, 2.5)
    yield _op("clamp", x, -0.5, 0.5)
    yield _op("clamp", x, None, 0.5)
    yield _op("clamp_min", x, 0.0)
    yield _op("clamp_max", x, 0.0)
    yield _op("addcmul", x, y, positive, value=0.5)
    yield _op("addcdiv", x, y, positive, value=0.5)
    yield _op("lerp.Scalar", x, y, 0.25)
    yield from _comparisons(x, y)
    yield from _activations(x, y)


def _comparisons(x: Tensor, y: Tensor) -> Iterator[Case]:
    for name in ("eq", "ne", "lt", "gt", "le", "ge"):
        yield _op(f"{name}.Tensor", x, y)
        yield _op(f"{name}.Scalar", x, 0.5)
    mask = aten.gt(x, 0)
    yield _op("logical_not", mask)
    yield _op("isneginf", x)
    yield _op("isposinf", x)
    for name in ("any", "all"):
        yield _op(name, mask)
        yield _op(f"{name}.dim", mask, 1, True)
    yield _op("logical_and", mask, x)
    yield _op("logical_or", mask, x)
    yield _op("where.self", mask, x, y)
    yield _op("masked_fill.Scalar", x, mask, -1.0)
    yield _op("masked_fill_.Scalar", aten.clone(x), mask, -1.0)


def _activations(x: Tensor, y: Tensor) -> Iterator[Case]:
    """Activations and their derivatives, and casts."""
    yield _op("leaky_relu", x, 0.1)
    yield _op("leaky_relu_backward", x, y, 0.1, False)
    yield _op("sgn", x)
    yield Case("logsigmoid", lambda put: aten.log_sigmoid(put(x)))
    yield _op("log_sigmoid_backward", x, y, aten.exp(-aten.abs(y)))
    yield _op("gelu_backward", x, y)
    yield _op("silu_backward", x, y)
    yield _op("tanh_backward", x, y)
    yield _op("sigmoid_backward", x, y)
    yield _op("threshold_backward", x, y, 0.0)
    yield Case("_to_copy", lambda put: put(x).to(dt.float16), 1e-3)
    yield Case("_to_copy.int", lambda put: put(x * 10).to(dt.int64))


def _reductions(x: Tensor) -> Iterator[Case]:
    for dim in (0, -1):
        probabilities = aten.softmax(x, dim)
        yield _op("_softmax", x, dim, False)
        yield _op("_log_softmax", x, dim, False)
        yield _op("_softmax_backward_data", x, probabilities, dim, dt.float32)
        yield _op("_log_softmax_backward_data", x, aten.log(probabilities), dim, dt.float32)
        yield _op("sum.dim_IntList", x, [dim], True)
        yield _op("amax", x, [dim])
        yield _op("max.dim", x, dim)
        yield _op("argmax", x, dim)
    for name in ("min.dim", "argmin"):
        yield _op(name, x, 1)
    yield _op("amin", x, [0], True)
    yield _op("min", x)
    yield _op("argmax", x)
    for order in (1, 2, float("inf")):
        yield _op("linalg_vector_norm", x, order)
        yield _op("linalg_vector_norm", x, order, [1], True)
    yield _op("sum", x)
    yield _op("sum", aten.arange(10))
    yield _op("max", x)
    yield _op("mean", x)


def _products() -> Iterator[Case]:
    a, b, bias = _randn(5, 7), _randn(7, 3, seed=1), _randn(3, seed=2)
    yield _op("mm", a, b)
    yield _op("mm", b.t(), a.t())
    yield _op("addmm", bias, a, b)
    yield _op("mv", a, _randn(7, seed=4))
    yield _op("dot", _randn(7), _randn(7, seed=4))
    left, right = _randn(2, 4, 5), _randn(2, 5, 3, seed=1)
    yield _op("bmm", left, right)
    yield _op("baddbmm", _randn(2, 4, 3, seed=5), left, right, beta=0.5, alpha=2.0)


def _movement(x: Tensor) -> Iterator[Case]:
    index = tensor([2, 0, 2])
    yield _op("cat", [x, x + 1], 1)
    yield Case("index.Tensor", lambda put: put(x)[:, put(tensor([[2, 0], [-1, 2]]))])
    yield Case(
        "_index_put_impl_",
        lambda put: put(x).clone().index_put_((put(tensor([2, 0, -2])),), put(aten.ones([3, 6])), True),
    )
    yield _op("tril", x, 1)
    yield _op("triu", x)
    yield _op("index_select", x, 0, index)
    indices = tensor([[0, 1, 2], [3, 4, 5]])
    yield _op("gather", x, 1, indices)
    yield _op("scatter_add", x, 1, indices, aten.ones([2, 3]))
    yield _op("embedding_dense_backward", _randn(3, 4), index, 5, -1, False)
    yield Case("copy_", lambda put: put(x).t().contiguous())
    yield Case("expand", lambda put: put(x)[:, :1].expand(4, 3).contiguous())
    yield Case("fill_.Scalar", lambda put: put(x).clone().fill_(3.5))
    yield Case("zero_", lambda put: put(x).clone().zero_())
    for name, args in (("linspace", (0.0, 1.0, 7)), ("eye", (4,)), ("eye.m", (2, 3))):
        yield Case(name, lambda put, name=name, args=args: aten.overload(name)(*args, device=put(x).device))  # type: ignore[misc]
    yield Case("index.several", lambda put: put(x)[put(tensor([2, 0])), put(tensor([1, 5]))])
    yield Case("arange.start_step", lambda put: aten.overload("arange.start_step")(1, 9, 2, device=put(x).device))
    yield Case("_local_scalar_dense", lambda put: tensor(put(x)[1, 2].item()))


def _layers(x: Tensor) -> Iterator[Case]:
    weight, bias = _randn(6, seed=7), _randn(6, seed=8)
    normed, mean, rstd = aten.native_layer_norm(x, [6], weight, bias, 1e-5)
    yield _op("native_layer_norm", x, [6], weight, bias, 1e-5)
    yield _op(
        "native_layer_norm_backward", normed, x, [6], mean, rstd, weight, bias, [True, True, True], tolerance=1e-4
    )
    image, running = _randn(3, 6, 5, 5), (aten.zeros([6]), aten.ones([6]))
    made, save_mean, save_invstd = aten.native_batch_norm(
        image, weight, bias, *map(aten.clone, running), True, 0.1, 1e-5
    )
    yield _op("native_batch_norm", image, weight, bias, *map(aten.clone, running), True, 0.1, 1e-5)
    yield _op(
        "native_batch_norm_backward",
        made,
        image,
        weight,
        *running,
        save_mean,
        save_invstd,
        True,
        1e-5,
        [True, True, True],
        tolerance=1e-4,
    )
    yield from _convolutions(image)
    yield from _losses(x)


def _convolutions(image: Tensor) -> Iterator[Case]:
    filters = _randn(8, 6, 3, 3, seed=9)
    yield _op(
        "convolution", image, filters, _randn(8, seed=1), [1, 1], [1, 1], [1, 1], False, [0, 0], 1, tolerance=1e-4
    )
    yield _op(
        "convolution", image, _randn(6, 4, 3, 3, seed=3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1, tolerance=1e-4
    )
    grad = _randn(3, 8, 5, 5, seed=2)
    yield _op(
        "convolution_backward",
        grad,
        image,
        filters,
        [8],
        [1, 1],
        [1, 1],
        [1, 1],
        False,
        [0, 0],
        1,
        [True, True, True],
        tolerance=1e-3,
    )
    yield _op("max_pool2d_with_indices", image, [2, 2], [2, 2])
    pooled, indices = aten.max_pool2d_with_indices(image, [2, 2], [2, 2])
    yield _op("max_pool2d_with_indices_backward", pooled, image, [2, 2], [2, 2], [0, 0], [1, 1], False, indices)


def _losses(x: Tensor) -> Iterator[Case]:
    scores, target = aten.log_softmax(x, 1), tensor([0, 5, 2, 3])
    for reduction in (1, 2):
        yield _op("nll_loss_forward", scores, target, None, reduction, -100)
    yield Case("nll_loss", lambda put: aten.nll_loss(put(scores), put(target), reduction=0))
    total = tensor(4.0)
    yield _op("nll_loss_backward", tensor(1.0), scores, target, None, 1, -100, total)
    yield _op("mse_loss", x, x * 2, 1)
    yield _op("mse_loss_backward", tensor(1.0), x, x * 2, 1)
