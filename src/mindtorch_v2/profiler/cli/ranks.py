"""Prints what the profiles of all ranks of a job say."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from ..analysis.formatting import printable
from ..results.ranks import RanksProfile, load_ranks
from .main import UsageError
from .terminal import Terminal, percent, size, time, warn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How folders of many ranks are read."""
    parser.add_argument("--workers", type=int, metavar="N", help="of a folder with many ranks: processes that read it")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a folder with many ranks: a Dask scheduler")


def load(options: argparse.Namespace, source: str) -> RanksProfile:
    try:
        found = load_ranks(source, workers=options.workers, scheduler=options.scheduler)
    except RuntimeError as error:  # Dask is not installed
        raise UsageError(str(error)) from error
    for problem in found.problems:
        warn(problem)
    return found


def show(options: argparse.Namespace) -> int:
    job = load(options, options.file)
    answer = job.as_json(max(options.rows, 1))
    if options.json:
        json.dump({"folder": options.file, **answer}, sys.stdout, indent=1, allow_nan=False)
        sys.stdout.write("\n")
    else:
        print_ranks(answer, options.file, options.rows, Terminal())
    return 0


def report(options: argparse.Namespace, target: str) -> int:
    load(options, options.files[0]).export_report(target)
    print(f"{target}: {size(os.path.getsize(target))}, open it in a browser")
    return 0


def print_ranks(answer: dict[str, Any], name: str, rows: int, out: Terminal) -> None:
    """The answer for a person."""
    out.line(out.style(printable(name), "bold") + f": {answer['ranks']} ranks")
    out.line(out.style(answer["verdict"], "bold", "green"))
    _print_times(answer["time_by_rank"], rows, out)
    if answer["imbalance"]:
        out.title("Imbalance: where the slowest rank takes longer than the mean")
        found = answer["imbalance"][:rows]
        out.rows(
            ("module or operator", "longer by", "mean", "slowest", "ratio", "rank"),
            [
                (
                    row["name"],
                    time(row["excess_ns"]),
                    time(row["mean_ns"]),
                    time(row["slowest_ns"]),
                    f"{row['ratio']:.2f}",
                    str(row["slowest_rank"]),
                )
                for row in found
            ],
        )
    if answer["bandwidths"]:
        out.title("Collectives: transfer without waiting")
        out.rows(
            ("collective", "bytes", "ranks", "count", "median", "algorithm", "bus"),
            [
                (
                    row["name"],
                    size(row["nbytes"]) if row["nbytes"] else "--",
                    str(row["size"]),
                    f"{row['times']:,}",
                    time(row["transfer_ns"]),
                    f"{row['algorithm'] / 1e9:.3g} GB/s" if row["nbytes"] else "--",
                    f"{row['bus'] / 1e9:.3g} GB/s" if row["nbytes"] else "--",
                )
                for row in answer["bandwidths"]
            ],
        )
    _print_clocks(answer["alignment"], out)


def _print_times(found: list[dict[str, Any]], rows: int, out: Terminal) -> None:
    parts = ("compute", "transfer", "waiting", "input", "other")
    printed = found if len(found) <= max(rows, 16) else sorted(found, key=lambda row: -row["waiting_ns"])[:rows]
    out.title("Time by rank" if printed is found else f"Time by rank: the {rows} that wait most")
    out.rows(
        ("rank", *parts, "all"),
        [
            (
                str(row["rank"]),
                *(f"{time(row[f'{part}_ns'])} {percent(row[f'{part}_ns'] / max(row['wall_ns'], 1))}" for part in parts),
                time(row["wall_ns"]),
            )
            for row in printed
        ],
    )


def _print_clocks(found: list[dict[str, Any]], out: Terminal) -> None:
    known = [row["uncertainty_ns"] for row in found if row["uncertainty_ns"] is not None]
    sources = sorted({row["source"] for row in found if row["source"] != "reference"})
    out.line()
    lost = len(found) - len(known)
    told = f"; {lost} ranks are not aligned" if lost else f"; known to {time(max(known, default=0))} at worst"
    out.line(f"Clocks: {', '.join(sources) or 'one rank'}{told}")
