"""`Compare`: measurements side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum, auto

from . import common

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _VERY_BAD, _BOLD, _END = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"
_NEGLIGIBLE = 100e-9  # seconds by which a result may exceed the best and still count as equal


class Colorize(Enum):
    """What the best result is looked for in."""

    NONE = auto()
    COLUMNWISE = auto()
    ROWWISE = auto()


class Compare:
    """A table per label: rows are sub-labels (or statements), columns descriptions, grouped by the count of threads.

    Results of the same label, sub-label, description, environment and number of threads are joined.
    """

    def __init__(self, results: list[common.Measurement]) -> None:
        self._results: list[common.Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def __str__(self) -> str:
        groups: dict[str | None, list[common.Measurement]] = {}
        for result in common.Measurement.merge(self._results):
            groups.setdefault(result.task_spec.label, []).append(result)
        return "\n".join(
            _Table(group, self._colorize, self._trim_significant_figures, self._highlight_warnings).render()
            for group in groups.values()
        )

    def extend_results(self, results: Sequence[common.Measurement]) -> None:
        for result in results:
            if not isinstance(result, common.Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Shows only the digits that can be trusted."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Marks the best results, and those that are far worse."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Says how far results spread, where that is much."""
        self._highlight_warnings = True

    def print(self) -> None:
        print(str(self))


_Row = tuple[int, str, str]  # threads, environment, name


class _Table:
    """The results of one label."""

    def __init__(self, results: list[common.Measurement], colorize: Colorize, trim: bool, warn: bool) -> None:
        self.results = results
        self.colorize, self.trim, self.warn = colorize, trim, warn
        self.label = results[0].task_spec.label or ""
        self.unit, self.scale = common.select_unit(min(r.median for r in results))
        self.rows: list[_Row] = common.ordered_unique(self._row_of(r) for r in results)
        self.rows.sort(key=lambda row: row[:2])
        self.columns: list[str] = common.ordered_unique(self._column_of(r) for r in results)
        self.cell = {(self._row_of(r), self._column_of(r)): r for r in results}

    @staticmethod
    def _row_of(result: common.Measurement) -> _Row:
        return result.task_spec.num_threads, result.task_spec.env or "", result.as_row_name

    @staticmethod
    def _column_of(result: common.Measurement) -> str:
        return result.task_spec.description or ""

    def render(self) -> str:
        names, columns = self._names(), [self._column(c) for c in self.columns]
        widths = [max(map(len, [title, *cells])) for title, cells in zip(self.columns, columns)]
        header = "  |  ".join(
            [" " * len(names[0]), *(title.center(width) for title, width in zip(self.columns, widths))]
        )
        lines = [f"[{f' {self.label} '.center(len(header) - 2, '-')}]", header]
        threads = None
        for i, row in enumerate(self.rows):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(len(header), "-"))
            cells = [
                self._color(cells[i].center(width), row, title)
                for cells, width, title in zip(columns, widths, self.columns)
            ]
            lines.append("  |  ".join([names[i], *cells]))
        lines += ["", f"Times are in {common.unit_to_english(self.unit)}s ({self.unit})."]
        if self.warn and any(result.has_warnings for result in self.results):
            lines.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join(lines) + "\n"

    def _names(self) -> list[str]:
        """The rows' names, with the environment where it is another one than above. One that all share is left out."""
        differ = len({row[1] for row in self.rows}) > 1
        environments = [
            f"({row[1]})" if differ and row[1] and (i == 0 or self.rows[i - 1][:2] != row[:2]) else ""
            for i, row in enumerate(self.rows)
        ]
        width = max(2, *map(len, environments))
        texts = [f"  {environment:<{width}}  {row[2]}" for environment, row in zip(environments, self.rows)]
        longest = max(map(len, texts))
        return [text.ljust(longest) for text in texts]

    def _column(self, title: str) -> list[str]:
        """One text per row, points below one another."""
        found = [self.cell.get((row, title)) for row in self.rows]
        there = [r for r in found if r is not None]
        leading = {id(r): math.ceil(math.log10(r.median / self.scale)) for r in there}
        decimals = min(max(r.significant_figures - leading[id(r)], 0) for r in there) if self.trim else 1
        width = max(leading.values()) + decimals + bool(decimals)
        notes = {id(r): f" (! {r.iqr / r.median * 100:.0f}%)" if self.warn and r.has_warnings else "" for r in there}
        note_width = max(map(len, notes.values()))
        texts = []
        for result in found:
            if result is None:
                texts.append("")
                continue
            value = result.median / self.scale
            value = common.trim_sigfig(value, result.significant_figures) if self.trim else value
            texts.append(f"{value:>{width}.{decimals}f}{notes[id(result)]:<{note_width}}")
        return texts

    def _color(self, text: str, row: _Row, title: str) -> str:
        result = self.cell.get((row, title))
        if result is None or self.colorize is Colorize.NONE:
            return text
        along_row = self.colorize is Colorize.ROWWISE
        rivals = [
            r
            for (a_row, a_title), r in self.cell.items()
            if (a_row == row if along_row else (a_title, a_row[0]) == (title, row[0]))
        ]
        best, time = min(r.median for r in rivals), result.median
        if time <= best * 1.01 or time <= best + _NEGLIGIBLE:
            return _BEST + _BOLD + text + _END * 2
        if time <= best * 1.1:
            return _GOOD + _BOLD + text + _END * 2
        if time >= best * 5:
            return _VERY_BAD + _BOLD + text + _END * 2
        return _BAD + text + _END * 2 if time >= best * 2 else text
