"""What a report about a problem should say of the machine: `python -m torch.utils.collect_env`."""

from __future__ import annotations

import platform
import subprocess
import sys

__all__ = ["get_env_info", "get_pretty_env_info", "main"]


def run(command: str | list[str]) -> tuple[int, str, str]:
    """(exit code, output, error output) of a command."""
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def get_env_info() -> dict[str, str]:
    """Facts about the package, Python and the machine, by name."""
    import numpy

    from .. import __config__, _accelerators, cuda
    from .._version import __version__

    found = {f"{backend.name.upper()} available": backend.why_unavailable() for backend in _accelerators.all_backends()}
    return {
        "PyTorch version": f"2.13.0 (mindtorch_v2 {__version__})",
        "CUDA available": str(cuda.is_available()),
        **{what: "True" if not reason else f"False ({reason})" for what, reason in found.items()},
        "OS": platform.platform(),
        "Python version": sys.version.replace("\n", " "),
        "numpy version": numpy.__version__,
        "CPU": platform.processor() or "unknown",
        "Build": __config__.show().strip().replace("\n", ";"),
    }


def get_pretty_env_info() -> str:
    """The same, one fact per line."""
    return "\n".join(f"{name}: {value}" for name, value in get_env_info().items())


def get_nvidia_driver_version(run_lambda: object = None) -> None:
    """None: NVIDIA's devices are not used here."""


def main() -> None:
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
