"""What implements and differentiates a family of operators is imported when one of them is first used.

The import runs on a thread of its own, while the caller waits. Signals (Ctrl-C, SIGALRM) and what their handlers
raise reach the main thread only: so an import is never cut short, and a handler that uses an operator whose family
is just being imported waits for it like everybody else. A fork waits for imports too: a child would find modules that
nobody completes.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
from importlib import import_module, util
from typing import Any

from .loading import call_as_loading

_LAYERS = ("_backends.cpu", "_backends.onednn", "_backends.composite", "_autograd.derivatives")
_loaded: set[str] = set()
_under_way: dict[str, _Load] = {}
_inside: set[tuple[int, str]] = set()  # (thread, family) of imports that are running
_importing = threading.RLock()  # held while a family is imported, and by who forks
_FORK_WAITS_S = 30.0
_fork_holds: list[int] = []  # threads that hold `_importing` because they fork


def load_family(family: str) -> None:
    """Imports a family, once. A family that uses its own operators while it is imported comes back here and goes on."""
    if family in _loaded or (threading.get_ident(), family) in _inside:
        return
    call_as_loading(family, _load, family)


def _load(family: str) -> None:
    if _is_importing():
        _import_here(family)
    else:
        _under_way.setdefault(family, _Load(family)).wait()


class _Load:
    """The import of a family by a thread of its own."""

    def __init__(self, family: str) -> None:
        self.family = family
        self._first = threading.Lock()
        self.is_done = threading.Event()
        self.error: BaseException | None = None

    def wait(self) -> None:
        """Waits for the import, and begins it if nobody has: several that try do no harm, the first thread to run
        does it.
        """
        if not self._first.locked():
            try:
                _thread.start_new_thread(self.run, ())
            except RuntimeError:  # no more threads, or the interpreter is about to end
                _import_here(self.family)
                return
        self.is_done.wait()
        if self.error is not None:
            raise self.error

    def run(self) -> None:
        if not self._first.acquire(blocking=False):
            return
        try:
            with _importing:
                _import_here(self.family)
        except BaseException as error:  # noqa: BLE001 - it is raised where the family was asked for
            self.error = error
        _under_way.pop(self.family, None)  # after a failure the next one who asks tries again
        self.is_done.set()


def _import_here(family: str) -> None:
    root, mark = __name__.rpartition("._dispatch")[0], (threading.get_ident(), family)
    _inside.add(mark)
    try:
        for layer in _LAYERS:
            name = f"{root}.{layer}.{family}"
            if util.find_spec(name) is not None:
                import_module(name)
        _loaded.add(family)
    finally:
        _inside.discard(mark)


def _is_importing() -> bool:
    """Whether the calling thread is in the midst of an import. What another thread imports meanwhile might wait for
    that one, so it must not be waited for.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "_find_and_load" and frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _before_fork() -> None:
    # whoever forks inside an import holds what the other thread may wait for
    if not _is_importing() and _importing.acquire(timeout=_FORK_WAITS_S):
        _fork_holds.append(threading.get_ident())


def _after_fork_in_parent() -> None:
    if threading.get_ident() in _fork_holds:
        _fork_holds.remove(threading.get_ident())
        _importing.release()


def _after_fork_in_child() -> None:
    """The threads that imported do not exist here."""
    global _importing
    _importing = threading.RLock()
    _fork_holds.clear()
    _under_way.clear()
    _inside.clear()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
