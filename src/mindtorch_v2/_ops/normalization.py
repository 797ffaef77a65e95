"""Declarations of the normalizations: by layer, batch, group, instance, root mean square."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import _dtype as dt
from .movement_shapes import format_of
from .rules import Spec
from .table import op

Ints = Sequence[int]


# --- checks that kernels and output rules share
def check_normalized_shape(shape: Ints, normalized_shape: Ints, star: str = "*, ", **parameters: Any) -> int:
    """The first normalized dimension; RuntimeError as PyTorch words it where shapes do not fit (`star` is its
    any-shape).
    """
    want = list(normalized_shape)
    if not want:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, given in parameters.items():
        if given is not None and list(given.shape) != want:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(given.shape)} and normalized_shape = {want}"
            )
    axis = len(shape) - len(want)
    if axis < 0 or list(shape[axis:]) != want:
        raise RuntimeError(
            f"Given normalized_shape={want}, expected input with shape [{star}{', '.join(map(str, want))}], but got "
            f"input of size{list(shape)}"
        )
    return axis


def check_channels(channels: int, training: bool, **parameters: Any) -> None:
    """RuntimeError if a batch norm's parameter does not have one element per channel, or a needed one is missing."""
    for name, given in parameters.items():
        if given is not None:
            shape = given.shape
            if len(shape) == 1 and shape[0] == channels:
                continue
            count = 1
            for n in shape:
                count *= n
            if count != channels:
                raise RuntimeError(f"{name} should contain {channels} elements not {count}")
        elif not training and name.startswith("running"):
            raise RuntimeError(f"{name} must be defined in evaluation mode")


def check_groups(shape: Ints, num_groups: int, weight: Any, bias: Any) -> None:
    """An error if channels do not fall into that many groups, or a parameter does not fit the channels."""
    if len(shape) < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-len(shape) or -1}, {max(len(shape) - 1, 0)}], "
            "but got 1)"
        )
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={num_groups}"
        )
    for name, given in (("weight", weight), ("bias", bias)):
        if given is not None and tuple(given.shape) != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(weight.shape if weight is not None else given.shape)} and input of shape {list(shape)}"
            )


# --- output rules
def _statistics_type(input: Any, *parameters: Any) -> dt.dtype:
    """Statistics are kept in the type of the parameters, which may be wider than the input's."""
    return next((p.dtype for p in parameters if p is not None), input.dtype)


def _layer(input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float) -> tuple[Spec, ...]:
    axis = check_normalized_shape(input.shape, normalized_shape, weight=weight, bias=bias)
    one = Spec((*input.shape[:axis], *(1,) * len(normalized_shape)), _statistics_type(input, weight, bias))
    return Spec(tuple(input.shape), input.dtype), one, one


def _batch(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> tuple[Spec, ...]:
    channels = input.shape[1] if input.dim() > 1 else 0
    check_channels(channels, training, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    one = Spec((channels if training else 0,), _statistics_type(input, weight, bias, running_mean))
    return Spec(tuple(input.shape), input.dtype, format_of(tuple(input.shape), input)), one, one


def _group(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> tuple[Spec, ...]:
    one = Spec((N, group), _statistics_type(input, weight, bias))
    return Spec(tuple(input.shape), input.dtype, format_of(tuple(input.shape), input)), one, one


def _specs_by_mask(
    output_mask: Sequence[bool], input: Any, shape: Ints, dtype: dt.dtype, formed: bool = False
) -> tuple[Any, ...]:
    """Specs of the gradients of input, weight and bias that are asked for."""
    parameter = Spec(tuple(shape), dtype)
    specs = (
        Spec(tuple(input.shape), input.dtype, format_of(tuple(input.shape), input) if formed else None),
        parameter,
        parameter,
    )
    return tuple(s if wanted else None for s, wanted in zip(specs, output_mask))


def _layer_backward(
    grad_out: Any,
    input: Any,
    normalized_shape: Ints,
    mean: Any,
    rstd: Any,
    weight: Any,
    bias: Any,
    output_mask: Sequence[bool],
) -> tuple[Any, ...]:
    return _specs_by_mask(output_mask, input, normalized_shape, _statistics_type(input, weight, bias))


def _batch_backward(
    grad_out: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Any, ...]:
    return _specs_by_mask(output_mask, input, input.shape[1:2], _statistics_type(input, weight), formed=True)


def _group_backward(
    grad_out: Any,
    input: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Any, ...]:
    return _specs_by_mask(output_mask, input, (C,), _statistics_type(input, weight))


_backward = partial(op, function=False, method=False)

# --- layer
op(
    "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
    "bool cudnn_enable=True) -> Tensor",
    method=False,
)
op(
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) "
    "-> (Tensor, Tensor, Tensor)",
    meta=_layer,
    method=False,
)
_backward(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, "
    "Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    meta=_layer_backward,
)

# --- batch and instance
_BATCH = "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var"
op(f"batch_norm({_BATCH}, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor", method=False)
op(
    f"_batch_norm_impl_index({_BATCH}, bool training, float momentum, float eps, bool cudnn_enabled) "
    "-> (Tensor, Tensor, Tensor, Tensor, int)",
    method=False,
)
op(
    f"native_batch_norm({_BATCH}, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    meta=_batch,
    method=False,
    out=True,
)
op(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) "
    "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    method=False,
)
op(
    "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    method=False,
)
op(
    "_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) "
    "running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    function=False,
    method=False,
)
_backward(
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? "
    "running_var, "
    "Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    meta=_batch_backward,
)
op(
    f"instance_norm({_BATCH}, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    method=False,
)

# --- group
op(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
    "cudnn_enabled=True) -> Tensor",
    method=False,
)
op(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float "
    "eps) -> (Tensor, Tensor, Tensor)",
    meta=_group,
    method=False,
)
_backward(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, "
    "SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    meta=_group_backward,
)

# --- root mean square
op("rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", method=False)
op(
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
    method=False,
)
