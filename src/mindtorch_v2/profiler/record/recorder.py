"""The recorder of this process: native where it was built, else its twin in Python."""
from __future__ import annotations

from .native_recorder import make
from .python_recorder import (
    DETAIL_FIELDS,
    END_FIELDS,
    LISTENERS,
    MEMORY_FIELDS,
    MODULES,
    ROW_FIELDS,
    SHAPES,
    STACKS,
    Handle,
    Listener,
    Position,
    Recorder,
    ThreadBuffer,
    identity,
)

__all__ = ["DETAIL_FIELDS", "END_FIELDS", "LISTENERS", "MEMORY_FIELDS", "MODULES", "ROW_FIELDS", "SHAPES", "STACKS", "Handle",
           "Listener", "Position", "Recorder", "ThreadBuffer", "identity", "recorder"]

recorder: Recorder = make() or Recorder()
