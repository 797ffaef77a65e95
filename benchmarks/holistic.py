"""Time and memory of `mindprof show` and of HolisticTraceAnalysis on the same GPU traces.

    benchmarks/holistic.py TRACE... [--peer PYTHON]

PYTHON is an interpreter that has HolisticTraceAnalysis (`make interop` makes one: .venv-interop/bin/python). Each is
asked in a fresh interpreter for the same: where the time of the device goes, its kernels, and why it was idle. Seconds
are those of the processor, megabytes the largest resident size; of three runs the quickest counts.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys

PEER = """
import logging, sys, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
found = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
found.get_temporal_breakdown(visualize=False)
found.get_gpu_kernel_breakdown(visualize=False)
found.get_idle_time_breakdown(visualize=False)
"""
ROUNDS = 3


def cost(*command: str) -> tuple[float, float, int]:
    """Seconds of the processor, megabytes and the exit code of a command."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=pathlib.Path)
    parser.add_argument("--peer", default=".venv-interop/bin/python")
    options = parser.parse_args()
    print(f"{'trace':44} {'here s':>8} {'MB':>6} {'peer s':>8} {'MB':>6} {'ratio':>6}")
    for trace in options.traces:
        path = str(trace.resolve())
        here = min(cost(sys.executable, "-m", "mindtorch_v2.profiler", "show", "--json", path) for _ in range(ROUNDS))
        peer = min(cost(options.peer, "-c", PEER, path) for _ in range(ROUNDS))
        failed = " (here failed)" * bool(here[2]) + " (peer failed)" * bool(peer[2])
        ratio = here[0] / peer[0]
        print(f"{trace.name[:44]:44} {here[0]:8.2f} {here[1]:6.0f} {peer[0]:8.2f} {peer[1]:6.0f} {ratio:6.2f}{failed}")


if __name__ == "__main__":
    main()
