"""How long does importing the package take?"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from common import row


def _import_us(module: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return (time.perf_counter() - start) * 1e6


def measure() -> list[dict[str, Any]]:
    best = {"torch": float("inf"), "mindtorch_v2": float("inf")}
    for _ in range(5):
        for name in best:
            best[name] = min(best[name], _import_us(name))
    return [row("import (a fresh interpreter)", best, 0.35)]


if __name__ == "__main__":
    print(*measure(), sep="\n")
