"""Activation functions and dropout."""

from __future__ import annotations

import warnings
from typing import Any

from ..._dispatch import aten
from ..._dispatch.namespace import public
from ..._tensor import Tensor


# --- rectifiers and their relatives -----------------------------------------------------------------------------------
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(0, x).

    >>> F.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return aten.relu_(input) if inplace else aten.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(0, x), 6).

    >>> F.relu6(torch.tensor([-1., 2., 9.]))
    tensor([0., 2., 6.])
    """
    return aten.relu6_(input) if inplace else aten.relu6(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else `value`.

    >>> F.threshold(torch.tensor([0., 1.]), 0.5, 9.)
    tensor([9., 1.])
    """
    return aten.threshold_(input, threshold, value) if inplace else aten.threshold(input, threshold, value)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x cut to [min_val, max_val].

    >>> F.hardtanh(torch.tensor([-4., 0.5, 4.]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return aten.hardtanh_(input, min_val, max_val) if inplace else aten.hardtanh(input, min_val, max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x for positive x, negative_slope * x otherwise.

    >>> F.leaky_relu(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return aten.leaky_relu_(input, negative_slope) if inplace else aten.leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """leaky_relu with a slope drawn from [lower, upper] in training, their mean otherwise.

    >>> F.rrelu(torch.tensor([-4., 2.]), 0.5, 0.5)
    tensor([-2.,  2.])
    """
    return aten.rrelu_(input, lower, upper, training) if inplace else aten.rrelu(input, lower, upper, training)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x for positive x, alpha * (exp(x) - 1) otherwise.

    >>> F.elu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return aten.elu_(input, alpha) if inplace else aten.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale * elu(x, alpha) with the constants that keep mean 0 and variance 1.

    >>> F.selu(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return aten.selu_(input) if inplace else aten.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    >>> F.celu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return aten.celu_(input, alpha) if inplace else aten.celu(input, alpha)


# --- smooth and piecewise gates
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x).

    >>> F.silu(torch.tensor([-1., 2.]))
    tensor([-0.2689,  1.7616])
    """
    return aten.silu_(input) if inplace else aten.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)).

    >>> F.mish(torch.tensor([-1., 2.]))
    tensor([-0.3034,  1.9440])
    """
    return aten.mish_(input) if inplace else aten.mish(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * relu6(x + 3) / 6.

    >>> F.hardswish(torch.tensor([-4., 1., 4.]))
    tensor([-0.0000, 0.6667, 4.0000])
    """
    return aten.hardswish_(input) if inplace else aten.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6.

    >>> F.hardsigmoid(torch.tensor([-4., 0., 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return aten.hardsigmoid_(input) if inplace else aten.hardsigmoid(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a * sigmoid(b), where a and b are the halves of the input along `dim`.

    >>> F.glu(torch.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return aten.glu(input, dim)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent.

    >>> F.tanh(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """
    return aten.tanh(input)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)).

    >>> F.sigmoid(torch.tensor([0.]))
    tensor([0.5000])
    """
    return aten.sigmoid(input)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    >>> F.tanhshrink(torch.tensor([0., 1.]))
    tensor([0.0000, 0.2384])
    """
    return input - aten.tanh(input)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|).

    >>> F.softsign(torch.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
    """
    return input / (aten.abs(input) + 1)


# --- along a dimension ------------------------------------------------------------------------------------------------
def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`.

    >>> F.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return aten.softmax(input, dim) if dtype is None else aten.softmax(input, dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of -x along `dim`.

    >>> F.softmin(torch.tensor([0., 1.]), dim=0)
    tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return aten.softmax(-input, dim) if dtype is None else aten.softmax(-input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(x)), computed without overflow.

    >>> F.log_softmax(torch.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return aten.log_softmax(input, dim) if dtype is None else aten.log_softmax(input, dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample from the Gumbel-softmax distribution; with `hard` one-hot forward, soft backward.

    >>> F.gumbel_softmax(torch.zeros(3), hard=True).sum()
    tensor(1.)
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = public.empty_like(logits).exponential_().log()
    soft = aten.softmax((logits - noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = public.zeros_like(logits).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft


# --- dropout
def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zeroes each element with probability p and scales the others by 1 / (1 - p).

    >>> F.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    _check_probability(p)
    return aten.dropout_(input, p, training) if inplace else aten.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of selu activations.

    >>> F.alpha_dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    _check_probability(p)
    return aten.alpha_dropout_(input, p, training) if inplace else aten.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels.

    >>> F.feature_alpha_dropout(torch.ones(1, 2, 2), training=False).shape
    torch.Size([1, 2, 2])
    """
    _check_probability(p)
    call = aten.feature_alpha_dropout_ if inplace else aten.feature_alpha_dropout
    return call(input, p, training)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, L) or (C, L).

    >>> F.dropout1d(torch.ones(1, 2), training=False)
    tensor([[1., 1.]])
    """
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists "
            "to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
            "optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _channels(input, p, training, inplace, input.dim() == 2)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, H, W).

    >>> F.dropout2d(torch.ones(2, 3, 4, 4), training=False).shape
    torch.Size([2, 3, 4, 4])
    """
    _check_probability(p)
    if input.dim() not in (3, 4):
        _warn_dimensions("dropout2d", input.dim(), 2, "3D or 4D")
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _channels(input, p, training, inplace, False)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of (N, C, D, H, W) or (C, D, H, W).

    >>> F.dropout3d(torch.ones(2, 3, 4, 4, 4), training=False).shape
    torch.Size([2, 3, 4, 4, 4])
    """
    _check_probability(p)
    if input.dim() not in (4, 5):
        _warn_dimensions("dropout3d", input.dim(), 3, "4D or 5D")
    return _channels(input, p, training, inplace, input.dim() == 4)


def _warn_dimensions(name: str, got: int, spatial: int, wanted: str) -> None:
    warnings.warn(
        f"{name}: Received a {got}-D input to {name}, which is deprecated and will result in an error in a future "
        f"release. To retain the behavior and silence this warning, please use dropout instead. Note that {name} "
        f"exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, and "
        f"an optional batch dimension (i.e. {wanted} inputs).",
        stacklevel=3,
    )


def _channels(input: Tensor, p: float, training: bool, inplace: bool, unbatched: bool) -> Tensor:
    if unbatched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = aten.feature_dropout_(input, p, training) if inplace else aten.feature_dropout(input, p, training)
    if unbatched:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result
