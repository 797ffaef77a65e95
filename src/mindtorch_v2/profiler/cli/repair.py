"""Writes a mended copy of a damaged trace: text among the times, invalid JSON, a file that was cut off, ids that
readers round.

The copy is a trace, or a saved profile if its name does not end in .json or .json.gz.
"""

from __future__ import annotations

import argparse

from ..analysis.validate import validate
from .convert import write_as
from .source import read_profile

EXAMPLE = ("mindprof repair killed.json mended.json.gz", "mindprof repair ASCEND_PROFILER_OUTPUT profile.mindprof")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the trace, or torch_npu's output folder")
    parser.add_argument("output", help="the copy")


def run(options: argparse.Namespace) -> int:
    found = read_profile(options.file)
    write_as(found.store, options.output)
    for repair in found.repairs:
        print(repair)
    left = validate(found.store)
    for finding in left:
        print(f"left as it is: {finding.check}: {finding.message}")
    print(
        f"{options.output}: {len(found.store):,} events"
        + ("" if found.repairs or left else ", nothing had to be mended")
    )
    return 0
