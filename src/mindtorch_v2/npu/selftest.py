"""`python -m mindtorch_v2.npu.selftest`: what works on this machine's NPU, as a report that can be pasted into an
issue.
"""

from __future__ import annotations

import platform
import sys
import time
import warnings
from typing import Any

import numpy as np

from .. import npu
from .._backends.npu import abi, loader, ops
from .._backends.npu.runtime import runtime
from .._dispatch import aten
from .._tensor import Tensor
from .checks import Case, cases


def difference(case: Case, device: Any = "npu") -> tuple[float, str]:
    """How far the device's results are from the CPU's, relative to their size, and what else differs."""
    here, there = (_flat(case.run(put)) for put in (lambda t: t.clone(), lambda t: t.clone().to(device)))
    if len(here) != len(there):
        return float("inf"), f"{len(there)} results instead of {len(here)}"
    worst = 0.0
    for a, b in zip(here, there):
        if a.dtype is not b.dtype or a.shape != b.shape:
            return float("inf"), f"{b.dtype} {list(b.shape)} instead of {a.dtype} {list(a.shape)}"
        x, y = a.numpy().astype(np.float64), b.cpu().numpy().astype(np.float64)
        if x.size:
            worst = max(worst, float(np.abs(x - y).max() / max(1.0, np.abs(x).max())))
    return worst, ""


def _flat(result: Any) -> list[Tensor]:
    made = [result] if isinstance(result, Tensor) else list(result)
    return [t.detach() for t in made if t is not None]


def check_operators() -> tuple[int, list[str]]:
    """How many cases agree with the CPU, and a line for each that does not, or that ran on the CPU."""
    agreed, lines = 0, []
    for case in cases():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                worst, note = difference(case)
            except (RuntimeError, NotImplementedError) as error:
                lines.append(f"  FAILED   {case.name}: {str(error).splitlines()[0]}")
                continue
        if worst > case.tolerance:
            lines.append(f"  DIFFERS  {case.name}: by {worst:.2e} (allowed {case.tolerance:.0e}) {note}")
            continue
        agreed += 1
        lines += [f"  ON CPU   {str(w.message)}" for w in caught if "runs on the CPU" in str(w.message)]
    return agreed, lines


def time_of(run: Any, times: int = 200) -> float:
    """Microseconds of host time per call."""
    for _ in range(10):
        run()
    npu.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        run()
    took = time.perf_counter() - start
    npu.synchronize()
    return took / times * 1e6


def timings() -> list[str]:
    """What launches, copies and events cost the host."""
    x = aten.ones([16], device="npu")
    host = aten.ones([16])
    event = npu.Event(enable_timing=True)
    timed = {
        "launch of a small addition": lambda: x + x,
        "launch, wait and copy back": lambda: (x + x).cpu(),
        "record of a timing event": event.record,
        "copy of 64 bytes to the device": lambda: host.to("npu"),
        "copy of 64 bytes from the device": x.cpu,
    }
    lines = [f"  {name:<34} {time_of(run):8.1f} us" for name, run in timed.items()]
    first, last = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    first.record()
    for _ in range(100):
        x + x  # noqa: B018 - only its launch matters
    last.record()
    npu.synchronize()
    return [
        *lines,
        f"  {'100 additions between two events':<34} {first.elapsed_time(last) * 1000:8.1f} us of device time",
    ]


def missing_operators() -> list[str]:
    libraries = runtime().libraries
    return [name for name in abi.OPERATORS if libraries.operator(name) is None]


def main() -> int:
    """Prints the report; 0 if every operator agrees with the CPU."""
    print("mindtorch_v2 NPU self-test")
    print(f"  python {platform.python_version()}, {platform.platform()}")
    if not npu.is_available():
        print(f"  no NPU: {npu.why_unavailable()}")
        print(f"  searched: {', '.join(map(str, loader.search_folders()))}")
        return 1
    rt = runtime()
    print(f"  libraries: {rt.libraries.describe()}")
    print(f"  devices: {npu.device_count()} x {npu.get_device_properties(0)}")
    if rt.simulated:
        print("  THIS IS THE SIMULATOR: the times below say nothing about hardware")
    missing = missing_operators()
    there = len(abi.OPERATORS) - len(missing)
    print(f"operators in the libraries: {there} of {len(abi.OPERATORS)}; missing: {', '.join(missing) or 'none'}")
    agreed, lines = check_operators()
    print(f"operators compared with the CPU: {agreed} cases agree ({len(ops.ROWS)} rows in the table)")
    print("\n".join(lines) if lines else "  all agree, none ran on the CPU")
    print("host times")
    print("\n".join(timings()))
    from .._backends.npu.activities import describe_source

    print(f"device times of kernels: {describe_source()}")
    return 1 if any("FAILED" in line or "DIFFERS" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
