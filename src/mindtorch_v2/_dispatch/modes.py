"""State that changes how calls travel: gradient mode, observer, special modes.

All of it is summed up in one integer, `SPACE["_mode"]`, which the generated call functions read as a global. While it is
zero, an operation on plain tensors does nothing but run its kernel. Per-thread state is asked for only when a bit says
that some thread deviates from the default.
"""
from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _observer
from .._storage import native
from .keys import NO_GRAD, OBSERVED, OUTPUTS, SPECIAL

# _obs: how to report to the observer, see `Seen`; _watch: what reports a fresh tensor's memory. Both None without an observer.
SPACE: dict[str, Any] = {"_mode": 0, "_obs": None, "_watch": None}
sequence: list[int] = [0]  # the number that the next autograd node gets
_lock = threading.RLock()  # a finaliser may change modes while its thread does
_no_grad_threads = 0
_special_users = 0


class _ThreadState(threading.local):
    grad = True                     # gradients are recorded
    inference = False
    anomaly = False
    check_nan = True
    saved_hooks: tuple[Any, ...] = ()   # stack of (pack, unpack)


state = _ThreadState()
SPACE["_state"] = state


def _set_bit(bit: int, on: bool) -> None:
    SPACE["_mode"] = SPACE["_mode"] | bit if on else SPACE["_mode"] & ~bit


def grad_enabled() -> bool:
    return state.grad


def set_grad(enabled: bool) -> bool:
    """Sets the calling thread's gradient mode and returns the one before."""
    global _no_grad_threads
    before = state.grad
    if before is not enabled:
        state.grad = enabled
        with _lock:
            _no_grad_threads += -1 if enabled else 1
            _set_bit(NO_GRAD, _no_grad_threads > 0)
    return before


if native is not None:              # the same, but nothing can interrupt it
    native.keep_modes(SPACE, state)
    _set_bit, set_grad = native.set_bit, native.swap_grad


def use_special(on: bool) -> None:
    """Counts users of the modes that need the general path (inference mode, anomaly mode, saved-tensor hooks)."""
    global _special_users
    with _lock:
        _special_users += 1 if on else -1
        _set_bit(SPECIAL, _special_users > 0)


def install_observer(observer: _observer.Observer) -> None:
    """Puts an observer into the slot; from now on every call reports to it. Called again when what it watches changes."""
    with _lock:
        _observer.active = observer
        SPACE["_obs"] = _seen(observer)
        SPACE["_watch"] = _memory_watch(observer) if observer.watches_memory else None
        if native is not None:
            native.observe(observer, SPACE["_obs"])
        _set_bit(OUTPUTS, bool(observer.watches_outputs))
        _set_bit(OBSERVED, True)


def remove_observer() -> None:
    with _lock:
        _observer.active = SPACE["_obs"] = SPACE["_watch"] = None
        _set_bit(OBSERVED | OUTPUTS, False)
        if native is not None:
            native.observe(None, None)


class Seen(NamedTuple):
    """An observer's methods, bound once: looking them up costs as much as calling them. `run(op, args, number, function,
    *arguments)` calls a function inside an operator's event; `mark(op, args, op, args, ...)` reports operators that have nothing
    to do. Observers that lack these two are spared having to write them."""

    enter: Callable[..., None]
    leave: Callable[[], None]
    run: Callable[..., Any]
    mark: Callable[..., None]
    observer: Any


def _seen(observer: Any) -> Seen:
    enter, leave = observer.enter_op, observer.leave

    def run(op: Any, args: tuple[Any, ...], number: int, function: Callable[..., Any], *arguments: Any) -> Any:
        enter(op, args, number)
        try:
            return function(*arguments)
        finally:
            leave()

    def mark(*calls: Any) -> None:
        for i in range(0, len(calls), 2):
            enter(calls[i], calls[i + 1], -1)
            leave()

    return Seen(enter, leave, getattr(observer, "run_op", run), getattr(observer, "mark_ops", mark), observer)


def _memory_watch(observer: _observer.Observer) -> Any:
    """What reports a fresh tensor's memory: the observer's own way, where it has one."""
    own = getattr(observer, "watch", None)
    if own is not None:
        return own
    from .._storage import watch
    return lambda tensor: watch(tensor, observer)


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()  # the parent may have held it


os.register_at_fork(after_in_child=_after_fork_in_child)
