"""What an allocator counts, under the names that `torch.cuda.memory_stats` made known."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .blocks import COUNTED

SMALL, LARGE, ALL = 0, 1, 2
_POOLS = (("all", ALL), ("large_pool", LARGE), ("small_pool", SMALL))
GROUPS = (
    "allocation",
    "segment",
    "active",
    "inactive_split",
    "allocated_bytes",
    "reserved_bytes",
    "active_bytes",
    "inactive_split_bytes",
    "requested_bytes",
)
_CURRENT, _PEAK, _ALLOCATED, _FREED = range(4)
_WORDS = ("current", "peak", "allocated", "freed")


class Statistics:
    """One list of (current, peak, allocated, freed) per quantity and pool."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks  # counts what changes with every allocation
        self.counts: dict[str, list[list[int]]] = {g: [[0, 0, 0, 0] for _ in range(3)] for g in GROUPS}
        self.retries = self.ooms = self.device_allocs = self.device_frees = self.all_stream_syncs = 0
        self._deferred_counts = [[0, 0], [0, 0]]  # per pool: blocks and bytes that were given back and are still in use

    def _pull(self) -> None:
        """Takes over what the blocks counted."""
        counts = iter(self._blocks.counts())
        for group in COUNTED:
            for row in self.counts[group]:
                row[:] = [next(counts) for _ in range(4)]
        for active, allocated, part in (("active", "allocation", 0), ("active_bytes", "allocated_bytes", 1)):
            for pool in (SMALL, LARGE, ALL):
                waiting = (
                    sum(d[part] for d in self._deferred_counts) if pool == ALL else self._deferred_counts[pool][part]
                )
                row, source = self.counts[active][pool], self.counts[allocated][pool]
                row[:] = source[0] + waiting, max(source[1], source[0] + waiting), source[2], source[3] - waiting

    def _push(self) -> None:
        self._blocks.set_counts([n for group in COUNTED for row in self.counts[group] for n in row])

    def add(self, group: str, pool: int, amount: int) -> None:
        """Counts a change of a quantity, in its pool and overall."""
        rows = self.counts[group]
        _change(rows[pool], amount)
        _change(rows[ALL], amount)

    def deferred(self, pool: int, size: int, sign: int) -> None:
        """A block that was given back is still used by a stream, or no longer is."""
        self._deferred_counts[pool][0] += sign
        self._deferred_counts[pool][1] += sign * size

    def set_splits(self, counts: list[int], sizes: list[int]) -> None:
        """Free pieces of segments that are in use; they are counted when somebody asks."""
        self._pull()
        for group, values in (("inactive_split", counts), ("inactive_split_bytes", sizes)):
            for pool in (SMALL, LARGE):
                self.add(group, pool, values[pool] - self.counts[group][pool][_CURRENT])

    def current(self, group: str) -> int:
        self._pull()
        return self.counts[group][ALL][_CURRENT]

    def peak(self, group: str) -> int:
        self._pull()
        return self.counts[group][ALL][_PEAK]

    def reset_peaks(self) -> None:
        self._pull()
        for rows in self.counts.values():
            for row in rows:
                row[_PEAK] = row[_CURRENT]
        self._push()

    def reset_accumulated(self) -> None:
        self._pull()
        for rows in self.counts.values():
            for row in rows:
                row[_ALLOCATED] = row[_FREED] = 0
        self.retries = self.ooms = 0
        self._push()

    def flat(self) -> OrderedDict[str, Any]:
        """The statistics by name, in alphabetical order."""
        self._pull()
        found: dict[str, int] = {}
        for group, rows in self.counts.items():
            for pool, at in _POOLS:
                for i, word in enumerate(_WORDS):
                    found[f"{group}.{pool}.{word}"] = rows[at][i]
        for word in _WORDS:
            found[f"oversize_allocations.{word}"] = found[f"oversize_segments.{word}"] = 0
        found |= {
            "num_alloc_retries": self.retries,
            "num_ooms": self.ooms,
            "num_device_alloc": self.device_allocs,
            "num_device_free": self.device_frees,
            "num_sync_all_streams": self.all_stream_syncs,
            "max_split_size": -1,
        }
        return OrderedDict(sorted(found.items()))


def _change(row: list[int], amount: int) -> None:
    row[_CURRENT] += amount
    if amount >= 0:
        row[_ALLOCATED] += amount
        row[_PEAK] = max(row[_PEAK], row[_CURRENT])
    else:
        row[_FREED] -= amount
