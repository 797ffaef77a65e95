"""Kernels that draw random numbers, from the generator that PyTorch's are equal to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _dtype as dt
from ..._dispatch.registry import kernel
from ..generators import stream_of
from .generator_rejection import poisson as draw_poisson

Array = np.ndarray


def _fill(target: Array, draw: Callable[[Any], Array]) -> None:
    """Has `draw` write into an array, in the order of its memory; where that has gaps, what `draw(shape)` gives is
    copied.
    """
    if not target.flags.c_contiguous:
        strides = target.strides
        target = target.transpose(sorted(range(target.ndim), key=lambda d: -strides[d]))
    if target.flags.c_contiguous:
        draw(target)
    else:
        target[...] = draw(target.shape)


# --- draws into a tensor
@kernel("uniform_")
def uniform_(self: Array, from_: float, to: float, generator: Any) -> None:
    stream = stream_of(generator)
    _fill(self, lambda where: stream.uniform(where, self.dtype, from_, to))


@kernel("normal_")
def normal_(self: Array, mean: float, std: float, generator: Any) -> None:
    stream, contiguous = stream_of(generator), bool(self.flags.c_contiguous)
    _fill(self, lambda where: stream.normal(where, self.dtype, mean, std, contiguous))


@kernel("random_.from")
def random_from(self: Array, from_: int, to: int | None, generator: Any) -> None:
    stream = stream_of(generator)
    _fill(self, lambda where: stream.random_int(where, self.dtype, from_, to))


@kernel("random_.to")
def random_to(self: Array, to: int, generator: Any) -> None:
    random_from(self, 0, to, generator)


@kernel("random_")
def random_(self: Array, generator: Any) -> None:
    stream = stream_of(generator)
    _fill(self, lambda where: stream.random_full(where, self.dtype))


def _register_one_parameter(name: str, method: str, parameters: int) -> None:
    """Registers a draw whose parameters go to the generator as they are."""

    @kernel(name)
    def draw(self: Array, *args: Any) -> None:
        numbers = getattr(stream_of(args[parameters]), method)
        _fill(self, lambda where: numbers(where, self.dtype, *args[:parameters]))


for _name, _method, _parameters in (
    ("exponential_", "exponential", 1),
    ("geometric_", "geometric", 1),
    ("cauchy_", "cauchy", 2),
    ("log_normal_", "log_normal", 2),
    ("bernoulli_.float", "bernoulli_scalar", 1),
):
    _register_one_parameter(_name, _method, _parameters)


@kernel("bernoulli_.Tensor")
def bernoulli_tensor(self: Array, p: Array, generator: Any) -> None:
    self[...] = stream_of(generator).bernoulli_array(np.broadcast_to(p, self.shape), self.dtype)


# --- fresh tensors
@kernel("randperm.generator")
def randperm(n: int, generator: Any, dtype: dt.dtype | None, *options: Any) -> Array:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    return stream_of(generator).permutation(n, (dtype or dt.int64).np)


def _checked_std(std: Any) -> Any:
    if isinstance(std, np.ndarray):
        if std.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.size and not (std >= 0).all():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return std


def _plus(drawn: Array, other: Any, kind: np.dtype[Any]) -> Array:
    """The sum, in the type of the tensor that asked for the numbers."""
    return np.add(drawn, other).astype(kind, copy=False)


def _times(drawn: Array, other: Array, kind: np.dtype[Any]) -> Array:
    return np.multiply(drawn, other).astype(kind, copy=False)


@kernel("normal.Tensor_float")
def normal_around(mean: Array, std: float, generator: Any) -> Array:
    drawn = stream_of(generator).normal(mean.shape, mean.dtype, 0.0, _checked_std(std))
    return _plus(drawn, mean, mean.dtype)


@kernel("normal.float_Tensor")
def normal_with(mean: float, std: Array, generator: Any) -> Array:
    _checked_std(std)
    drawn = _times(stream_of(generator).normal(std.shape, std.dtype), std, std.dtype)
    return _plus(drawn, std.dtype.type(mean), std.dtype)


@kernel("normal.Tensor_Tensor")
def normal_of(mean: Array, std: Array, generator: Any) -> Array:
    _checked_std(std)
    drawn = _times(stream_of(generator).normal(np.broadcast_shapes(mean.shape, std.shape), mean.dtype), std, mean.dtype)
    return _plus(drawn, mean, mean.dtype)


# --- draws that depend on a tensor
@kernel("multinomial")
def multinomial(self: Array, num_samples: int, replacement: bool, generator: Any) -> Array:
    if self.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if self.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    rows = self if self.ndim == 2 else self.reshape(1, -1)
    found = stream_of(generator).multinomial(rows, num_samples, replacement)
    return found if self.ndim == 2 else found.reshape(-1)


@kernel("poisson")
def poisson(self: Array, generator: Any) -> Array:
    if self.dtype.kind != "f":
        word = {"i": "Long", "b": "Bool", "u": "Byte", "c": "ComplexFloat"}[self.dtype.kind]
        raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{word}'")
    if self.size and not (self >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return draw_poisson(stream_of(generator), self).astype(self.dtype)
