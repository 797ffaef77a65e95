"""What does one small operation cost?"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from common import best_of, implementations, row

# Nanoseconds of `x + x` in a new interpreter: the best of many short bursts.
_BURSTS = """
import sys, time
import mindtorch_v2 as torch
x = torch.ones(4, 4)
if sys.argv[1] == "used":
    with torch.profiler.profile():
        x + x
def burst():
    start = time.perf_counter()
    for _ in range(2000):
        x + x
    return time.perf_counter() - start
print(min(burst() for _ in range(150)) / 2000 * 1e9)
"""


def _hook() -> dict[str, Any]:
    """`x + x` where a profiler was on and is off again, against a process that never had one."""
    best = {"never": float("inf"), "used": float("inf")}
    for _ in range(5):
        for which in best:
            made = subprocess.run([sys.executable, "-c", _BURSTS, which], capture_output=True, text=True, check=True)
            best[which] = min(best[which], float(made.stdout))
    ratio = best["used"] / best["never"]
    return {
        "what": "x + x, profiler installed but off (against never installed)",
        "torch_us": round(best["never"] / 1e3, 4),
        "mindtorch_v2_us": round(best["used"] / 1e3, 4),
        "ratio": round(ratio, 3),
        "at_most": 1.02,
        "ok": ratio <= 1.02,
    }


def measure() -> list[dict[str, Any]]:
    plain, with_grad, backward = {}, {}, {}
    for name, torch in implementations().items():
        x = torch.ones(4, 4)
        g = torch.ones(4, 4, requires_grad=True)
        plain[name] = lambda x=x: x + x
        with_grad[name] = lambda g=g: g + g
        backward[name] = lambda g=g: (g * g).sum().backward()
    return [
        row("x + x, 4x4", best_of(plain), 1.0),
        row("x + x, 4x4, with grad", best_of(with_grad), 1.0),
        row("(x * x).sum().backward()", best_of(backward), 0.5),
        _hook(),
    ]


if __name__ == "__main__":
    print(*measure(), sep="\n")
