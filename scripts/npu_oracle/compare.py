"""Compares two nested answers and sorts the differences into declared ones and others."""

from __future__ import annotations

import fnmatch
import math
from dataclasses import dataclass
from typing import Any

RELATIVE, ABSOLUTE = 2e-4, 2e-5


@dataclass(frozen=True)
class Difference:
    """Where two answers differ, and both values."""

    path: str
    vendor: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.path}: torch_npu {shortened(self.vendor)}, here {shortened(self.ours)}"


def shortened(value: Any) -> str:
    """A value on a part of a line."""
    text = repr(value)
    return text if len(text) <= 160 else text[:157] + "..."


def same_number(a: float, b: float) -> bool:
    """Equal up to the rounding of float32 kernels; counts (integers) must be equal."""
    if isinstance(a, bool) or isinstance(b, bool) or (isinstance(a, int) and isinstance(b, int)):
        return a == b and isinstance(a, bool) == isinstance(b, bool)
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (math.isnan(a) and math.isnan(b))


def differences(vendor: Any, ours: Any, path: str = "") -> list[Difference]:
    """Every difference of two answers.

    Lists of names are compared as sets, so that each missing name is one difference.
    """
    if isinstance(vendor, dict) and isinstance(ours, dict):
        found = []
        for key in [*vendor, *(k for k in ours if k not in vendor)]:
            here = f"{path}/{key}"
            if key in vendor and key in ours:
                found += differences(vendor[key], ours[key], here)
            else:
                found.append(Difference(here, vendor.get(key, "absent"), ours.get(key, "absent")))
        return found
    if isinstance(vendor, list) and isinstance(ours, list):
        if all(isinstance(v, str) for v in [*vendor, *ours]):
            return [
                Difference(f"{path}/{name}", name in vendor and "present", name in ours and "present")
                for name in sorted(set(vendor) ^ set(ours))
            ]
        if len(vendor) != len(ours):
            return [Difference(path, vendor, ours)]
        return [d for i, (a, b) in enumerate(zip(vendor, ours)) for d in differences(a, b, f"{path}/{i}")]
    if isinstance(vendor, (int, float)) and isinstance(ours, (int, float)):
        return [] if same_number(vendor, ours) else [Difference(path, vendor, ours)]
    return [] if vendor == ours else [Difference(path, vendor, ours)]


def values(answer: Any) -> int:
    """How many single values an answer holds."""
    if isinstance(answer, dict):
        return sum(values(v) for v in answer.values())
    if isinstance(answer, list):
        return sum(values(v) for v in answer)
    return 1


def reason(path: str, known: dict[str, str]) -> str | None:
    """Why a difference is wanted, if it is declared; the keys of `known` are patterns of paths."""
    return next((why for pattern, why in known.items() if fnmatch.fnmatchcase(path, pattern)), None)
