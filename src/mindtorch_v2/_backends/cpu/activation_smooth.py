"""Kernels of activations made of exponentials, as few passes in blocks: gelu, silu, mish, elu, softplus,
log_sigmoid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.registry import inplace_kernel, kernel
from . import special_functions
from .blocks import FEW, ONE, fused, horner, in_blocks
from .select import select
from .special_coefficients import LOG1P_RATIO, PHI_EXPONENT
from .unsupported import not_implemented

# gelu's tanh form is x * sigmoid(x * (_A + _B * x * x)).
_A = 2.0 * math.sqrt(2.0 / math.pi)
_B = _A * 0.044715
_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def _check(name: str, array: np.ndarray, kinds: str = "f") -> None:
    if array.dtype.kind not in kinds:
        raise not_implemented(name, array)


# --- gelu
def _phi_single(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    """out = 1 / Phi(x), z = x * x, where Phi is the normal distribution function."""
    np.multiply(x, x, out=z)
    horner(z, PHI_EXPONENT, out)
    out *= x
    np.exp(out, out=out)
    out += ONE["f"]


def _gelu_single(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    _phi_single(out, x, z)
    np.divide(x, out, out=out)


def _gelu_double(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    np.multiply(x, _ROOT_HALF, out=z)
    np.add(special_functions.erf(z), 1, out=out)
    out *= x
    out *= 0.5


def _gelu_tanh(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    np.multiply(x, x, out=z)
    z *= -_B
    z -= _A
    z *= x
    np.exp(z, out=z)
    z += 1
    np.divide(x, z, out=out)


def _gelu_body(self: np.ndarray, approximate: str) -> Callable[..., None]:
    _check("GeluKernelImpl", self)
    if approximate == "none":
        return _gelu_double if self.dtype.char == "d" else _gelu_single
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gelu_tanh


def _gelu_number(x: float) -> float:
    return x * 0.5 * (1.0 + math.erf(x * _ROOT_HALF))


@kernel("gelu")
def gelu(self: np.ndarray, approximate: str) -> np.ndarray:
    body = _gelu_body(self, approximate)
    if self.size <= special_functions.HANDFUL and body is not _gelu_tanh and self.flags.c_contiguous:
        return special_functions.one_by_one(_gelu_number, self)
    return fused(body, self, scratch=1)


def _gelu_backward_single(out: np.ndarray, x: np.ndarray, g: np.ndarray, z: np.ndarray) -> None:
    """g * (Phi(x) + x * phi(x))"""
    _phi_single(out, x, z)
    np.reciprocal(out, out=out)
    _add_density_term(out, x, g, z)


def _add_density_term(out: np.ndarray, x: np.ndarray, g: np.ndarray, z: np.ndarray) -> None:
    """out = g * (out + x * phi(x)), for z = x * x."""
    z *= -0.5
    np.exp(z, out=z)
    z *= x
    z *= _DENSITY
    out += z
    out *= g


def _gelu_backward_double(out: np.ndarray, x: np.ndarray, g: np.ndarray, z: np.ndarray) -> None:
    np.multiply(x, _ROOT_HALF, out=z)
    np.add(special_functions.erf(z), 1, out=out)
    out *= 0.5
    np.multiply(x, x, out=z)
    _add_density_term(out, x, g, z)


def _gelu_tanh_gate(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    np.multiply(x, x, out=z)
    z *= -_B
    z -= _A
    z *= x
    np.exp(z, out=out)
    out += 1
    np.reciprocal(out, out=out)


def _gelu_backward_tanh(out: np.ndarray, x: np.ndarray, g: np.ndarray, z: np.ndarray, t: np.ndarray) -> None:
    """g * s * (1 + x * (1 - s) * (A + 3 * B * x * x)), where s is the gate of the tanh form."""
    _gelu_tanh_gate(out, x, z)
    np.multiply(x, x, out=z)
    z *= 3 * _B
    z += _A
    z *= x
    np.subtract(1, out, out=t)
    z *= t
    z += 1
    out *= z
    out *= g


@kernel("gelu_backward")
def gelu_backward(grad_output: np.ndarray, self: np.ndarray, approximate: str) -> np.ndarray:
    if _gelu_body(self, approximate) is _gelu_tanh:
        return fused(_gelu_backward_tanh, self, grad_output, scratch=2)
    body = _gelu_backward_double if self.dtype.char == "d" else _gelu_backward_single
    return fused(body, self, grad_output, scratch=1)


# --- silu and mish
def _silu_body(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    np.negative(x, out=z)
    np.exp(z, out=z)
    z += 1
    np.divide(x, z, out=out)


@kernel("silu")
def silu(self: np.ndarray) -> Any:
    _check("silu_cpu", self, "fc")
    if self.size <= FEW:
        return np.divide(self, np.add(np.exp(np.negative(self)), ONE[self.dtype.char]))
    return fused(_silu_body, self, scratch=1)


@inplace_kernel("silu")
def silu_into(self: np.ndarray) -> None:
    _check("silu_cpu", self, "fc")
    in_blocks(_silu_body, self, (self,), 1)


def _silu_backward_body(out: np.ndarray, x: np.ndarray, g: np.ndarray, z: np.ndarray) -> None:
    """g * s * (1 + x * (1 - s)) for s = sigmoid(x)."""
    np.negative(x, out=z)
    np.exp(z, out=z)
    z += 1
    np.reciprocal(z, out=z)
    np.subtract(1, z, out=out)
    out *= x
    out += 1
    out *= z
    out *= g


@kernel("silu_backward")
def silu_backward(grad_output: np.ndarray, self: np.ndarray) -> np.ndarray:
    if self.dtype.kind == "c":
        return np.conjugate(fused(_silu_backward_body, self, np.conjugate(grad_output), scratch=1))
    return fused(_silu_backward_body, self, grad_output, scratch=1)


def _tanh_softplus(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    """out = tanh(log(1 + exp(x))) = n / (n + 2) for n = e * (e + 2), e = exp(x); 1 in every precision beyond x = 20."""
    np.minimum(x, 20, out=out)
    np.exp(out, out=out)
    np.add(out, 2, out=z)
    out *= z
    np.add(out, 2, out=z)
    out /= z


def _mish_body(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    _tanh_softplus(out, x, z)
    out *= x


@kernel("mish")
def mish(self: np.ndarray) -> np.ndarray:
    _check("mish_cpu", self)
    return fused(_mish_body, self, scratch=1)


def _mish_backward_body(out: np.ndarray, x: np.ndarray, g: np.ndarray, z: np.ndarray) -> None:
    """g * (t + x * s * (1 - t * t)) for t = tanh(softplus(x)), s = sigmoid(x)."""
    _tanh_softplus(out, x, z)
    np.negative(x, out=z)
    np.exp(z, out=z)
    z += 1
    np.divide(x, z, out=z)
    z *= 1 - out * out
    out += z
    out *= g


@kernel("mish_backward")
def mish_backward(grad_output: np.ndarray, self: np.ndarray) -> np.ndarray:
    return fused(_mish_backward_body, self, grad_output, scratch=1)


# --- numpy's expm1 and log1p are slow in single precision, where faster formulas are as exact
def _expm1(x: np.ndarray) -> Any:
    """exp(x) - 1 for x <= 0, by tanh of one half; anything for x > 0."""
    if x.dtype.char != "f" or x.size <= 512:
        return np.expm1(x)
    t = np.tanh(x * np.float32(0.5))
    return np.divide(t + t, ONE["f"] - t)


def _log1p_body(out: np.ndarray, u: np.ndarray, z: np.ndarray) -> None:
    np.add(u, 2, out=z)
    np.divide(u, z, out=z)
    s = z.copy()
    z *= z
    horner(z, LOG1P_RATIO, out)
    out *= s


def _log1p(u: np.ndarray) -> Any:
    """log(1 + u) for 0 <= u <= 1."""
    return fused(_log1p_body, u, scratch=1) if u.dtype.char == "f" and u.size > 1024 else np.log1p(u)


# --- elu
@kernel("elu")
def elu(self: np.ndarray, alpha: Any, scale: Any, input_scale: Any) -> Any:
    _check("elu_cpu", self)
    bent = self if input_scale == 1 else self * input_scale
    bent = _expm1(bent) * (alpha * scale)
    return select(np.greater(self, 0), self if scale == 1 else self * scale, bent)


@kernel("celu")
def celu(self: np.ndarray, alpha: Any) -> Any:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return elu(self, alpha, 1.0, 1.0 / alpha)


@kernel("elu_backward")
def elu_backward(
    grad_output: np.ndarray, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: np.ndarray
) -> Any:
    if is_result and alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not supported. This is "
            "caused "
            "by calling in-place forward function with a negative slope, please call out-of-place version instead."
        )
    if is_result:
        slope = (self_or_result + alpha * scale) * input_scale
    else:
        slope = np.exp(self_or_result * input_scale) * (alpha * scale * input_scale)
    return select(np.greater(self_or_result, 0), np.multiply(grad_output, scale), slope * grad_output)


# --- softplus and log sigmoid
@kernel("softplus")
def softplus(self: np.ndarray, beta: Any, threshold: Any) -> Any:
    _check("softplus_cpu", self)
    scaled = self if beta == 1 else self * beta
    soft = np.maximum(scaled, 0) + _log1p(np.exp(-np.abs(scaled)))
    return select(np.greater(scaled, threshold), self, soft if beta == 1 else soft / beta)


@kernel("softplus_backward")
def softplus_backward(grad_output: np.ndarray, self: np.ndarray, beta: Any, threshold: Any) -> Any:
    scaled = self if beta == 1 else self * beta
    return select(np.greater(scaled, threshold), np.positive(grad_output), grad_output / (1 + np.exp(-scaled)))


@kernel("log_sigmoid_forward")
def log_sigmoid_forward(self: np.ndarray) -> tuple[Any, Any]:
    """min(0, x) - log1p(exp(-abs(x))), and the exponential, which the gradient needs."""
    _check("log_sigmoid_cpu", self)
    self = np.asarray(self, order="C")
    small = np.exp(-np.abs(self))
    return np.minimum(self, 0) - _log1p(small), small


@kernel("log_sigmoid_backward")
def log_sigmoid_backward(grad_output: np.ndarray, self: np.ndarray, buffer: np.ndarray) -> Any:
    share = buffer / (1 + buffer)
    return np.where(self < 0, 1 - share, share) * grad_output
