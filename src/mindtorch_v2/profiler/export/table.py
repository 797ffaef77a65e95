"""The printed table of events or averages: PyTorch's, and one line below it with the count and the total time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _accelerators
from ..analysis.formatting import _format_memory, _format_time_share, flops_scale, format_time_in, printable
from ..analysis.summary import Summary, summarize

_GAP = "  "
_NUMBER_WIDTH = 12
_DEVICE_ALIASES = ("cuda", "xpu", "privateuse1")
_TOP_LEVEL_NOTE = "This report only display top-level ops statistics"

Row = Any  # FunctionEvent or FunctionEventAvg: the table needs only their common attributes


@dataclass(frozen=True)
class Column:
    """One column: its title, width, and how a row's cell is made."""

    title: str
    width: int
    cell: Callable[[Row], str]
    left: bool = False
    continues: bool = False  # the column that further stack frames of a row are printed in

    def align(self, text: str) -> str:
        return (text.ljust(self.width) if self.left else text.rjust(self.width)) + _GAP


def build_table(
    rows: Sequence[Row],
    *,
    sort_by: str | None = None,
    row_limit: int | None = 100,
    max_src_column_width: int | None = 75,
    max_name_column_width: int | None = 55,
    max_shapes_column_width: int | None = 80,
    header: str | None = None,
    top_level_events_only: bool = False,
    time_unit: str | None = None,
    with_flops: bool = False,
    profile_memory: bool = False,
    summary: Summary | None = None,
) -> str:
    """The table as text, ending in a newline; nothing for no rows.

    `sort_by` names any attribute of the rows (AttributeError if they have none of that name); the order is
    descending and keeps the given one among equals. `row_limit` counts printed rows; None or a negative number
    prints all. Widths of None lift the limit on that column. Percentages and the footer are about all rows, whatever
    is printed.
    """
    if not rows:
        return ""
    summary = summary or summarize(rows)
    if summary.has_device_time and not summary.use_device:
        raise RuntimeError("use_device is None, but there is device performance data.")
    if sort_by is not None:
        attribute = device_attribute(sort_by)
        rows = sorted(rows, key=lambda row: getattr(row, attribute), reverse=True)
    printed: Iterable[Row] = (row for row in rows if row.cpu_parent is None) if top_level_events_only else rows
    if row_limit is not None and row_limit >= 0:
        printed = itertools.islice(printed, row_limit)
    columns = [
        *_name_columns(summary, max_name_column_width),
        *_time_columns(summary, time_unit),
        *(_memory_columns(summary) if profile_memory else ()),
        Column("# of Calls", _NUMBER_WIDTH, lambda row: str(row.count)),
        *_detail_columns(summary, max_shapes_column_width, max_src_column_width, with_flops),
    ]
    return "\n".join(_lines(columns, printed, summary, header, top_level_events_only, time_unit)) + "\n"


def device_attribute(name: str) -> str:
    """A metric's name with any accelerator's own name replaced by `device`, the attribute that holds it."""
    for alias in _DEVICE_ALIASES:
        name = name.replace(alias, "device")
    for accelerator in _accelerators.names():
        # with the line, as a short name may be a part of another word
        name = name.replace(f"{accelerator}_", "device_")
    return name


def _cap_width(width: int, limit: int | None) -> int:
    return width if limit is None else min(width, limit)


def _shorten(name: str, limit: int | None) -> str:
    """A name that would fill its column up to the last three characters is cut and ends in dots."""
    return name if limit is None or len(name) < limit - 3 else name[: limit - 3] + "..."


def _path_tail(path: str, width: int) -> str:
    """The end of a source location, which says more than its beginning."""
    if len(path) <= width:
        return path
    tail = path[len(path) - width :]
    return "..." + tail[3:] if width > 3 else tail


def _name_columns(summary: Summary, limit: int | None) -> list[Column]:
    width = _cap_width(summary.longest_name + 4, limit)
    columns = [Column("Name", width, lambda row: _shorten(printable(str(row.key)), limit))]
    if summary.has_overloads:
        columns.append(Column("Overload Name", width, lambda row: _shorten(printable(row.overload_name or ""), limit)))
    return columns


def _share(time_us: float, total_time_us: float) -> str:
    """A part in percent. In a file whose events lie outside of their parents, as `validate` reports, parts of nothing
    may be something: they have no share.
    """
    return _format_time_share(time_us if total_time_us else 0.0, total_time_us)


