"""Marks for NVIDIA's viewers: they need the CUDA build. `torch.profiler.record_function` marks ranges here."""

from __future__ import annotations

from .. import _absent

_refuse = _absent.Refuser(__name__, RuntimeError, "NVTX functions not installed. Are you sure you have a CUDA build?")
range_push = _refuse("range_push")
range_pop = _refuse("range_pop")
range_start = _refuse("range_start")
range_end = _refuse("range_end")
range = _refuse("range")  # noqa: A001 - torch.cuda.nvtx.range
mark = _refuse("mark")
__all__ = ["range_push", "range_pop", "range_start", "range_end", "mark", "range"]
