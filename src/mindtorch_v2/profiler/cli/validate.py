"""Says what is wrong with a file: whether it can be read as it is, and whether its numbers hold together.

The exit code is 0 if all is well, 1 if not, 2 if the file cannot be read at all.
"""

from __future__ import annotations

import argparse
import json
import sys

from ..analysis.validate import validate
from .source import read_profile

EXAMPLE = ("mindprof validate trace.json", "mindprof validate profile.mindprof --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="a saved profile, a trace, or torch_npu's output folder")
    parser.add_argument("--json", action="store_true", help="the answer as a JSON object")


def run(options: argparse.Namespace) -> int:
    found = read_profile(options.file)
    findings = validate(found.store)
    sound = not findings and not found.repairs
    if options.json:
        json.dump(
            {
                "file": options.file,
                "sound": sound,
                "events": len(found.store),
                "repairs": found.repairs,
                "findings": [{"check": f.check, "message": f.message, "rows": list(f.rows)} for f in findings],
            },
            sys.stdout,
            indent=1,
        )
        print()
    else:
        for repair in found.repairs:
            print(f"to read it: {repair}")
        for finding in findings:
            print(f"{finding.check}: {finding.message}" + (f", first in row {finding.rows[0]}" if finding.rows else ""))
        print(f"{options.file}: {len(found.store):,} events, " + ("sound" if sound else "not sound"))
    return 0 if sound else 1
