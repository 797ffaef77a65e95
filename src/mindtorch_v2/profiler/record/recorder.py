"""The recorder of this process: native where it was built, else its form in Python."""

from __future__ import annotations

from .native_recorder import make
from .python_recorder import Handle, Recorder
from .recorded_threads import Listener

__all__ = ["Handle", "Listener", "Recorder", "recorder"]

recorder: Recorder = make() or Recorder()
