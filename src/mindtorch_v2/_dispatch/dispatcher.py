"""The general path of a call: observe it, record it for autograd, run the kernel of its device.

The Python executor (call.py) comes here with every call, the native one with what it does not do itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import _observer
from .._keys import DEVICES, GRAD, INFERENCE, NO_GRAD, OBSERVED, SPECIAL
from .._ops.table import Op
from . import autocast, below, modes
from .outputs import mark_inference, watch_outputs
from .resolve import backend_kernel

state = modes.state
sequence = modes.sequence
SPACE = modes.SPACE


def is_enabled() -> bool:
    """Whether an observer watches the process."""
    return _observer.active is not None


def dispatch_with_keyset(op: Op, keyset: int, args: tuple[Any, ...]) -> Any:
    """Runs one op. `args` stand in schema order; `keyset` is the union of the tensors' keys and the mode word."""
    observer = _observer.active
    if observer is None:
        return _run_kernel(op, keyset, args)
    # Calls that cannot need a node carry no sequence id. The thread's own state is slow to read, so the mode word
    # comes first.
    without = (
        SPACE["_mode"] & NO_GRAD
        and not state.grad
        or not op.has_sequence_id
        or keyset & INFERENCE
        and _are_inference(op, args)
    )
    sequence_id = -1 if without else sequence[0]
    position = op.generator_position
    if position < 0 or args[position] is not None:
        return modes.call_in_event(observer, op, args, sequence_id, _run_kernel, op, keyset, args)
    return modes.call_in_event(
        observer, op.unseeded, args[:position] + args[position + 1 :], sequence_id, _run_kernel, op, keyset, args
    )


def dispatch_below_autograd(op: Op, keyset: int, args: tuple[Any, ...]) -> Any:
    """Runs a factory that a program calls by its public name. PyTorch's Python functions enter those below autograd,
    so neither the call nor its steps carry a sequence id; called from within other operators they do.
    """
    return modes.call_with_grad(False, dispatch_with_keyset, op, keyset | NO_GRAD, args)


def _are_inference(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether every tensor among the arguments was made in inference mode: no graph contains such tensors."""
    given = [args[i] for i, p in enumerate(op.schema.params) if p.is_tensor]
    tensors = [t for x in given for t in (x if isinstance(x, (list, tuple)) else (x,)) if hasattr(t, "_keys")]
    return all(t._keys & INFERENCE for t in tensors)


def _run_kernel(op: Op, keyset: int, args: tuple[Any, ...]) -> Any:
    if keyset & SPECIAL and state.autocast is not None:
        return autocast.run(op, keyset, args, _run_uncast, dispatch_with_keyset)
    return _run_uncast(op, keyset, args)


def _run_uncast(op: Op, keyset: int, args: tuple[Any, ...]) -> Any:
    if keyset & SPECIAL and state.batching is not None and op.family == "random":
        return state.batching(op, args, partial(_run_once, op, keyset, args))
    return _run_once(op, keyset, args)


def _run_once(op: Op, keyset: int, args: tuple[Any, ...]) -> Any:
    if keyset & NO_GRAD and not state.grad:
        keyset &= ~GRAD
    if (keyset & SPECIAL or SPACE["_dispatching"]) and below.takes_over(args):
        kernel = below.kernel_of(op)
    else:
        kernel = op.backends.get(keyset & DEVICES) or backend_kernel(op, keyset & DEVICES, args)
    observer = _observer.active
    if observer is not None and observer.watches_memory and not op.is_composite:
        out = observer.run_kernel(partial(_run_chosen, op, keyset, kernel), args, partial(watch_outputs, op, observer))
    else:
        out = _run_chosen(op, keyset, kernel, *args)
    if keyset & (SPECIAL | INFERENCE) and state.inference:
        mark_inference(op, out)
    return out


def _run_chosen(op: Op, keyset: int, kernel: Any, *args: Any) -> Any:
    if op.derivative is not None and keyset & GRAD:
        return op.derivative.forward(op, kernel, args)
    if op.is_composite and keyset & OBSERVED and (op.derivative is not None or op.is_opaque):
        return run_below_autograd(kernel, args)
    return kernel(*args)


def run_below_autograd(kernel: Any, args: tuple[Any, ...]) -> Any:
    """Runs an op that is made of others but has a derivative of its own: its parts do not record."""
    return modes.call_with_grad(False, kernel, *args)
