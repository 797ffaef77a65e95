"""Helpers of export functions, by name: `parse_args` decorates, all others raise when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._refusals import refusals

__all__ = ["parse_args"]
_HELPERS = frozenset(
    {
        "_get_const",
        "_get_tensor_rank",
        "_get_tensor_sizes",
        "_is_none",
        "_is_tensor",
        "_is_value",
        "_maybe_get_const",
        "_maybe_get_scalar",
        "_onnx_opset_unsupported_detailed",
        "_onnx_unsupported",
        "_repeat_interleave_split_helper",
        "_reshape_helper",
        "_unimplemented",
        "cast_pytorch_to_onnx",
        "scalar_type_to_onnx",
    }
)
__getattr__ = refusals("torch.onnx.symbolic_helper", _HELPERS.__contains__)


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that notes what an export function wants of its arguments, and gives the function itself: nobody
    calls it.

    >>> from mindtorch_v2.onnx.symbolic_helper import parse_args
    >>> @parse_args("v", "i")
    ... def mine(g, x, dim): ...
    >>> mine._arg_descriptors
    ['v', 'i']
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function._arg_descriptors = list(arg_descriptors)  # type: ignore[attr-defined]
        return function

    return decorate
