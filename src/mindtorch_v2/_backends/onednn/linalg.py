"""Matrix products."""

from __future__ import annotations

from .layer import accelerate

accelerate("mm", "bmm", "addmm", "matmul")
