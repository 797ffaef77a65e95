"""How long does importing the package take?"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from common import row

# A user's second import finds compiled bytecode; where writing it is switched off, every module would be compiled anew.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _import_us(module: str) -> float:
    """Processor time of the whole interpreter, which other work on the machine does not lengthen."""
    child = subprocess.Popen([sys.executable, "-c", f"import {module}"], env=ENVIRONMENT)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"import {module} failed")
    return (used.ru_utime + used.ru_stime) * 1e6


def measure() -> list[dict[str, Any]]:
    best = {"torch": float("inf"), "mindtorch_v2": float("inf")}
    for _ in range(6):
        for name in best:
            best[name] = min(best[name], _import_us(name))
    return [row("import (a fresh interpreter)", best, 0.15)]


if __name__ == "__main__":
    print(*measure(), sep="\n")
