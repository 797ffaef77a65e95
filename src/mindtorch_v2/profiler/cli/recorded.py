"""Options that say what a profile records beside operators: those of `run` and of `ctl`."""

from __future__ import annotations

import argparse
from typing import Any

_FLAGS = {
    "shapes": "record_shapes",
    "memory": "profile_memory",
    "stacks": "with_stack",
    "modules": "with_modules",
    "flops": "with_flops",
}


def add_recorded(parser: argparse.ArgumentParser, text: str) -> None:
    """One option for each, which help shows together with this text, and one for all."""
    for name in _FLAGS:
        made = parser.add_argument(f"--{name}", action="store_true", help=argparse.SUPPRESS)
        if name == next(iter(_FLAGS)):
            made.help = text
            made.shown_as = " ".join(f"--{flag}" for flag in _FLAGS)  # type: ignore[attr-defined]
    parser.add_argument("--all", action="store_true", help="all of these")


def recorded(options: argparse.Namespace) -> dict[str, Any]:
    """What was asked for, by the names of `profile`'s options."""
    return {full: bool(getattr(options, short) or options.all) for short, full in _FLAGS.items()}
