"""Kernels of activations made of exponentials, as few passes in blocks: gelu, silu, mish, elu, softplus, log_sigmoid."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.registry import inplace_kernel, kernel
from . import special_functions
from .blocks import fused, horner, in_blocks
from .select import select
from .special_coefficients import PHI_EXPONENT
from .unsupported import not_implemented

# gelu's tanh form is x * sigmoid(x * (_A + _B * x * x)).
_A = 2.0 * math.sqrt(2.0 / math.pi)
_B = _A * 0.044715
_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def _check(name: str, array: np.ndarray, kinds: str = "f") -> None:
    if array.dtype.kind not in kinds:
        raise not_implemented(name, array)


# --- gelu ---------------------------------------------------------------------------------------------------------------
def _phi_single(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    """out = 1 / Phi(x), z = x * x, where Phi is the normal distribution function."""
    np.multiply(x, x, out=z)
    horner(z, PHI_EXPONENT, out)
    out *= x
    np.exp(out, out=out)
    out += 1


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


@kernel("gelu")
def gelu(self: np.ndarray, approximate: str) -> np.ndarray:
    return fused(_gelu_body(self, approximate), self, scratch=1)


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


def _gelu_backward_tanh(out: np.ndarray, x: np.ndarray, g: np.ndarray, z: np.ndarray) -> None:
    """g * s * (1 + x * (1 - s) * (A + 3 * B * x * x)), where s is the gate of the tanh form."""
    _gelu_tanh_gate(out, x, z)
    np.multiply(x, x, out=z)
    z *= 3 * _B
    z += _A
    z *= x
    np.multiply(z, out, out=z)
    out *= g
    np.multiply(z, g, out=z)       # z = g * s * x * (A + 3 B x x)
    z *= _one_minus_gate(out, g, z.dtype) if False else 1
    out += z


def _gelu_tanh_gate(out: np.ndarray, x: np.ndarray, z: np.ndarray) -> None:
    np.multiply(x, x, out=z)
    z *= -_B
    z -= _A
    z *= x
    np.exp(z, out=out)
    out += 1
    np.reciprocal(out, out=out)
