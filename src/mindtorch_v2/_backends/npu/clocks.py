"""Aligning a device's clock with the host's.

A pair says: the device's moment d lies between the host's moments before and after. Each pair bounds the difference of the
clocks; several pairs bound it tightly, and pairs from both ends of a window tell the drift.
"""
from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

monotonic = time.perf_counter_ns


class Pair(NamedTuple):
    """The device was at `device_first`..`device_last` while the host was between `before` and `after`."""

    before: int
    device_first: float
    device_last: float
    after: int


class Alignment:
    """host = device + offset + slope * (device - origin), right to within `bound` nanoseconds at the pairs."""

    def __init__(self, groups: list[list[Pair]]) -> None:
        fits = [f for f in (_fit(g) for g in groups if g) if f is not None]
        self.bound = max((f[2] for f in fits), default=0.0)
        self.known = bool(fits)
        self.origin, self.offset, _ = fits[0] if fits else (0.0, 0.0, 0.0)
        self.slope = 0.0
        if len(fits) > 1 and fits[-1][0] > self.origin:
            self.slope = (fits[-1][1] - self.offset) / (fits[-1][0] - self.origin)

    def host(self, device: np.ndarray) -> np.ndarray:
        """Moments of the device on the host's clock. Whole numbers stay such: a float cannot hold nanoseconds since 1970."""
        whole = round(self.offset)
        drift = self.slope * (device - self.origin)
        return device.astype(np.int64) + whole + np.rint(device % 1 + (self.offset - whole) + drift).astype(np.int64)


def _fit(pairs: list[Pair]) -> tuple[float, float, float] | None:
    """(device time, offset, half of what the offset may be off) of one group of pairs, taken in a short time."""
    low = max(p.before - p.device_first for p in pairs)
    high = min(p.after - p.device_last for p in pairs)
    at = pairs[-1].device_last
    if low > high:       # drift inside the group: the tightest pair alone
        best = min(pairs, key=lambda p: p.after - p.before)
        low, high, at = best.before - best.device_first, best.after - best.device_last, best.device_last
    return at, low + (high - low) // 2, (high - low) / 2
