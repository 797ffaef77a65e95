"""Runs Python as on an older processor: numpy's and OpenBLAS's kernels are chosen as if newer instructions were
missing.

python scripts/narrow_cpu.py Prescott -m pytest tests     # no AVX at all
python scripts/narrow_cpu.py Haswell -m pytest tests      # AVX2, no AVX-512
"""

from __future__ import annotations

import os
import subprocess
import sys

# The processors, by OpenBLAS's names, and the sets of instructions (by numpy's names) that they have.
KEPT = {
    "Prescott": (),
    "Haswell": ("X86_V3", "AVX", "F16C", "FMA3", "AVX2"),
    "Zen": ("X86_V3", "AVX", "F16C", "FMA3", "AVX2"),
}
NATIVE_LEVELS = {"Prescott": "baseline", "Haswell": "avx2", "Zen": "avx2"}


def features_to_disable(processor: str) -> list[str]:
    """What numpy would use on this machine and the processor does not have."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [name for name in __cpu_dispatch__ if __cpu_features__[name] and name not in KEPT[processor]]


def main(arguments: list[str]) -> int:
    """The exit code of the command."""
    if len(arguments) < 2 or arguments[0] not in KEPT:
        print(f"usage: narrow_cpu.py {{{','.join(KEPT)}}} PYTHON_ARGUMENTS...", file=sys.stderr)
        return 2
    environment = {
        **os.environ,
        "OPENBLAS_CORETYPE": arguments[0],
        "MINDTORCH_CPU": NATIVE_LEVELS[arguments[0]],
        "NPY_DISABLE_CPU_FEATURES": " ".join(features_to_disable(arguments[0])),
    }
    print(
        *(
            f"{name}={environment[name]!r}"
            for name in ("OPENBLAS_CORETYPE", "MINDTORCH_CPU", "NPY_DISABLE_CPU_FEATURES")
        ),
        flush=True,
    )
    return subprocess.run([sys.executable, *arguments[1:]], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
