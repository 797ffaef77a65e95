"""From an op and a device to the function that runs it: a composite, or what the device's backend makes of the op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _accelerators, _device, _observer
from .._keys import ACCELERATORS, CPU, META
from .._ops.table import Op
from .._tensor import DEVICE_OF_KEY, Tensor
from . import modes
from .families import load_family
from .loading import call_as_loading
from .on_arrays import on_arrays
from .outputs import counting_from_zero, flat_tensors
from .plan import plan_of
from .registry import COMPOSITES, KERNELS, STEPS, STEPWISE
from .steps import with_steps

Boxed = Callable[..., Any]
Boxer = Callable[[Op], Boxed]
# key of a device -> its backend's way of boxing an op; backends put themselves here
device_boxers: dict[int, Boxer] = {}
_HOST_OPERANDS = ("_pack_padded_sequence", "_pack_padded_sequence_backward")  # lengths are read by the host


def box(op: Op, key: int) -> Boxed:
    """What the backend of a device makes of an op: a function of tensors."""
    return device_boxers[key](op)


def backend_kernel(op: Op, key: int, args: tuple[Any, ...]) -> Boxed:
    """The boxed kernel of `op` for the device bits `key`; remembered for the next call."""
    boxed: Boxed = call_as_loading(op.event, _find_kernel, op, key, args)
    return boxed


def prepare(op: Op) -> None:
    """Finds an op's kernel of the CPU, if there is one, so that no call is the first to look for it."""
    source = op.inplace_of
    names = (op.name,) if source is None else (op.name, source.name)
    if CPU not in op.backends and any(name in KERNELS or name in COMPOSITES for name in names):
        _find_kernel(op, CPU, ())


def _find_kernel(op: Op, key: int, args: tuple[Any, ...]) -> Boxed:
    load_family(op.family)
    op.is_composite = op.name in COMPOSITES
    if op.is_composite:
        boxed: Boxed = COMPOSITES[op.name]
    elif key in device_boxers:
        boxed = box(op, key)
    elif key == 0 and any(p.is_tensor and p.is_list for p in op.schema.params):
        return box(op, CPU)  # an empty list: the kernel says what is wrong with it
    elif key == 0:
        raise NotImplementedError(f"{op.event} got no tensor and no device, so no kernel can be chosen")
    else:
        return _mixed_devices(op, key, args)
    if op.name in STEPWISE:
        boxed = _in_steps(STEPWISE[op.name], boxed, key in (CPU, META) or getattr(boxed, "wants_steps", False))
    if plan_of(op).makes_new:
        boxed = counting_from_zero(boxed, plan_of(op).below_autograd or not op.is_composite)
    if op.name in STEPS and not op.is_composite:
        boxed = with_steps(STEPS[op.name], boxed, allocates=not (op.is_view or op.writes))
    if key == CPU:
        boxed = on_arrays(plan_of(op), boxed)
    op.backends[key] = boxed
    return boxed


def _in_steps(steps: Boxed, kernel: Boxed, always: bool) -> Boxed:
    """The kernel as the middle of a function that calls other ops, which record no gradients; the kernel alone while
    nobody watches, unless the steps are wanted always.
    """

    def boxed(*args: Any) -> Any:
        if _observer.active is None and not always:
            return kernel(*args)
        return modes.call_with_grad(False, steps, kernel, *args)

    return boxed


# --- several devices
def _mixed_devices(op: Op, key: int, args: tuple[Any, ...]) -> Boxed:
    """Numbers wrapped as 0-dim CPU tensors travel to the other device; any other mixture is an error."""
    tensors = flat_tensors(args)
    others = key & ~CPU
    movable = all(t._array.ndim == 0 for t in tensors if t._keys & CPU)
    if (
        key & CPU
        and others in device_boxers
        and movable
        and not (op.writes and tensors[0]._keys & CPU)
        and op.base != "copy_"
    ):
        target = next(t.device for t in tensors if t._keys & others)
        inner = op.backends.get(others) or backend_kernel(op, others, args)
        return lambda *given: inner(*[x.to(target) if isinstance(x, Tensor) and x._keys & CPU else x for x in given])
    device = key & ACCELERATORS
    if op.base == "copy_" and device & (device - 1):
        return _copy_over_the_host
    if op.base == "copy_" or (key == CPU | device and op.name in _HOST_OPERANDS):
        return box(op, device or META)
    names = list(dict.fromkeys(str(t.device) for t in tensors))
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {names[0]} and {names[1]}!"
    )


def _copy_over_the_host(target: Tensor, source: Tensor, non_blocking: bool) -> Tensor:
    """A copy between two accelerators that do not know each other."""
    copied: Tensor = target.copy_(source.cpu(), non_blocking)
    return copied


def key_of_device(device: _device.device) -> int:
    """The key bit of a device that can be used; RuntimeError says what an unusable one lacks."""
    if device.type == "cpu":
        return CPU
    if device.type == "meta":
        return META
    key = _accelerators.key_of(device.type)
    if key not in device_boxers:
        backend = _accelerators.activate_backend(device.type)
        DEVICE_OF_KEY[key] = _device.device(device.type, 0)
        device_boxers[key] = backend.box
    return key
