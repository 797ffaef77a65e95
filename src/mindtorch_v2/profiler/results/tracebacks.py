"""Where the program is: call stacks taken now and read later."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import CodeType
from typing import Any


class CapturedTraceback:
    """A call stack, innermost frame first. Taking one costs little: names are looked up when it is read."""

    __slots__ = ("_frames",)

    def __init__(self, frames: tuple[tuple[CodeType, int], ...]) -> None:
        self._frames = frames


def gather_traceback(python: bool = True, script: bool = True, cpp: bool = True) -> CapturedTraceback:
    """The caller's stack of Python frames. There are no frames of TorchScript, and those of C are not walked."""
    frames, frame = [], sys._getframe(1) if python else None
    while frame is not None:
        frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return CapturedTraceback(tuple(frames))


def symbolize_tracebacks(tracebacks: Sequence[CapturedTraceback]) -> list[list[dict[str, Any]]]:
    """The frames of each stack as `{"name", "filename", "line"}`."""
    return [
        [{"name": code.co_name, "filename": code.co_filename, "line": line} for code, line in traceback._frames]
        for traceback in tracebacks
    ]
