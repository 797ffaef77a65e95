"""State that changes how calls travel: gradient mode, observer, special modes.

All of it is summed up in one integer, `SPACE["_mode"]`, which every call reads. While it is zero, an operation on
plain tensors does nothing but run its kernel. Per-thread state is asked for only when a bit says that some thread
deviates from the default.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _observer
from .._keys import NO_GRAD, OBSERVED, OUTPUTS, SPECIAL
from .._storage import native

SPACE: dict[str, Any] = {"_mode": 0}
sequence: list[int] = [0]  # the sequence id of the next autograd node
_lock = threading.RLock()  # a finaliser may change modes while its thread does


class _ThreadState(threading.local):
    grad = True  # gradients are recorded
    inference = False
    anomaly = False
    check_nan = True
    saved_hooks: tuple[Any, ...] = ()  # stack of (pack, unpack)
    saved_hooks_error: str | None = None  # why such hooks may not be set now
    after_pass: list[Any] | None = None  # what is called when the running backward pass ends
    autocast: Any = None  # an autocast.Setting while the thread is in an autocast region
    batching: Any = None  # under vmap: runs random operators whose arguments are not batched
    autocast_depth = 0  # how many regions it is in
    # casts of weights that are kept until the outermost one ends; replaced, never changed where empty
    autocast_casts: Any = {}
    autocast_raised: Any = None  # holds SPECIAL while casting is switched on outside of any region
    subclasses_are_plain = False  # subclasses of Tensor are not asked: see overrides.py
    function_modes: tuple[Any, ...] = ()  # stack of TorchFunctionMode: see overrides.py
    dispatch_modes: tuple[Any, ...] = ()  # stack of TorchDispatchMode: see below.py


state = _ThreadState()
SPACE["_state"] = state


def _set_bit(bit: int, on: bool) -> None:
    SPACE["_mode"] = SPACE["_mode"] | bit if on else SPACE["_mode"] & ~bit


def grad_enabled() -> bool:
    return state.grad


# --- changes that last for a call or a block
# ----------------------------------------------------------------------------- An interrupt may come anywhere, also
# between the lines that put things back. In C nothing comes between; here, everything can be done twice, and is:
# whatever one interrupt prevents is done by the second attempt.
_threads_without_grad: set[int] = set()
# whoever is in a special mode (inference mode, anomaly mode, saved-tensor hooks)
_special_users: list[object] = []


def _settle() -> None:
    """Makes the mode word say what the registers say."""
    call_locked(_lock, _settle_locked)


def _settle_locked() -> None:
    _set_bit(NO_GRAD, bool(_threads_without_grad))
    _set_bit(SPECIAL, bool(_special_users))


def set_grad(enabled: bool) -> bool:
    """Sets the calling thread's gradient mode and returns the one before."""
    before = state.grad
    _set_state({"grad": enabled})
    return before


def _set_state(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(state, name, value)
    thread = threading.get_ident()
    (_threads_without_grad.discard if state.grad else _threads_without_grad.add)(thread)
    if state.anomaly and ("anomaly", thread) not in _special_users:
        _special_users.append(("anomaly", thread))
    elif not state.anomaly and ("anomaly", thread) in _special_users:
        _special_users.remove(("anomaly", thread))
    _settle()


def call_with_grad(enabled: bool, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function while the thread records gradients or does not; afterwards it is as before, whatever
    happened.
    """
    before = state.grad
    if before is enabled:
        return function(*args, **kwargs)
    try:
        try:
            _set_state({"grad": enabled})
            return function(*args, **kwargs)
        finally:
            _set_state({"grad": before})
    finally:
        _set_state({"grad": before})


def call_in_scope(
    observer: _observer.Observer, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Calls a function inside a scope that the observer sees."""
    observer.enter_scope(name, None)
    try:
        return function(*args, **kwargs)
    finally:
        observer.leave()


def call_in_event(
    observer: _observer.Observer,
    op: Any,
    args: tuple[Any, ...],
    sequence_id: int,
    function: Callable[..., Any],
    *arguments: Any,
    **keywords: Any,
) -> Any:
    """Calls a function inside the event of an operator. `args` are what the observer is told of its arguments."""
    observer.enter_op(op, args, sequence_id)
    try:
        out = function(*arguments, **keywords)
        if observer.watches_outputs:
            observer.outputs(out)
        return out
    finally:
        observer.leave()


def call_locked(lock: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function while a lock is held."""
    held: list[bool] = []
    try:
        try:
            held.append(lock.acquire())
            return function(*args, **kwargs)
        finally:
            if held:
                held.pop(), lock.release()  # noqa: E701, B018 - on one line, so that no interrupt comes between
    finally:
        if held:
            held.pop(), lock.release()  # noqa: E701, B018


class _Switch:
    """A block in which attributes of the thread's state differ: `_changes` says which, `_special` whether calls take
    the general path meanwhile. Hooks for saved tensors are added to those in force, unless the change is to none.
    """

    _changes: Mapping[str, Any]
    _special: bool
    before: dict[str, Any] = {}

    def _begin(self, token: object) -> None:
        _set_state({n: (*state.saved_hooks, *v) if n == "saved_hooks" and v else v for n, v in self._changes.items()})
        if self._special:
            _special_users.append(token)
        _settle()

    @staticmethod
    def _end(before: Mapping[str, Any], token: object) -> None:
        if token in _special_users:
            _special_users.remove(token)
        _set_state(before)

    def __enter__(self) -> None:
        before, token = {n: getattr(state, n) for n in self._changes}, object()
        try:
            self.before, self._token = before, token
            self._begin(token)
        except BaseException:
            self._end(before, token)
            raise

    def __exit__(self, *exc: object) -> None:
        try:
            self._end(self.before, self._token)
        finally:
            self._end(self.before, self._token)

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls a function inside."""
        before, token = {n: getattr(state, n) for n in self._changes}, object()
        try:
            try:
                self._begin(token)
                return function(*args, **kwargs)
            finally:
                self._end(before, token)
        finally:
            self._end(before, token)


if TYPE_CHECKING or native is None:
    Switch = _Switch
else:  # the same, but nothing can interrupt it
    native.keep_modes(SPACE, state)
    _set_bit, set_grad = native.set_bit, native.swap_grad
    call_with_grad, call_in_scope, call_locked = native.call_with_grad, native.call_in_scope, native.call_locked
    Switch = native.Switch


# --- the observer
def install_observer(observer: _observer.Observer) -> None:
    """Puts an observer into the slot; from now on every call reports to it.

    Called again when what it watches changes.
    """
    call_locked(_lock, _observe_locked, observer)


def remove_observer() -> None:
    """Empties the slot."""
    call_locked(_lock, _observe_locked, None)


def _observe_locked(observer: _observer.Observer | None) -> None:
    """Can be done again where it was interrupted; the bit is raised last and lowered first."""
    if observer is None:
        _set_bit(OBSERVED | OUTPUTS, False)
    if native is not None:
        native.observe(observer)
    _observer.active = observer
    if observer is not None:
        _set_bit(OUTPUTS, bool(observer.watches_outputs))
        _set_bit(OBSERVED, True)


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()  # the parent may have held it


os.register_at_fork(after_in_child=_after_fork_in_child)
