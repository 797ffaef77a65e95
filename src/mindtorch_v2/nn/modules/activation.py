"""Activations as layers."""

from __future__ import annotations

from ..._dispatch import aten
from ..._lazy_parts import lazy_parts as _lazy_parts
from ..._tensor import Tensor
from .. import functional as F
from ._piecewise_activations import (
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Softshrink,
    Threshold,
    _Inplace,
)
from .module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]

for _layer in (
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    PReLU,
    RReLU,
    ReLU,
    ReLU6,
    Softshrink,
    Threshold,
):
    _layer.__module__ = __name__  # where PyTorch has it, and pickles look for it


class SELU(_Inplace):
    """scale * (max(0, x) + min(0, alpha (exp(x) - 1))) with the self-normalising constants.

    >>> nn.SELU()(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(_Inplace):
    """x * sigmoid(x).

    >>> nn.SiLU()(torch.tensor([-1., 2.]))
    tensor([-0.2689,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """x * tanh(softplus(x)).

    >>> nn.Mish()(torch.tensor([-1., 2.]))
    tensor([-0.3034,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


# --- without options
class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    >>> nn.Sigmoid()(torch.tensor([0.]))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return aten.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> nn.Tanh()(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return aten.tanh(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), computed without overflow.

    >>> nn.LogSigmoid()(torch.tensor([0.]))
    tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|).

    >>> nn.Softsign()(torch.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> nn.Tanhshrink()(torch.tensor([0., 1.]))
    tensor([0.0000, 0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W).

    >>> nn.Softmax2d()(torch.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class ELU(Module):
    """x for positive x, alpha (exp(x) - 1) otherwise.

    >>> nn.ELU()(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(ELU):
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)).

    >>> nn.CELU()(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class GELU(Module):
    """x * Phi(x), with Phi the normal distribution function; approximate="tanh" estimates it.

    >>> nn.GELU()(torch.tensor([-1., 2.]))
    tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """a * sigmoid(b), where a and b are the halves of the input along `dim`.

    >>> nn.GLU()(torch.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; the identity where beta x > threshold.

    >>> nn.Softplus()(torch.tensor([0.]))
    tensor([0.6931])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


# --- along a dimension
class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(x) / sum(exp(x)) along `dim`.

    >>> nn.Softmax(dim=0)(torch.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """softmax(-x) along `dim`.

    >>> nn.Softmin(dim=0)(torch.tensor([0., 1.]))
    tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along `dim`.

    >>> nn.LogSoftmax(dim=0)(torch.tensor([0., 0.]))
    tensor([-0.6931, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


__getattr__, __dir__ = _lazy_parts(
    __name__, names={"MultiheadAttention": "nn.modules.attention"}
)  # which PyTorch has in this file
