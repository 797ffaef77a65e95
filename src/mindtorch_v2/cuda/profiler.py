"""Switches of NVIDIA's profilers: they need the CUDA runtime. `torch.profiler` is this package's profiler."""

from __future__ import annotations

from .. import _absent

_refuse = _absent.Refuser(__name__, AssertionError, "Torch not compiled with CUDA enabled")
start = _refuse("start")
stop = _refuse("stop")
init = _refuse("init")
profile = _refuse("profile")
__all__ = ["init", "start", "stop", "profile"]
