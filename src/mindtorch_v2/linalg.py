"""Linear algebra: `torch.linalg`."""

from __future__ import annotations

from ._errors import LinAlgError as LinAlgError
from ._python.install import NamespaceModule as _NamespaceModule

__getattr__, __dir__ = _NamespaceModule("linalg", "linalg_").hooks(globals())
