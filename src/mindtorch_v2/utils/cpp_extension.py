"""`torch.utils.cpp_extension`: extensions in C++ are written against PyTorch's own library, which is not here.

Names are importable, so that programs with optional extensions can say that theirs could not be built.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "CUDA_HOME",
    "ROCM_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "library_paths",
    "load",
    "load_inline",
]
CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
CUDNN_HOME: str | None = None
IS_HIP_EXTENSION = False
_WHY = (
    "extensions in C++ are compiled against PyTorch's headers and library, which this package does not have. Operators "
    "can be written in Python with torch.library.custom_op or torch.autograd.Function."
)


def _make_refusal(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"torch.utils.cpp_extension.{name}: {_WHY}")

    call.__name__ = name
    call.__doc__ = f"Raises RuntimeError: {_WHY}"
    return call


CppExtension, CUDAExtension, SyclExtension = (
    _make_refusal("CppExtension"),
    _make_refusal("CUDAExtension"),
    _make_refusal("SyclExtension"),
)
load, load_inline = _make_refusal("load"), _make_refusal("load_inline")
include_paths, library_paths = _make_refusal("include_paths"), _make_refusal("library_paths")


class BuildExtension:
    """A command of setuptools that would compile extensions: RuntimeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"torch.utils.cpp_extension.BuildExtension: {_WHY}")

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """The command with options."""
        return cls


def is_ninja_available() -> bool:
    """False: nothing is compiled."""
    return False
