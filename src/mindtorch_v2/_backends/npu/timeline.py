"""What the profiler puts around launches to learn their device times; None while nobody asks."""

from __future__ import annotations

from typing import Any

from . import native

# Has begin(name, stream) and end(name, stream), called on the launching thread; begin_timed(name, stream) and
# end_timed(name, stream, title, bytes, kind) around what events time.
active: Any = None


def activate(watcher: Any) -> None:
    """Makes an object watch launches, or nobody. One that has a `watch_natively()` which returns True is not asked
    at each launch: the launcher in C then does what it would do.
    """
    global active
    active = watcher
    if native.launcher is not None and (watcher is None or not watcher.watch_natively()):
        native.launcher.watch_in_python(watcher)
