"""What the profiler puts around launches to learn their device times; None while nobody asks."""
from __future__ import annotations

from typing import Any

active: Any = None    # has begin(name, stream) and end(name, stream), called on the launching thread
