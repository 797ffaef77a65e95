"""Special functions: `torch.special`."""

from __future__ import annotations

from ._python.install import NamespaceModule as _NamespaceModule

__getattr__, __dir__ = _NamespaceModule("special", "special_").hooks(globals())
