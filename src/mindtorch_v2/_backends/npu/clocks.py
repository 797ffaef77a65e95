"""Aligning a device's clock with the host's.

A pair says: the device's moment d lies between the host's moments before and after. Each pair bounds the difference
of the clocks; several pairs bound it tightly, and pairs from both ends of a window tell the drift. A clock whose
stamps are now and then counted from a new moment is followed from group to group of pairs.
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
        """Moments of the device on the host's clock.

        Whole numbers stay such: a float cannot hold nanoseconds since 1970.
        """
        whole = round(self.offset)
        drift = self.slope * (device - self.origin)
        return device.astype(np.int64) + whole + np.rint(device % 1 + (self.offset - whole) + drift).astype(np.int64)


def _fit(pairs: list[Pair]) -> tuple[float, float, float] | None:
    """(device time, offset, half of what the offset may be off) of one group of pairs, taken in a short time."""
    low = max(p.before - p.device_first for p in pairs)
    high = min(p.after - p.device_last for p in pairs)
    at = pairs[-1].device_last
    if low > high:  # drift inside the group: the tightest pair alone
        best = min(pairs, key=lambda p: p.after - p.before)
        low, high, at = best.before - best.device_first, best.after - best.device_last, best.device_last
    return at, low + (high - low) // 2, (high - low) / 2


class PiecewiseAlignment:
    """The same for a clock that jumps now and then: every few seconds the libraries relate their clocks anew, and
    stamps jump by what has drifted since. Between two groups that fit the drift, offsets are interpolated; where
    they do not, a jump lies between them, the nearer group counts, and the jump is what a time may be off by.
    """

    def __init__(self, groups: list[list[Pair]], drift: float = 0.0) -> None:
        """`drift` is what is known about the device's oscillator; stamps may also be corrected for it."""
        fits = sorted(f for f in (_fit(g) for g in groups if g) if f is not None)
        self.known = bool(fits)
        self._at = np.array([round(at) for at, _, _ in fits] or [0], np.int64)
        # a float cannot hold nanoseconds since 1970, only differences of such
        self._whole = round(fits[0][1]) if fits else 0
        self._offset = np.array([float(offset - self._whole) for _, offset, _ in fits] or [0.0])
        bounds = np.array([bound for _, _, bound in fits] or [0.0])
        length, change = np.diff(self._at).astype(float), np.diff(self._offset)
        slack = bounds[1:] + bounds[:-1]
        self.slope = _common_slope(length, change, slack, drift)
        misfit = np.abs(change - self.slope * length)
        self._jumps = misfit > slack + _SLACK
        self.jumps = int(self._jumps.sum())
        self.bound = float(max(bounds.max(), (misfit + slack)[self._jumps].max(initial=0.0)))

    def host(self, device: np.ndarray) -> np.ndarray:
        """Moments of the device, whole nanoseconds, on the host's clock."""
        after = np.clip(np.searchsorted(self._at, device, "right"), 1, max(len(self._at) - 1, 1))
        before = after - 1
        after = np.minimum(after, len(self._at) - 1)
        inside = (device >= self._at[before]) & (device <= self._at[after]) & (after > before)
        smooth = inside & ~self._jumps[before] if len(self._jumps) else inside
        nearer = np.where(np.abs(device - self._at[before]) <= np.abs(device - self._at[after]), before, after)
        share = (device - self._at[before]) / np.maximum(self._at[after] - self._at[before], 1)
        between = self._offset[before] + share * (self._offset[after] - self._offset[before])
        beyond = self._offset[nearer] + self.slope * (device - self._at[nearer])
        return device.astype(np.int64) + self._whole + np.rint(np.where(smooth, between, beyond)).astype(np.int64)


_SLACK = 1000  # nanoseconds that a clock may wander by itself between two groups


def _common_slope(length: np.ndarray, change: np.ndarray, slack: np.ndarray, drift: float) -> float:
    """How offsets change between groups where no jump lies between them: as most do. Of one or two changes nobody
    knows which is a jump: there it is none, or what the oscillator's drift allows.
    """
    usable = length > 0
    length, change, slack = length[usable], change[usable], slack[usable]
    if not len(length):
        return 0.0
    slopes = change / length
    if len(slopes) <= 2:
        longest = int(length.argmax())
        doubt = slack[longest] / length[longest]
        slope = float(np.clip(slopes[longest], min(drift, 0.0) - doubt, max(drift, 0.0) + doubt))
        return slope if abs(slope) > doubt else 0.0
    tried = np.concatenate([[0.0, drift], slopes])
    fitting = np.abs(change - tried[:, None] * length) <= slack + _SLACK
    best = fitting[int(fitting.sum(1).argmax())]
    return float(np.median(slopes[best])) if best.any() else drift
