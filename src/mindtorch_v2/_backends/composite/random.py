"""Random ops that are made of others: take memory and draw into it; dropouts.

While nobody watches, a tensor on the CPU is drawn directly; watched, by the steps that PyTorch shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtype as dt
from ... import _observer
from ..._dispatch import aten
from ..._dispatch.registry import composite
from ..._keys import CPU, DEVICES
from ..._ops.creation_sizes import counted_sizes
from ..._tensor import contiguous_format, preserve_format, wrap
from ..generators import stream_of

_SELU_LIMIT = 1.7580993408473766  # minus this is what alpha dropout puts in place of a dropped value


def _draws_directly(device: Any) -> bool:
    return _observer.active is None and device.type == "cpu"


def _is_drawn_alike(self: Any, device: Any, memory_format: Any) -> bool:
    """Whether numbers that fill a tensor like `self` may be drawn directly: it is row-major and on the CPU."""
    return (
        _observer.active is None
        and device is None
        and self._keys & DEVICES == CPU
        and (memory_format is None or memory_format is preserve_format)
        and self._array.flags.c_contiguous
    )


def _cast_draws(numbers: Any, kind: dt.dtype) -> Any:
    """A tensor of numbers that were drawn: those of a type that numpy lacks come in a wider one, already rounded."""
    return wrap(numbers if numbers.dtype == kind.np else numbers.astype(kind.np), kind)


# --- fresh tensors
@composite("rand.generator")
def rand(size: Sequence[int], generator: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any) -> Any:
    kind = dtype or dt.get_default_dtype()
    if _draws_directly(device):
        return _cast_draws(stream_of(generator).uniform(counted_sizes(size), kind.np), kind)
    return aten.uniform_(aten.empty(size, dtype=kind, device=device), 0.0, 1.0, generator=generator)


@composite("randn.generator")
def randn(
    size: Sequence[int], generator: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return normal_sized(0.0, 1.0, size, generator, dtype, layout, device, pin_memory)


@composite("normal.float_float")
def normal_sized(
    mean: float,
    std: float,
    size: Sequence[int],
    generator: Any,
    dtype: dt.dtype | None,
    layout: Any,
    device: Any,
    pin_memory: Any,
) -> Any:
    kind = dtype or dt.get_default_dtype()
    if _draws_directly(device):
        return _cast_draws(stream_of(generator).normal(counted_sizes(size), kind.np, mean, std), kind)
    return aten.normal_(aten.empty(size, dtype=kind, device=device), mean, std, generator=generator)


@composite("randint.low_generator")
def randint_low(
    low: int,
    high: int,
    size: Sequence[int],
    generator: Any,
    dtype: dt.dtype | None,
    layout: Any,
    device: Any,
    pin_memory: Any,
) -> Any:
    kind = dtype or dt.int64
    if _draws_directly(device):
        return _cast_draws(stream_of(generator).random_int(counted_sizes(size), kind.np, low, high), kind)
    return aten.random_(aten.empty(size, dtype=kind, device=device), low, high, generator=generator)


@composite("randint.generator")
def randint(
    high: int, size: Sequence[int], generator: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any
) -> Any:
    return randint_low(0, high, size, generator, dtype, layout, device, pin_memory)


@composite("rand_like.generator")
def rand_like(
    self: Any, generator: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Any:
    kind = dtype or self.dtype
    if _is_drawn_alike(self, device, memory_format):
        return _cast_draws(stream_of(generator).uniform(self._array.shape, kind.np), kind)
    made = aten.empty_like(self, dtype=dtype, device=device, memory_format=memory_format)
    return aten.uniform_(made, 0.0, 1.0, generator=generator)


@composite("randn_like.generator")
def randn_like(
    self: Any, generator: Any, dtype: dt.dtype | None, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> Any:
    kind = dtype or self.dtype
    if _is_drawn_alike(self, device, memory_format):
        return _cast_draws(stream_of(generator).normal(self._array.shape, kind.np), kind)
    made = aten.empty_like(self, dtype=dtype, device=device, memory_format=memory_format)
    return aten.normal_(made, 0.0, 1.0, generator=generator)


@composite("randint_like.low_generator_dtype")
def randint_like_low(
    self: Any,
    low: int,
    high: int,
    generator: Any,
    dtype: dt.dtype | None,
    layout: Any,
    device: Any,
    pin_memory: Any,
    memory_format: Any,
) -> Any:
    made = aten.empty_like(self, dtype=dtype, device=device, memory_format=memory_format)
    return aten.random_(made, low, high, generator=generator)


@composite("randint_like.generator")
def randint_like(
    self: Any,
    high: int,
    generator: Any,
    dtype: dt.dtype | None,
    layout: Any,
    device: Any,
    pin_memory: Any,
    memory_format: Any,
) -> Any:
    return randint_like_low(self, 0, high, generator, dtype, layout, device, pin_memory, memory_format)


@composite("bernoulli")
def bernoulli(self: Any, generator: Any) -> Any:
    if _observer.active is None and self._keys & DEVICES == CPU:
        return _cast_draws(stream_of(generator).bernoulli_array(self._array, self._array.dtype), self.dtype)
    return aten.bernoulli_(aten.empty_like(self, memory_format=contiguous_format), self, generator=generator)


@composite("bernoulli.p")
def bernoulli_p(self: Any, p: float, generator: Any) -> Any:
    return aten.bernoulli_(aten.empty_like(self, memory_format=contiguous_format), p, generator=generator)


# --- dropout
def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


def _feature_shape(input: Any) -> list[int]:
    """One element per example and channel."""
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return [*shape[:2], *[1] * (len(shape) - 2)]


def _mask(input: Any, p: float, by_feature: bool) -> Any:
    """Ones where a value is kept, zeros elsewhere."""
    if _observer.active is None and input._keys & CPU and (by_feature or input._array.flags.c_contiguous):
        shape = _feature_shape(input) if by_feature else input._array.shape
        return _cast_draws(stream_of(None).bernoulli_scalar(shape, input._array.dtype, 1 - p), input.dtype)
    made = aten.new_empty(input, _feature_shape(input)) if by_feature else aten.empty_like(input)
    return aten.bernoulli_(made, 1 - p)


def _dropout(input: Any, p: float, train: bool, *, by_feature: bool, alpha: bool, inplace: bool) -> Any:
    _check_probability(p)
    if p == 0 or not train or not input._array.size:
        return input
    multiply, add = (aten.mul_, aten.add_) if inplace else (aten.mul, aten.add_)
    if p == 1:
        return multiply(input, aten.zeros((), dtype=input.dtype, device=input.device))
    noise = _mask(input, p, by_feature)
    if not alpha:
        return multiply(input, aten.div_(noise, 1 - p))
    scale = 1.0 / ((_SELU_LIMIT * _SELU_LIMIT * p + 1) * (1 - p)) ** 0.5
    shift = aten.mul_(aten.add(noise, -1), _SELU_LIMIT * scale)
    shift = aten.add_(shift, _SELU_LIMIT * scale * p)
    return add(multiply(input, aten.mul_(noise, scale)), shift)


def _register_dropout(name: str, by_feature: bool, alpha: bool) -> None:
    @composite(name)
    def functional(input: Any, p: float, train: bool) -> Any:
        return _dropout(input, p, train, by_feature=by_feature, alpha=alpha, inplace=False)

    @composite(f"{name}_")
    def inplace(self: Any, p: float, train: bool) -> Any:
        return _dropout(self, p, train, by_feature=by_feature, alpha=alpha, inplace=True)


for _name, _by_feature, _alpha in (
    ("dropout", False, False),
    ("feature_dropout", True, False),
    ("alpha_dropout", False, True),
    ("feature_alpha_dropout", True, True),
):
    _register_dropout(_name, _by_feature, _alpha)


@composite("native_dropout")
def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    if not input._array.size:
        return input, aten.empty_like(input)
    if train is False:
        return aten.clone(input), aten.ones_like(input, dtype=dt.bool_)
    _check_probability(p)
    mask = aten.bernoulli_(aten.empty_like(input, dtype=dt.bool_), 1 - p)
    return aten.mul_(aten.mul(input, mask), 0.0 if p == 1 else 1.0 / (1 - p)), mask


@composite("native_dropout_backward")
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    return aten.mul(aten.mul(grad_output, mask), scale)
