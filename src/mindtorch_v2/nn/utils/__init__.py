"""Helpers for training networks: clipping, vectors of parameters, sequences, parametrizations."""

from __future__ import annotations

from typing import Any

from ..._lazy_parts import lazy_parts as _lazy_parts
from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "fusion",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]

# they need the layers, which need this package


__getattr__, __dir__ = _lazy_parts(
    __name__,
    ("_named_member_accessor", "memory_format", "parametrizations", "parametrize", "fusion", "prune", "stateless"),
    dict.fromkeys(
        ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
        "nn.utils.fusion",
    )
    | dict.fromkeys(
        ("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"), "nn.utils.memory_format"
    ),
)


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters are allocated but not given initial values.

    >>> nn.utils.skip_init(nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
