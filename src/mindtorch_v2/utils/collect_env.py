"""What a report about a problem should say of the machine: `python -m torch.utils.collect_env`."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection
from importlib import metadata
from typing import NamedTuple

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main"]

Run = Callable[[str], tuple[int, str, str]]

# Parts of the names of distributions that a report lists.
DEFAULT_PIP_PATTERNS = {"torch", "numpy", "mypy", "flake8", "triton", "optree", "onnx", "ml_dtypes", "mpi4py", "scipy"}


class SystemEnv(NamedTuple):
    """Facts about the package, Python and the machine; None for what is not there or could not be found out."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str | None
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str | None
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cuda_runtime_version: str | None
    cuda_module_loading: str
    nvidia_driver_version: str | None
    nvidia_gpu_models: str | None
    cudnn_version: str | None
    is_xpu_available: str
    pip_version: str
    pip_packages: str
    conda_packages: str | None
    hip_compiled_version: str
    hip_runtime_version: str
    miopen_runtime_version: str
    caching_allocator_config: dict[str, str]
    is_xnnpack_available: str
    cpu_info: str | None


def run(command: str | list[str]) -> tuple[int, str, str]:
    """(exit code, output, error output) of a command."""
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def run_and_read_all(run_lambda: Run, command: str) -> str | None:
    """What a command prints; None if it fails."""
    code, output, _ = run_lambda(command)
    return output if code == 0 else None


def run_and_parse_first_match(run_lambda: Run, command: str, regex: str) -> str | None:
    """The first group of a pattern in what a command prints; None if it fails or prints no such thing."""
    found = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return found[1] if found else None


def get_gcc_version(run_lambda: Run) -> str | None:
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda: Run) -> str | None:
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda: Run) -> str | None:
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_cpu_info(run_lambda: Run) -> str | None:
    """What `lscpu` tells of the processor, or where there is none, its name as Python knows it; None if unknown."""
    if shutil.which("lscpu"):
        return run_and_read_all(run_lambda, "lscpu")
    return platform.processor() or None


def get_platform() -> str:
    """'linux', 'darwin', 'win32' or 'cygwin'."""
    return "linux" if sys.platform.startswith("linux") else sys.platform


def get_os(run_lambda: Run) -> str | None:
    """The operating system's name and the machine's architecture."""
    if get_platform() == "linux":
        try:
            return f"{platform.freedesktop_os_release()['PRETTY_NAME']} ({platform.machine()})"
        except (OSError, KeyError):  # a system without that file
            return f"Linux ({platform.machine()})"
    return f"{platform.platform()} ({platform.machine()})"


def get_python_platform() -> str:
    return platform.platform()


def get_libc_version() -> str:
    return "-".join(platform.libc_ver()) if get_platform() == "linux" else "N/A"


def get_pip_packages(run_lambda: Run, patterns: Collection[str] | None = None) -> tuple[str, str]:
    """('pip3', a line `name==version` for each installed distribution whose name contains one of the patterns)."""
    chosen = DEFAULT_PIP_PATTERNS if patterns is None else patterns
    found = {f"{each.metadata['Name']}=={each.version}" for each in metadata.distributions()}
    return "pip3", "\n".join(sorted(line for line in found if any(part in line for part in chosen)))


def get_gpu_info(run_lambda: Run) -> str | None:
    """None: NVIDIA's and AMD's devices are not used here."""
    return None


def get_nvidia_driver_version(run_lambda: Run) -> str | None:
    """None: NVIDIA's devices are not used here."""
    return None


def get_running_cuda_version(run_lambda: Run) -> str | None:
    """None: CUDA is not used here."""
    return None


def get_cudnn_version(run_lambda: Run) -> str | None:
    """None: cuDNN is not used here."""
    return None


def get_conda_packages(run_lambda: Run, patterns: Collection[str] | None = None) -> str | None:
    """The lines of `conda list` that contain one of the patterns; None without conda."""
    chosen = DEFAULT_PIP_PATTERNS if patterns is None else patterns
    lines = (run_and_read_all(run_lambda, "conda list") or "").splitlines()
    return (
        "\n".join(line for line in lines if not line.startswith("#") and any(part in line for part in chosen)) or None
    )


