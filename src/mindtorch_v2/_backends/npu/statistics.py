"""What an allocator counts, under the names that `torch.cuda.memory_stats` made known."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

SMALL, LARGE, ALL = 0, 1, 2
_POOLS = (("all", ALL), ("large_pool", LARGE), ("small_pool", SMALL))
GROUPS = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
          "inactive_split_bytes", "requested_bytes")
_CURRENT, _PEAK, _ALLOCATED, _FREED = range(4)
_WORDS = ("current", "peak", "allocated", "freed")


class Statistics:
    """One list of (current, peak, allocated, freed) per quantity and pool."""

    def __init__(self) -> None:
        self.counts: dict[str, list[list[int]]] = {g: [[0, 0, 0, 0] for _ in range(3)] for g in GROUPS}
        self.retries = self.ooms = self.device_allocs = self.device_frees = self.all_stream_syncs = 0
        # The two that change with every allocation are reached without a lookup.
        self._allocation, self._bytes = self.counts["allocation"], self.counts["allocated_bytes"]
        self._requested = self.counts["requested_bytes"]
        self._active, self._active_bytes = self.counts["active"], self.counts["active_bytes"]

    def add(self, group: str, pool: int, amount: int) -> None:
        """Counts a change of a quantity, in its pool and overall."""
        rows = self.counts[group]
        _change(rows[pool], amount)
        _change(rows[ALL], amount)

    def block_taken(self, pool: int, size: int, requested: int) -> None:
        for rows, amount in ((self._allocation, 1), (self._bytes, size), (self._requested, requested), (self._active, 1),
                             (self._active_bytes, size)):
            for row in (rows[pool], rows[ALL]):
                row[2] += amount
                now = row[0] = row[0] + amount
                if now > row[1]:
                    row[1] = now

    def block_given_back(self, pool: int, size: int, requested: int) -> None:
        for rows, amount in ((self._allocation, 1), (self._bytes, size), (self._requested, requested)):
            for row in (rows[pool], rows[ALL]):
                row[3] += amount
                row[0] -= amount

    def block_idle(self, pool: int, size: int) -> None:
        """No stream uses the block any more."""
        for rows, amount in ((self._active, 1), (self._active_bytes, size)):
            for row in (rows[pool], rows[ALL]):
                row[3] += amount
                row[0] -= amount

    def current(self, group: str) -> int:
        return self.counts[group][ALL][_CURRENT]

    def peak(self, group: str) -> int:
        return self.counts[group][ALL][_PEAK]

    def reset_peaks(self) -> None:
        for rows in self.counts.values():
            for row in rows:
                row[_PEAK] = row[_CURRENT]

    def reset_accumulated(self) -> None:
        for rows in self.counts.values():
            for row in rows:
                row[_ALLOCATED] = row[_FREED] = 0
        self.retries = self.ooms = 0

    def flat(self) -> OrderedDict[str, Any]:
        """The statistics by name, in alphabetical order."""
        found: dict[str, int] = {}
        for group, rows in self.counts.items():
            for pool, at in _POOLS:
                for i, word in enumerate(_WORDS):
                    found[f"{group}.{pool}.{word}"] = rows[at][i]
        for word in _WORDS:
            found[f"oversize_allocations.{word}"] = found[f"oversize_segments.{word}"] = 0
        found |= {"num_alloc_retries": self.retries, "num_ooms": self.ooms, "num_device_alloc": self.device_allocs,
                  "num_device_free": self.device_frees, "num_sync_all_streams": self.all_stream_syncs, "max_split_size": -1}
        return OrderedDict(sorted(found.items()))


def _change(row: list[int], amount: int) -> None:
    row[_CURRENT] += amount
    if amount >= 0:
        row[_ALLOCATED] += amount
        row[_PEAK] = max(row[_PEAK], row[_CURRENT])
    else:
        row[_FREED] -= amount