def _time_columns(summary: Summary, unit: str | None) -> list[Column]:
    def self_share(row: Row) -> str:
        row.self_cpu_percent = _share(row.self_cpu_time_total, summary.self_cpu_us)
        return row.self_cpu_percent

    def total_share(row: Row) -> str:
        row.total_cpu_percent = "0" if row.is_async else _share(row.covered_us, summary.self_cpu_us)
        return row.total_cpu_percent

    def device_share(row: Row) -> str:
        # without it there may still be annotations on a device, which are not part of it
        work = summary.self_device_us
        row.total_device_percent = _format_time_share(row.self_device_time_total if work else 0, work)
        return row.total_device_percent

    def time(attribute: str) -> Callable[[Row], str]:
        return lambda row: format_time_in(getattr(row, attribute), unit)

    cells: list[tuple[str, Callable[[Row], str]]] = [
        ("Self CPU %", self_share),
        ("Self CPU", time("self_cpu_time_total")),
        ("CPU total %", total_share),
        ("CPU total", time("cpu_time_total")),
        ("CPU time avg", time("cpu_time")),
    ]
    if summary.has_device_time:
        device = str(summary.use_device).upper()
        cells += [
            (f"Self {device}", time("self_device_time_total")),
            (f"Self {device} %", device_share),
            (f"{device} total", time("device_time_total")),
            (f"{device} time avg", time("device_time")),
        ]
    return [Column(title, _NUMBER_WIDTH, cell) for title, cell in cells]


def _memory_columns(summary: Summary) -> list[Column]:
    def memory(attribute: str) -> Callable[[Row], str]:
        return lambda row: _format_memory(getattr(row, attribute))

    cells = [("CPU Mem", "cpu_memory_usage"), ("Self CPU Mem", "self_cpu_memory_usage")]
    if summary.use_device and summary.has_device_memory:
        device = summary.use_device.upper()
        cells += [(f"{device} Mem", "device_memory_usage"), (f"Self {device} Mem", "self_device_memory_usage")]
    return [Column(title, _NUMBER_WIDTH, memory(attribute)) for title, attribute in cells]


def _detail_columns(summary: Summary, max_shapes: int | None, max_source: int | None, with_flops: bool) -> list[Column]:
    columns = []
    if summary.has_nodes:
        columns.append(Column("Node ID", _NUMBER_WIDTH, lambda row: str(row.node_id)))
    if summary.longest_shapes:
        shapes_width = _cap_width(summary.longest_shapes + 4, max_shapes)
        columns.append(
            Column("Input Shapes", shapes_width, lambda row: printable(str(row.input_shapes))[:shapes_width])
        )
    if summary.longest_source:
        source_width = _cap_width(summary.longest_source + 4, max_source)
        columns.append(
            Column(
                "Source Location",
                source_width,
                left=True,
                continues=True,
                cell=lambda row: _path_tail(printable(row.stack[0]), source_width) if row.stack else "",
            )
        )
    if with_flops and any(value > 0 for value in summary.flops):
        scale, unit = flops_scale(summary.flops)
        columns.append(
            Column(
                f"Total {unit}",
                _NUMBER_WIDTH,
                lambda row: f"{row.flops * scale:8.3f}" if row.flops and row.flops > 0 else "--",
            )
        )
    return columns


def _lines(
    columns: Sequence[Column],
    rows: Iterable[Row],
    summary: Summary,
    header: str | None,
    top_level: bool,
    unit: str | None,
) -> list[str]:
    rule = "".join("-" * column.width + _GAP for column in columns)
    double_rule = "=" * (sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1))
    lines = [double_rule, header] if header is not None else []
    if top_level:
        lines += [double_rule, _TOP_LEVEL_NOTE]
    lines += [rule, "".join(column.align(column.title) for column in columns), rule]
    source = next((column for column in columns if column.continues), None)
    for row in rows:
        lines.append("".join(column.align(column.cell(row)) for column in columns))
        if source is not None:
            frames = [_path_tail(printable(frame), source.width) for frame in (row.stack or ())[1:]]
            lines += [
                "".join(column.align(frame if column is source else "") for column in columns)
                for frame in [*frames, ""]
            ]
    lines += [rule, f"Self CPU time total: {format_time_in(summary.self_cpu_us, unit)}"]
    if summary.has_device_time:
        lines.append(
            f"Self {str(summary.use_device).upper()} time total: {format_time_in(summary.self_device_us, unit)}"
        )
    lines.append(f"Count: {summary.count}  Total: {format_time_in(summary.self_cpu_us, unit)}")
    return lines
