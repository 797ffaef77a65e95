"""`torch.__config__`: how this package was built and with what it computes."""

from __future__ import annotations


def show() -> str:
    """A description of the build, one fact per line."""
    import platform

    import numpy as np

    from . import _native
    from ._version import __version__

    native = "with the native core" if _native.available() else "without the native core (Python fallbacks)"
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return "\n".join(
        [
            "PyTorch built with:",
            f"  - mindtorch_v2 {__version__}, {native}",
            f"  - Python {platform.python_version()}",
            f"  - numpy {np.__version__}",
            f"  - BLAS {blas.get('name', 'unknown')} {blas.get('version', '')}".rstrip(),
            "  - USE_CUDA=OFF, USE_ROCM=OFF, USE_XPU=OFF, USE_MPS=OFF, USE_DISTRIBUTED=OFF",
            "",
        ]
    )


def parallel_info() -> str:
    """How many threads work on one operation."""
    from ._python.functions import get_num_interop_threads, get_num_threads

    return (
        f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n\tat::get_num_interop_threads() : "
        f"{get_num_interop_threads()}\n"
    )


def _cxx_flags() -> str:
    """The flags that C was compiled with; empty where Python does not tell."""
    import sysconfig

    return sysconfig.get_config_var("CFLAGS") or ""
