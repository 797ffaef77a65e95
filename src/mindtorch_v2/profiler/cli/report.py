"""Writes one self-contained HTML page of one or more profiles: no network, no server, opened by double click."""

from __future__ import annotations

import argparse
import os

from ..report import write
from .main import UsageError
from .terminal import size

EXAMPLE = ("mindprof report profile.mindprof -o report.html", "mindprof report traces-of-all-ranks/ -o job.html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="saved profiles, traces, torch_npu's output folders, or one folder of a job's ranks",
    )
    parser.add_argument("-o", "--output", metavar="HTML", help="the page (the first file's name with .html)")
    from . import ranks

    ranks.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from ..ranks.files import is_job  # `mindprof run` needs none of these
    from . import ranks
    from .source import open_profile

    target = options.output or default_page(options.files[0])
    if any(
        os.path.exists(file) and os.path.exists(target) and os.path.samefile(file, target) for file in options.files
    ):
        raise UsageError(f"the page would replace {target!r}, which is to be read")
    if len(options.files) == 1 and is_job(options.files[0]):
        return ranks.report(options, target)
    write([(os.path.basename(os.path.normpath(file)), open_profile(file)) for file in options.files], target)
    print(f"{target}: {size(os.path.getsize(target))}, open it in a browser")
    return 0


def default_page(path: str) -> str:
    """`dir/trace.json.gz` -> `dir/trace.html`."""
    base = os.path.normpath(path)
    for ending in (".gz", ".json", ".mindprof", ".mtprof"):
        base = base.removesuffix(ending)
    return base + ".html"
