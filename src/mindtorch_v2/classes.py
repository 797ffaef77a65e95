"""Classes that C++ extensions of PyTorch register: there are none here, and every use says so."""

from __future__ import annotations

from typing import Any, NoReturn


class _Namespace:
    """`torch.classes.<namespace>`: naming a class in it raises RuntimeError."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(
            f"Tried to instantiate class '{self._name}.{name}', but it does not exist! Classes of C++ extensions of "
            "PyTorch are not here."
        )


def load_library(path: str) -> NoReturn:
    """Raises: libraries that are built for PyTorch's C++ interface cannot be loaded."""
    raise RuntimeError(f"cannot load {path!r}: it is built for PyTorch's C++ interface, which is not here")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
    return _Namespace(name)
