"""Processes that a program starts record themselves and leave files that its profile takes in.

Fresh interpreters (`subprocess`, multiprocessing's spawn and forkserver) are told by the environment, and begin when
they import this package; forked ones begin at once. Either writes its file when it ends: in good order, by `os._exit`,
or by SIGTERM.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from types import FrameType
from typing import Any

from ..record.config import _ExperimentalConfig
from ..results.kineto_profile import _KinetoProfile
from ..store import storefile
from ..store.event_store import EventStore
from ..store.files import ProfileFileError
from ..store.processes import joined_processes
from .control import FLAGS

_ENDING = ".mindprof"


class ChildRecording:
    """The profile of a process that another one started. It ends once, whatever ends the process."""

    def __init__(self, directory: str, flags: dict[str, Any]) -> None:
        self.directory, self.flags = directory, flags
        self.pid = os.getpid()
        self._is_over = False
        self._exit = os._exit
        self._profile = _KinetoProfile(experimental_config=_ExperimentalConfig(profile_all_threads=True), **flags)

    def start(self) -> None:
        self._profile.start()
        atexit.register(self.finish)
        os._exit = self._exit_at_once  # type: ignore[assignment]
        with contextlib.suppress(ValueError):  # another thread than the main one forked
            if signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, _handler_of_parent):
                signal.signal(signal.SIGTERM, self._terminated)

    def finish(self) -> None:
        """Writes the file."""
        if self._is_over or os.getpid() != self.pid:
            return
        self._is_over = True
        self._profile.stop()
        store = self._profile.profiler.store if self._profile.profiler is not None else None
        if store is None or not len(store):
            return
        try:
            storefile.save(store, os.path.join(self.directory, f"{self.pid}{_ENDING}"), sync=False)
        except OSError as error:  # the program has ended already and took the folder with it
            print(f"mindprof: the profile of process {self.pid} could not be written: {error}", file=sys.stderr)

    def _exit_at_once(self, status: int) -> None:
        self.finish()
        self._exit(status)

    def _terminated(self, signum: int, frame: FrameType | None) -> None:
        self.finish()
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    def abandon(self) -> None:
        """In a process that this one forked: it is the parent's."""
        self._is_over = True
        os._exit = self._exit
        with contextlib.suppress(ValueError):
            if signal.getsignal(signal.SIGTERM) == self._terminated:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)


_current: ChildRecording | None = None
_handler_of_parent: Any = signal.SIG_DFL  # of SIGTERM: what a process that was forked finds and need not keep
_settings: tuple[str, dict[str, Any]] | None = None  # for processes that this one forks


def begin(directory: str, **flags: Any) -> None:
    """Records this process, and those that it forks."""
    global _current
    unknown = set(flags) - set(FLAGS)
    if unknown:
        raise ValueError(f"child: {unknown.pop()!r} is not a setting")
    watch_forks(directory, flags)
    _current = ChildRecording(directory, flags)
    _current.start()


def watch_forks(directory: str | None, flags: dict[str, Any]) -> None:
    """Processes that this one forks from now on record themselves; with None they no longer do."""
    global _settings
    _settings = None if directory is None else (directory, flags)


def _after_fork_in_child() -> None:
    global _current
    if _current is not None:
        _current.abandon()
        _current = None
    if _settings is not None:
        begin(_settings[0], **_settings[1])


os.register_at_fork(after_in_child=_after_fork_in_child)


class ChildProcesses:
    """The processes of a program that is profiled: has them record themselves, and takes in what they leave."""

    def __init__(self, flags: dict[str, Any]) -> None:
        self._flags = {name: True for name, on in flags.items() if on}
        self._directory = tempfile.mkdtemp(prefix="mindprof-")
        self._before = os.environ.get("MINDPROF")

    def start(self) -> None:
        """From now on."""
        settings = [f"directory={self._directory}", *(f"{name}=true" for name in self._flags)]
        own = ":".join(["child", *settings])
        os.environ["MINDPROF"] = own if not self._before else f"{self._before},{own}"
        global _handler_of_parent
        _handler_of_parent = signal.getsignal(signal.SIGTERM)
        watch_forks(self._directory, self._flags)

    def join(self) -> None:
        """Waits for processes of multiprocessing, as Python does when a program ends; daemons are ended."""
        multiprocessing = sys.modules.get("multiprocessing")
        for child in multiprocessing.active_children() if multiprocessing is not None else ():
            if child.daemon:
                child.terminate()
            child.join()

    def take_in(self, own: EventStore) -> tuple[EventStore, list[str]]:
        """The events of all processes, and what could not be read."""
        watch_forks(None, {})
        if self._before is None:
            os.environ.pop("MINDPROF", None)
        else:
            os.environ["MINDPROF"] = self._before
        stores, problems = [], []
        for name in sorted(n for n in os.listdir(self._directory) if n.endswith(_ENDING) and not n.startswith(".")):
            try:
                stores.append(storefile.load(os.path.join(self._directory, name)))
            except ProfileFileError as error:
                problems.append(str(error))
        joined = joined_processes(own, stores) if stores else own
        shutil.rmtree(self._directory, ignore_errors=True)
        return joined, problems
