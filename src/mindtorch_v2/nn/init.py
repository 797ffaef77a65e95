"""Initial values for parameters.

Every function fills the tensor it is given, records no gradient, and returns the tensor. With the same seed the values
are those of PyTorch: the same draws are made in the same order.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

from .._autograd.grad_mode import no_grad
from .._dispatch import aten
from .._tensor import Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_UNIT_GAIN = {"linear", "sigmoid", *(f"conv{form}{n}d" for form in ("", "_transpose") for n in (1, 2, 3))}
_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor by which weights before this nonlinearity are scaled; `param` is the slope of a leaky_relu.

    >>> nn.init.calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity in _UNIT_GAIN:
        return 1
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Draws from the uniform distribution on [a, b).

    >>> nn.init.uniform_(torch.empty(99), 2, 3).min() >= 2
    tensor(True)
    """
    return aten.uniform_(tensor, a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Draws from the normal distribution.

    >>> nn.init.normal_(torch.empty(3, 5), std=0.02).shape
    torch.Size([3, 5])
    """
    return aten.normal_(tensor, mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Draws from the normal distribution cut to [a, b].

    Draws that fall outside are drawn again; if most would, they come from the uniform distribution on [a, b] and are
    kept with the probability that the normal density has there, relative to its peak.

    >>> nn.init.trunc_normal_(torch.empty(99), a=-1, b=1).abs().max() <= 1
    tensor(True)
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    if below(b) - below(a) > 0.3:
        _redraw_outside(tensor, mean, std, a, b, generator)
    else:
        _reject_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _redraw_outside(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    low, high = (float(tensor.dtype.np.type(x)) for x in (a, b))  # compare with what the type can hold
    drawn = aten.normal_(tensor, mean, std, generator=generator)
    while bool((outside := (drawn < low) | (drawn > high)).any()):
        drawn = aten.where(outside, aten.normal_(aten.empty_like(drawn), mean, std, generator=generator), drawn)
    if drawn is not tensor:
        tensor.copy_(drawn)


def _reject_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def refused(candidates: Tensor) -> Tensor:
        """Where log(uniform) lies above the log-density, relative to the peak."""
        density = candidates.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return aten.uniform_(aten.empty_like(tensor), generator=generator).log_().gt(density)

    drawn = aten.uniform_(tensor, a, b, generator=generator)
    pending = refused(drawn)
    while bool(pending.any()):
        candidates = aten.uniform_(aten.empty_like(tensor), a, b, generator=generator)
        drawn = aten.where(pending, candidates, drawn)
        pending = aten.where(pending, refused(candidates), pending)
    if drawn is not tensor:
        tensor.copy_(drawn)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with one value.

    >>> nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return aten.fill_(tensor, val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones.

    >>> nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return aten.fill_(tensor, 1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros.

    >>> nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return aten.zero_(tensor)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Makes a matrix the identity.

    >>> nn.init.eye_(torch.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    aten.eye(*tensor.shape, out=tensor)
    return tensor


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Makes a convolution kernel pass its input channels through unchanged, per group.

    >>> nn.init.dirac_(torch.empty(2, 2, 1)).squeeze(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    centre = tuple(n // 2 for n in tensor.shape[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(per_group, tensor.shape[1])):
            index = (group * per_group + channel, channel, *centre)
            tensor[index] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs feed one output, and how many outputs one input feeds."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform on [-a, a] with a = gain * sqrt(6 / (fan_in + fan_out)).

    >>> nn.init.xavier_uniform_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with std = gain * sqrt(2 / (fan_in + fan_out)).

    >>> nn.init.xavier_normal_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """The standard deviation that keeps activations at one size; None when there is nothing to fill."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Uniform on [-b, b] with b = gain * sqrt(3 / fan).

    >>> nn.init.kaiming_uniform_(torch.empty(3, 5)).shape
    torch.Size([3, 5])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Normal with std = gain / sqrt(fan).

    >>> nn.init.kaiming_normal_(torch.empty(3, 5), nonlinearity="relu").shape
    torch.Size([3, 5])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0, std, generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """A (semi-)orthogonal matrix times `gain`; dimensions after the first are taken together.

    >>> w = nn.init.orthogonal_(torch.empty(3, 3))
    >>> torch.allclose(w @ w.T, torch.eye(3), atol=1e-5)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    draws = aten.normal_(aten.new_empty(tensor, (rows, columns)), 0, 1, generator=generator)
    wide = rows < columns
    q, r = aten.linalg_qr(aten.t(draws) if wide else draws)
    q.mul_(aten.sign(aten.diag(r, 0)))  # makes the distribution uniform over orthogonal matrices
    made = aten.t(q) if wide else q
    tensor.view_as(made).copy_(made)
    return tensor.mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal values of which the fraction `sparsity` of every column is zero.

    >>> (nn.init.sparse_(torch.empty(4, 3), sparsity=0.5) == 0).sum(0)
    tensor([2, 2, 2])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    aten.normal_(tensor, 0, std, generator=generator)
    for column in range(columns):
        tensor[aten.randperm(rows)[:zeros], column] = 0
    return tensor


def _example_of(function: Any) -> str:
    """The example of a docstring, with the empty line before it. Python 3.13 takes the indentation of docstrings away,
    earlier ones leave it.
    """
    text, marker, example = (inspect.getdoc(function) or "").partition("\n\n>>> ")
    return marker + example


def _old_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """The form of a function without the underscore: it warns and does the same."""
    new = function.__name__
    old = new[:-1]

    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"Deprecated name of `{new}`.{_example_of(function)}"
    return call


uniform, normal, constant = _old_name(uniform_), _old_name(normal_), _old_name(constant_)
eye, dirac, orthogonal, sparse = _old_name(eye_), _old_name(dirac_), _old_name(orthogonal_), _old_name(sparse_)
xavier_uniform, xavier_normal = _old_name(xavier_uniform_), _old_name(xavier_normal_)
kaiming_uniform, kaiming_normal = _old_name(kaiming_uniform_), _old_name(kaiming_normal_)
