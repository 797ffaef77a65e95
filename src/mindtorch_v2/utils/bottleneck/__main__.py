"""Runs a script under two profilers and prints what they found; see the package's docstring."""

from __future__ import annotations

import argparse
import cProfile
import io
import os
import platform
import pstats
import sys
from types import CodeType
from typing import Any

import numpy

from ..._version import __version__
from ...profiler import profile

_ROOT = __package__.partition(".")[0]
_RULE = "-" * 80
_ROWS = 15


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m {_ROOT}.utils.bottleneck",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Summarises where a script spends its time: under cProfile, and operator by operator.",
        epilog="The script runs twice and must end by itself. Results of scripts that take very short or very long "
        "may mislead.",
    )
    parser.add_argument("scriptfile", type=str, help="the script to run")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")
    return parser.parse_args()


def _section(title: str, text: str) -> str:
    return f"{_RULE}\n  {title}\n{_RULE}\n{text}\n"


def _environment() -> str:
    return (
        f"{_ROOT} {__version__}\nRunning with Python {platform.python_version()} and numpy {numpy.__version__} on "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    )


def _run(code: CodeType, path: str) -> None:
    """Runs the script as the main program. One that ends with `sys.exit()` has ended well."""
    space: dict[str, Any] = {"__file__": path, "__name__": "__main__", "__package__": None, "__cached__": None}
    try:
        exec(code, space)
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise


def _python_profile(code: CodeType, path: str) -> str:
    """The functions that took most time themselves."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        _run(code, path)
    finally:
        profiler.disable()
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(_ROWS)
    return text.getvalue().strip()


def _operator_profile(code: CodeType, path: str) -> str:
    """The calls of operators that took most time."""
    with profile() as prof:
        _run(code, path)
    table = prof.events().table(sort_by="cpu_time_total", row_limit=_ROWS, top_level_events_only=True)
    return f"        top {_ROWS} events sorted by cpu_time_total\n\n{table}"


def main() -> None:
    given = _arguments()
    with open(given.scriptfile, "rb") as file:
        code = compile(file.read(), given.scriptfile, "exec")
    sys.argv = [given.scriptfile, *given.args]
    sys.path.insert(0, os.path.dirname(os.path.abspath(given.scriptfile)))
    sections = [("Environment Summary", _environment())]
    print("Running the script with cProfile", flush=True)
    sections.append(("cProfile output", _python_profile(code, given.scriptfile)))
    print("Running the script with the autograd profiler...", flush=True)
    sections.append(("autograd profiler output (CPU mode)", _operator_profile(code, given.scriptfile)))
    for title, text in sections:
        print(_section(title, text))


if __name__ == "__main__":
    main()
