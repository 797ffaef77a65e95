"""What a process does when it is asked from outside: start, stop, dump, status."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from ..record.config import _ExperimentalConfig
from ..results.autograd_profile import open_windows
from ..results.kineto_profile import _KinetoProfile
from . import flight
from .sockets import ControlError

FLAGS = ("record_shapes", "profile_memory", "with_stack", "with_modules", "with_flops")
COMMANDS = ("start", "stop", "dump", "status")


class Controller:
    """Answers requests, one at a time. Recording begins and ends on the thread that asks, so the program goes on: what
    it waits for is the moment in which windows are opened and closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._profile: _KinetoProfile | None = None
        self._began = 0.0
        self._output = ""

    def answer(self, request: Any) -> dict[str, Any]:
        """The answer to a request, as JSON has both. What cannot be done is {"error": why}."""
        try:
            if not isinstance(request, dict) or request.get("command") not in COMMANDS:
                raise ControlError(f"expected an object with a command: {', '.join(COMMANDS)}")
            with self._lock:
                return getattr(self, "_" + request["command"])(request)  # type: ignore[no-any-return]
        except ControlError as error:
            return {"error": str(error)}
        except (OSError, ValueError, TypeError) as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def _start(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._profile is not None:
            raise ControlError(f"recording since {time.time() - self._began:.1f} s already; stop it first")
        flags: dict[str, Any] = {name: request.get(name, False) is True for name in FLAGS}
        self._output = _path(request.get("output"), f"profile-{os.getpid()}.mindprof")
        if not os.access(os.path.dirname(self._output), os.W_OK):
            raise ControlError(f"{self._output!r}: process {os.getpid()} cannot write there")
        self._profile = _KinetoProfile(experimental_config=_ExperimentalConfig(profile_all_threads=True), **flags)
        self._profile.start()
        self._began = time.time()
        return {"output": self._output}

    def _stop(self, request: dict[str, Any]) -> dict[str, Any]:
        profile, self._profile = self._profile, None
        if profile is None:
            raise ControlError("nothing is being recorded; start it first")
        profile.stop()
        output = _path(request.get("output"), self._output)
        profile.save(output)
        store = profile.profiler.store if profile.profiler is not None else None
        return {"output": output, "events": 0 if store is None else len(store), "seconds": time.time() - self._began}

    def _dump(self, request: dict[str, Any]) -> dict[str, Any]:
        recorder = flight.current()
        if recorder is None:
            raise ControlError("no flight recorder is on; start the process with MINDPROF=flight,listen")
        output = request.get("output")
        return {"output": recorder.dump(None if output is None else _path(output, ""))}

    def _status(self, request: dict[str, Any]) -> dict[str, Any]:
        recorder = flight.current()
        return {
            "pid": os.getpid(),
            "program": sys.argv,
            "recording_seconds": None if self._profile is None else time.time() - self._began,
            "own_profiles": len(open_windows()) - (self._profile is not None),
            "flight": None if recorder is None else recorder.status(),
        }

    def close(self) -> None:
        """Ends what is being recorded, and forgets it."""
        profile, self._profile = self._profile, None
        if profile is not None:
            profile.stop()


def _path(given: Any, default: str) -> str:
    if given is not None and (not isinstance(given, str) or not given or "\0" in given):
        raise ControlError(f"output is {given!r}, expected the path of a file")
    return os.path.abspath(given if given is not None else default)
