"""Where the output of a job's processes goes: files (`--redirects`), files and the terminal (`--tee`), or nowhere
(`--local-ranks-filter`), as PyTorch's launcher has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

_VARIABLE = "MINDTORCH_DISTRIBUTED_LOGS"
_STREAMS = ((1, "stdout"), (2, "stderr"))  # the file descriptor of a stream is its bit in the codes too


def codes(text: str) -> dict[str, int]:
    """What "3" or "0:1,1:3" says: for each local rank ("" for all others) the sum of 1 (stdout) and 2 (stderr).
    ValueError for anything else."""
    found: dict[str, int] = {}
    for part in text.split(","):
        rank, colon, code = part.rpartition(":")
        if code not in ("0", "1", "2", "3") or (colon and not rank.isdecimal()):
            raise ValueError(f"expected 0, 1, 2, 3 or RANK:CODE,..., got {text!r}")
        found[rank] = int(code)
    return found


def environment(folder: str, redirects: str, tee: str, shown: str) -> dict[str, str]:
    """What tells the processes of a job; {} where all is printed. `folder` gets a folder for each local rank."""
    told: dict[str, Any] = {"redirects": codes(redirects), "tee": codes(tee)}
    told["shown"] = [int(rank) for rank in shown.split(",")] if shown else None
    if not (any(told["redirects"].values()) or any(told["tee"].values()) or shown):
        return {}
    return {_VARIABLE: json.dumps({**told, "folder": os.path.abspath(folder)})}


def apply(local_rank: int) -> None:
    """Directs what this process prints."""
    text = os.environ.pop(_VARIABLE, "")
    if not text:
        return
    told = json.loads(text)
    for descriptor, name in _STREAMS:
        both = _code(told["tee"], local_rank) & descriptor
        to_file = both or _code(told["redirects"], local_rank) & descriptor
        is_shown = (both or not to_file) and (told["shown"] is None or local_rank in told["shown"])
        if is_shown and not to_file:
            continue
        path = os.devnull
        if to_file:
            folder = os.path.join(told["folder"], str(local_rank))
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, f"{name}.log")
        _direct(descriptor, path, bool(is_shown))


def _code(told: dict[str, int], local_rank: int) -> int:
    return told.get(str(local_rank), told.get("", 0))


def _direct(descriptor: int, path: str, also_here: bool) -> None:
    """Has a stream go to a file, and to where it went before too."""
    (sys.stdout if descriptor == 1 else sys.stderr).flush()
    if also_here:
        copier = subprocess.Popen(["tee", path], stdin=subprocess.PIPE, stdout=descriptor, start_new_session=True)
        assert copier.stdin is not None
        os.dup2(copier.stdin.fileno(), descriptor)
        copier.stdin.close()
        copier.returncode = 0  # it ends with its input, when this process has gone
        return
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(file, descriptor)
    os.close(file)
