"""Controls a running process: starts and stops a profile of it, has its flight recorder write, or tells what it does.

The process listens if it was started with MINDPROF=listen or has called torch.profiler.listen().
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from ..capture.control import COMMANDS
from ..capture.sockets import ControlError, ask, find_socket
from .main import UsageError
from .recorded import add_recorded, recorded
from .terminal import time

EXAMPLE = ("MINDPROF=flight,listen python train.py &", "mindprof ctl $! start --shapes; sleep 10; mindprof ctl $! stop")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "mindprof ctl [options] pid {" + ",".join(COMMANDS) + "}"
    parser.add_argument("pid", help="the process's id, or the path of its socket")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("-o", "--output", metavar="FILE", help="of start, stop, dump: what is written")
    add_recorded(parser, "of start: record these, too")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def run(options: argparse.Namespace) -> int:
    flags = {name: True for name, wanted in recorded(options).items() if wanted}
    request: dict[str, Any] = {"command": options.command, **flags}
    if options.output is not None:
        request["output"] = os.path.abspath(options.output)
    elif options.command == "start":
        request["output"] = os.path.abspath(f"profile-{os.path.basename(options.pid)}.mindprof")
    try:
        answer = ask(_socket_of(options.pid), request)
    except ControlError as error:
        print(f"mindprof: {error}", file=sys.stderr)
        return 1
    print(json.dumps(answer, indent=1) if options.json else _text(options.command, answer))
    return 0


def _socket_of(text: str) -> str:
    if text.isascii() and text.isdigit():
        return find_socket(int(text))
    if not os.path.exists(text):
        raise UsageError(f"{text!r} is neither the number of a process nor a socket")
    return text


def _text(command: str, answer: dict[str, Any]) -> str:
    if command == "start":
        return f"recording; `stop` writes {answer['output']}"
    if command == "stop":
        return f"{answer['events']:,} events of {answer['seconds']:.1f} s: {answer['output']}"
    if command == "dump":
        return str(answer["output"])
    recording, flight = answer["recording_seconds"], answer["flight"]
    lines = [f"process {answer['pid']}: {' '.join(map(str, answer['program']))}"]
    lines.append("recording: no" if recording is None else f"recording: for {recording:.1f} s")
    lines.append(f"profiles that the program has open itself: {answer['own_profiles']}")
    if flight is None:
        lines.append("flight recorder: off")
    else:
        usual = time(flight["median_step_ms"] * 1e6) if flight["median_step_ms"] else "unknown"
        lines.append(
            f"flight recorder: the last {flight['seconds']:g} s, {flight['kept_events']:,} events kept, "
            f"{flight['steps']:,} steps (median {usual}), {len(flight['dumps'])} files written"
        )
    return "\n".join(lines)
