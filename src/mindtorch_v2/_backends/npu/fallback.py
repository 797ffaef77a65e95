"""What the device cannot do runs on the CPU: arguments are copied there and results back, and one warning names the
op.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ... import _device
from ..._dispatch.outputs import flat_tensors
from ..._dispatch.registry import COMPOSITES
from ..._ops.table import Op
from ..._tensor import Tensor
from ..cpu.boxing import box as box_cpu
from . import copies
from .copies import NPU, to_device, to_host

Boxed = Callable[..., Any]
# beside the first argument
_WRITTEN_ASIDE = {"native_batch_norm": (3, 4), "rrelu_with_noise": (1,), "rrelu_with_noise_": (1,)}
_PACKAGE = __name__.partition(".")[0]
_warned: set[str] = set()


def placement(op: Op) -> Callable[[Sequence[Any]], _device.device]:
    """Finds the device of a call, from its tensors or its `device` argument.

    Tensors on several devices are an error.
    """
    where = next((i for i, p in enumerate(op.schema.params) if p.name == "device"), -1)
    singles = [i for i, p in enumerate(op.schema.params) if p.is_tensor and not p.is_list]
    lists = [i for i, p in enumerate(op.schema.params) if p.is_tensor and p.is_list]

    def find_device(args: Sequence[Any]) -> _device.device:
        found: _device.device | None = None
        for t in (args[i] for i in singles) if not lists else flat_tensors(args):
            if isinstance(t, Tensor) and t._keys & NPU:
                device = t._device
                if found is None:
                    found = device
                elif device is not found and device != found:
                    raise RuntimeError(
                        "Expected all tensors to be on the same device, but found at least two devices, "
                        f"{found} and {device}!"
                    )
        if found is None:
            found = _device.resolve(args[where] if where >= 0 else "npu")
        return found

    return find_device


def fallback(op: Op, why: str) -> Boxed:
    """Runs the op on the CPU: arguments are copied there and results back."""
    written = {0} if op.writes else set()
    written |= set(_WRITTEN_ASIDE.get(op.name, ()))
    cpu: list[Boxed] = []
    device_of = placement(op)

    def move(x: Any) -> Any:
        if isinstance(x, Tensor):
            return to_host(x) if x._keys & NPU else x
        return [move(v) for v in x] if x.__class__ in (list, tuple) and any(isinstance(v, Tensor) for v in x) else x

    def boxed(*args: Any) -> Any:
        device = device_of(args)
        _tell(op, why)
        if not cpu:
            cpu.append(COMPOSITES.get(op.name) or box_cpu(op))
        given: list[Any] = [_device.CPU if isinstance(x, _device.device) else move(x) for x in args]
        result = cpu[0](*given)
        for i in written:
            if isinstance(args[i], Tensor) and args[i]._keys & NPU:
                copies.copy_(args[i], given[i], False)
        return _to_device(args, given, result, device)

    return boxed


def _to_device(args: Sequence[Any], given: Sequence[Any], result: Any, device: Any) -> Any:
    """The results on the device; an argument that was written stands for itself."""
    if isinstance(result, Tensor):
        for a, g in zip(args, given):
            if g is result:
                return a
        return to_device(result._array, result.dtype, device)
    if result.__class__ in (list, tuple) or isinstance(result, tuple):
        made = [_to_device(args, given, r, device) for r in result]
        return made if result.__class__ is list else tuple(made) if result.__class__ is tuple else type(result)(*made)
    return result


def _tell(op: Op, why: str) -> None:
    """Warns once per op; with MINDTORCH_NPU_FALLBACK=error it is an error."""
    if os.environ.get("MINDTORCH_NPU_FALLBACK", "") == "error":
        raise NotImplementedError(
            f"{op.event} ({op.name}) cannot run on the NPU: {why}; MINDTORCH_NPU_FALLBACK=error forbids the CPU"
        )
    if op.name not in _warned:
        _warned.add(op.name)
        level, frame = 1, sys._getframe(0)
        while frame.f_back is not None and (
            frame.f_code.co_filename.startswith(f"<{_PACKAGE} op")
            or (frame.f_globals.get("__name__") or "").partition(".")[0] == _PACKAGE
        ):
            level, frame = level + 1, frame.f_back
        warnings.warn(
            f"{op.event} ({op.name}) runs on the CPU, with copies from and to the NPU: {why}",
            UserWarning,
            stacklevel=level,
        )
