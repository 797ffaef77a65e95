"""`torch.version`: which release this is and for which devices it was built."""

from __future__ import annotations

from ._version import __version__ as _own

__version__ = f"2.13.0+mindtorch{_own}"
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version = "unknown"
__all__ = ["__version__", "debug", "cuda", "git_version", "hip", "rocm", "xpu"]
