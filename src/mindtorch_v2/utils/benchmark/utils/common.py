"""What was measured, and what it tells."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...._python.functions import get_num_threads, set_num_threads

__all__ = [
    "TaskSpec",
    "Measurement",
    "select_unit",
    "unit_to_english",
    "trim_sigfig",
    "ordered_unique",
    "set_torch_threads",
]

_MAX_SIGNIFICANT_FIGURES = 4
_MIN_CONFIDENCE_INTERVAL = 25e-9  # what the clock and the call of it cannot resolve, in seconds
_Z_90 = 1.645  # a normal variable lies within so many deviations in nine of ten cases
_IQR_WARN_THRESHOLD = 0.1
_IQR_GROSS_WARN_THRESHOLD = 0.25
_LEAST_FOR_SPREAD = 4  # with fewer measurements quartiles say nothing
_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1.0)}


@dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was measured: the statement with what prepares it, names for tables, and the count of threads."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement; with the sub-label."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, one below the other; parts of several lines are set off by an empty one."""
        parts = [self.title, self.description or "", *([self.setup_str()] if self.setup_str() else [])]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


@dataclass(init=True, repr=False)
class Measurement:
    """The times that runs of a task took: `raw_times` has seconds of `number_per_run` runs each."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None  # for those who keep results

    @cached_property
    def _sorted_times(self) -> list[float]:
        return sorted(self.times)

    @property
    def times(self) -> list[float]:
        """Seconds per run."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        return float(np.median(self._sorted_times))

    @property
    def mean(self) -> float:
        return statistics.mean(self._sorted_times)

    @property
    def _quartiles(self) -> tuple[float, float]:
        return float(np.quantile(self._sorted_times, 0.25)), float(np.quantile(self._sorted_times, 0.75))

    @property
    def iqr(self) -> float:
        """The distance of the quartiles."""
        low, high = self._quartiles
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many digits of the median can be trusted. The half in the middle is taken for a normal sample, which
        leaves interruptions out; its mean is known to within 1.645 deviations by the square root of its size.
        """
        count = len(self._sorted_times)
        middle = self._sorted_times[count // 4 : math.ceil(3 * count / 4)]
        half_width = max(_Z_90 * float(np.std(middle)) / math.sqrt(len(middle)), _MIN_CONFIDENCE_INTERVAL)
        digits = math.floor(math.log10(self.median / half_width)) if self.median > 0 else 1
        return min(max(digits, 1), _MAX_SIGNIFICANT_FIGURES)

    @property
    def has_warnings(self) -> bool:
        return not self.meets_confidence(_IQR_WARN_THRESHOLD)

    def meets_confidence(self, threshold: float = _IQR_WARN_THRESHOLD) -> bool:
        """Whether the quartiles are no further apart than this part of the median."""
        return len(self.raw_times) < _LEAST_FOR_SPREAD or self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count, threads = len(self.raw_times), self.task_spec.num_threads
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count >= _LEAST_FOR_SPREAD:
            low, high = self._quartiles
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        lines.append(
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement' if count > 1 else ''}, {threads} thread{'s' if threads > 1 else ''}"
        )
        lines += self._warnings()
        return "\n".join(lines)

    def _warnings(self) -> list[str]:
        if not self.has_warnings:
            return []
        gross = not self.meets_confidence(_IQR_GROSS_WARN_THRESHOLD)
        meaning = (
            "This suggests significant environmental influence." if gross else "This could indicate system fluctuation."
        )
        return [
            f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement.",
            f"           {meaning}",
        ]

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Replicates joined: one measurement per task, in seconds of single runs."""
        tasks: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            tasks.setdefault(measurement.task_spec, []).append(measurement)
        return [Measurement(1, [time for m in group for time in m.times], task) for task, group in tasks.items()]


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time has one to three digits before the point: (its name, its seconds)."""
    exponent = int(math.log10(t) // 3) if t > 0 else 0
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(exponent, "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """The number with `n` significant figures."""
    if n != int(n):
        raise AssertionError(f"n must be an integer, got {n!r}")
    if x == 0:
        return 0.0
    scale = 10.0 ** (math.floor(math.log10(abs(x))) + 1 - n)
    return float(round(x / scale) * scale)


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Each element once, in the order of first appearance."""
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """The count of threads of kernels inside the block."""
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)
