"""NVIDIA's libraries for matrices and attention: not built in.

Settings are kept; those of attention are shared by all devices.
"""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

from . import _settings

__all__ = [
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]


def is_built() -> bool:
    """False: this package was built without CUDA."""
    return False


class cuBLASModule:
    """Settings of matrix products."""

    _flags = {
        "allow_fp16_reduced_precision_reduction": True,
        "allow_bf16_reduced_precision_reduction": True,  # noqa: RUF012
        "allow_fp16_accumulation": False,
    }

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            return _settings.precision["cuda.matmul"] == "tf32"
        if name == "fp32_precision":
            return _settings.get_precision("cuda.matmul")
        if name in self._flags:
            return self._flags[name]
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            if not isinstance(value, bool):
                raise RuntimeError(f"set_allow_tf32_cublas expects a bool, but got {type(value).__name__}")
            _settings.set_float32_matmul_precision("high" if value else "highest")
        elif name == "fp32_precision":
            _settings.set_precision("cuda.matmul", value)
        elif name in self._flags:
            self._flags[name] = value
        else:
            raise AttributeError(f"Unknown attribute {name}")


class cuFFTPlanCacheManager:
    """Prepared Fourier transforms, by device: there is no device."""

    def __getitem__(self, device: Any) -> NoReturn:
        from .._absent import device_index

        raise RuntimeError(
            "cufft_plan_cache: expected 0 <= device index < 0, but got device with index "
            f"{device_index('cuda', device)}"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("size", "max_size", "clear"):
            raise AssertionError("Torch not compiled with CUDA enabled")
        raise AttributeError(name)


matmul = cuBLASModule()
cufft_plan_cache = cuFFTPlanCacheManager()


class _LinalgBackend(enum.Enum):
    Default = 0
    Cusolver = 1
    Magma = 2


class _BlasBackend(enum.Enum):
    Default = 0
    Cublas = 1
    Cublaslt = 2
    Ck = 3


def _choose_backend(backend: Any, choices: dict[str, tuple[str, enum.Enum]], now: enum.Enum) -> Any:
    if backend is None:
        return now
    found = next(
        (c for c in choices.values() if c[1] is backend), choices.get(backend) if isinstance(backend, str) else None
    )
    if found is None:
        if not isinstance(backend, str):
            raise RuntimeError(f"Unknown input value type: {type(backend).__name__}.")
        raise RuntimeError(f"Unknown input value. Choose from: {', '.join(choices)}.")
    if found[1] is not now:
        raise RuntimeError(
            f"Cannot set preferred backend to {found[0]} if PyTorch has not been compiled with {found[0]}."
        )
    return now


def preferred_linalg_library(backend: Any = None) -> _LinalgBackend:
    """The library for decompositions on CUDA devices: the default one; others are refused."""
    return _choose_backend(
        backend,
        {
            "default": ("default", _LinalgBackend.Default),
            "cusolver": ("cuSOLVER", _LinalgBackend.Cusolver),
            "magma": ("MAGMA", _LinalgBackend.Magma),
        },
        _LinalgBackend.Default,
    )


def preferred_blas_library(backend: Any = None) -> _BlasBackend:
    """The library for products on CUDA devices: the default one; others are refused."""
    return _choose_backend(
        backend,
        {
            "default": ("default", _BlasBackend.Cublas),
            "cublas": ("cuBLAS", _BlasBackend.Cublas),
            "cublaslt": ("cuBLASLt", _BlasBackend.Cublaslt),
            "ck": ("CK", _BlasBackend.Ck),
        },
        _BlasBackend.Cublas,
    )


# --- attention: which ways of computing it a program allows
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "fp16_bf16_reduction_math": False}


def flash_sdp_enabled() -> bool:
    """Whether the program allows flash attention."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    _sdp["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether the program allows memory-efficient attention."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    _sdp["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether the program allows attention made of products and a softmax."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    _sdp["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether the program allows cuDNN's attention."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    _sdp["cudnn"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    return _sdp["fp16_bf16_reduction_math"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    _sdp["fp16_bf16_reduction_math"] = bool(enabled)


def is_flash_attention_available() -> bool:
    """False: that kernel needs a CUDA device."""
    return False


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """False: that kernel needs a CUDA device."""
    return False


def can_use_efficient_attention(params: Any, debug: bool = False) -> bool:
    """False: that kernel needs a CUDA device."""
    return False


def can_use_cudnn_attention(params: Any, debug: bool = False) -> bool:
    """False: that kernel needs a CUDA device."""
    return False


@contextlib.contextmanager
def _sdp_block(**allowed: bool) -> Iterator[None]:
    before = dict(_sdp)
    _sdp.update(allowed)
    try:
        yield
    finally:
        _sdp.update(before)


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> contextlib.AbstractContextManager[None]:
    """A block in which these ways of computing attention are allowed; `torch.nn.attention.sdpa_kernel` is its
    successor.
    """
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please "
        "see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
        stacklevel=2,
    )
    return _sdp_block(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
