"""`out=`: the result is written into tensors that the caller gives."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._ops.rules import Spec
from .._ops.table import Op, find
from .._quiet import copyto
from .._tensor import Tensor, bump_version
from . import modes
from .keys import DEVICES, META, NPU
from .resolve import check_result_type, device_boxers, flat_tensors, meta_array


def call_with_out(op: Op, call: Any, args: tuple[Any, ...], out: Any) -> Any:
    """Calls the op and writes its result(s) into `out`, which is returned."""
    targets = [out] if isinstance(out, Tensor) else list(out)
    if modes.grad_enabled() and any(t.requires_grad for t in flat_tensors((*args, *targets))):
        raise RuntimeError(f"{op.base}(): functions with out=... arguments don't support automatic differentiation, but one of "
                           "the arguments requires grad.")
    positional = [a for a, p in zip(args, op.schema.params) if not p.keyword_only]
    keywords = {p.name: a for a, p in zip(args, op.schema.params) if p.keyword_only}
    result = call(*positional, **keywords)
    made = [result] if isinstance(result, Tensor) else list(result)
    for r, t in zip(made, targets):
        check_result_type(r.dtype, t.dtype)
    for r, t in zip(made, targets):
        write_into(t, r)
    return out


def write_into(target: Tensor, result: Tensor) -> None:
    """Copies a result into a tensor, giving it memory of the right shape if it has another one."""
    array = result._a
    if target._ks & DEVICES != result._ks & DEVICES:
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {target.device} instead")
    if target._a.shape != array.shape:
        if target._a.size:
            warnings.warn(f"An output with one or more elements was resized since it had shape {list(target._a.shape)}, which does "
                          f"not match the required output shape {list(array.shape)}. This behavior is deprecated, and in a "
                          "future PyTorch release outputs will not be resized unless they have zero elements. You can explicitly "
                          "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).", stacklevel=4)
        target._a = _memory(target, array.shape, result.device)
    if target._ks & NPU:
        target._dev = result._dev
        device_boxers[NPU](find("copy_"))(target, result, False)
        return
    if not target._ks & META:
        copyto(target._a, array, casting="unsafe")
    bump_version(target)


def _memory(target: Tensor, shape: tuple[int, ...], device: Any) -> np.ndarray:
    """Uninitialised memory of another shape, of the kind that the target has."""
    if target._ks & META:
        return meta_array(Spec(shape, target.dtype))
    if target._ks & NPU:
        return device_boxers[NPU](find("empty.memory_format"))(shape, target.dtype, None, device, None, None)._a
    return np.empty(shape, target.dtype.np)
