"""What happens to devices when a fault has stopped one, and when the process is forked."""

from __future__ import annotations

import os

from . import native, streams, timeline
from .allocator import _allocators
from .copies import _pinned
from .runtime import bind, runtime, unbind


def restart(index: int) -> None:
    """Makes a device usable that a fault has stopped. All that lay in its memory is lost."""
    if timeline.active is not None:
        raise RuntimeError("a device cannot be restarted while a profile runs: stop it first")
    bind(index)
    rt = runtime()
    kept = _allocators.pop(index, None)
    if kept is not None:
        kept.abandon()
    streams.forget_device(index)
    _pinned.forget_device(index)
    code = rt.aclrtResetDevice(index)
    unbind()
    rt.check(code, f"aclrtResetDevice({index})")
    rt.recent_error()
    bind(index)


def _after_fork_in_child() -> None:
    """In the child the device is lost: memory that the parent keeps for reuse must not be handed out, so that the
    next use asks the runtime, and learns why.
    """
    _allocators.clear()
    if native.launcher is not None:
        native.launcher.forget()


os.register_at_fork(after_in_child=_after_fork_in_child)