def is_xnnpack_available() -> str:
    return "False"


def get_env_info() -> SystemEnv:
    """Facts about the package, Python and the machine.

    Example::

        >>> get_env_info().is_cuda_available
        'False'
    """
    from .. import cuda, version, xpu

    pip, packages = get_pip_packages(run)
    return SystemEnv(
        torch_version=version.__version__,
        is_debug_build=str(version.debug),
        cuda_compiled_version=version.cuda,
        gcc_version=get_gcc_version(run),
        clang_version=get_clang_version(run),
        cmake_version=get_cmake_version(run),
        os=get_os(run),
        libc_version=get_libc_version(),
        python_version=f"{sys.version.replace(chr(10), ' ')} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=get_python_platform(),
        is_cuda_available=str(cuda.is_available()),
        cuda_runtime_version=None,
        cuda_module_loading="N/A",
        nvidia_driver_version=None,
        nvidia_gpu_models=None,
        cudnn_version=None,
        is_xpu_available=str(xpu.is_available()),
        pip_version=pip,
        pip_packages=packages,
        conda_packages=get_conda_packages(run),
        hip_compiled_version="N/A",
        hip_runtime_version="N/A",
        miopen_runtime_version="N/A",
        caching_allocator_config={},
        is_xnnpack_available=is_xnnpack_available(),
        cpu_info=get_cpu_info(run),
    )


# Headings of the text and the facts under them; '' stands for an empty line.
_LINES = (
    ("PyTorch version", "torch_version"),
    ("Is debug build", "is_debug_build"),
    ("CUDA used to build PyTorch", "cuda_compiled_version"),
    ("ROCM used to build PyTorch", "hip_compiled_version"),
    ("", ""),
    ("OS", "os"),
    ("GCC version", "gcc_version"),
    ("Clang version", "clang_version"),
    ("CMake version", "cmake_version"),
    ("Libc version", "libc_version"),
    ("", ""),
    ("Python version", "python_version"),
    ("Python platform", "python_platform"),
    ("Is CUDA available", "is_cuda_available"),
    ("CUDA runtime version", "cuda_runtime_version"),
    ("CUDA_MODULE_LOADING set to", "cuda_module_loading"),
    ("GPU models and configuration", "nvidia_gpu_models"),
    ("Nvidia driver version", "nvidia_driver_version"),
    ("cuDNN version", "cudnn_version"),
    ("Is XPU available", "is_xpu_available"),
    ("HIP runtime version", "hip_runtime_version"),
    ("MIOpen runtime version", "miopen_runtime_version"),
    ("Is XNNPACK available", "is_xnnpack_available"),
)


def pretty_str(envinfo: SystemEnv) -> str:
    """The facts as text, then the package's own: which backends it has and what it was built with."""
    from .. import __config__, _accelerators
    from .._version import __version__

    own = [
        f"{backend.name.upper()} available: {f'False ({why})' if (why := backend.why_unavailable()) else 'True'}"
        for backend in _accelerators.all_backends()
    ]
    facts = envinfo._asdict()
    lines = [
        f"{title}: {'Could not collect' if facts[name] is None else facts[name]}" if title else ""
        for title, name in _LINES
    ]
    versions = [f"[{envinfo.pip_version}] {line}" for line in envinfo.pip_packages.splitlines()]
    versions += [f"[conda] {line}" for line in (envinfo.conda_packages or "").splitlines()]
    parts = [
        "\n".join(lines),
        f"mindtorch_v2 version: {__version__}\n" + "\n".join([*own, f"Build: {_one_line(__config__.show())}"]),
        f"CPU:\n{envinfo.cpu_info or 'Could not collect'}",
        "Versions of relevant libraries:\n" + ("\n".join(versions) or "none found"),
    ]
    return "\n\n".join(parts)


def _one_line(text: str) -> str:
    return "; ".join(line.strip() for line in text.strip().splitlines())


def get_pretty_env_info() -> str:
    """The facts as text."""
    return pretty_str(get_env_info())


def main() -> None:
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
