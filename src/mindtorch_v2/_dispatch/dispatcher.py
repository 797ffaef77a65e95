"""The general path of a call: observe it, record it for autograd, run the kernel of its device.

Generated call functions (codegen.py) run the common cases themselves and come here for all others.
"""
from __future__ import annotations

from typing import Any

from .. import _observer
from .._ops.table import Op
from . import modes
from .keys import DEVICES, GRAD, INFERENCE, NO_GRAD, OBSERVED, SPECIAL
from .resolve import backend_kernel, mark_inference, watch_outputs

state = modes.state
sequence = modes.sequence


def is_enabled() -> bool:
    """Whether an observer watches the process."""
    return _observer.active is not None


def record_op_start(observer: _observer.Observer, op: Op, args: tuple[Any, ...]) -> None:
    """Opens the op's event. Calls below autograd, or without gradients, carry no sequence number."""
    observer.enter_op(op, args, sequence[0] if state.grad else -1)


def record_op_end(observer: _observer.Observer) -> None:
    """Closes the innermost event of this thread."""
    observer.leave()


def dispatch_with_keyset(op: Op, keyset: int, args: tuple[Any, ...]) -> Any:
    """Runs one op. `args` stand in schema order; `keyset` is the union of the tensors' keys and the mode word."""
    observer = _observer.active
    if observer is None:
        return _run_kernel(op, keyset, args)
    record_op_start(observer, op, args)
    try:
        out = _run_kernel(op, keyset, args)
        if observer.watches_outputs:
            observer.outputs(out)
        return out
    finally:
        record_op_end(observer)


def _run_kernel(op: Op, keyset: int, args: tuple[Any, ...]) -> Any:
    if keyset & NO_GRAD and not state.grad:
        keyset &= ~GRAD
    kernel = op.backends.get(keyset & DEVICES) or backend_kernel(op, keyset & DEVICES, args)
    if op.derivative is not None and keyset & GRAD:
        out = op.derivative.forward(op, keyset, kernel, args)
    elif op.derivative is not None and op.is_composite and keyset & OBSERVED:
        out = run_below_autograd(kernel, args)
    else:
        out = kernel(*args)
    observer = _observer.active
    if observer is not None and observer.watches_memory and not op.is_composite:
        watch_outputs(op, out, observer)
    if keyset & (SPECIAL | INFERENCE) and state.inference:
        mark_inference(op, out)
    return out


def run_below_autograd(kernel: Any, args: tuple[Any, ...]) -> Any:
    """Runs an op that is made of others but has a derivative of its own: its parts do not record."""
    before = modes.set_grad(False)
    try:
        return kernel(*args)
    finally:
        modes.set_grad(before)
