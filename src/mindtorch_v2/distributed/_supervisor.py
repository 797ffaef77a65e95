"""Stands between MPI's launcher and one process of a job: `python _supervisor.py DIRECTORY COMMAND...`.

MPI's launcher ends the processes of a job that has failed at once and for good (SIGKILL), so that none could save
what it has recorded. It ends this process instead; the program, in a process group of its own, is then told by the
system (SIGTERM), and can save. Its process id is noted in the directory, for the launcher of this package to wait for
it, and how it ended, if it failed.

Otherwise it is not to be noticed: it ends with the program's exit code, or by its signal. Needs nothing but Linux and
Python's own library.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time

GRACE_S = 10.0  # that a program which was told to end has to save what it recorded
PREFIX = "program-"  # of the names of files for programs: their process id follows, they hold the supervisor's
ENDED = "ended-"  # of the names of files for programs that failed: when, their process id; they hold the exit code
_INSIDE = "in-group-"  # of the names of files of programs that formed a group and have not left it
_PR_SET_PDEATHSIG = 1


def _run(command: list[str], parent: int) -> None:
    """Becomes the program."""
    try:
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == parent:  # else it has ended already
            os.execv(command[0], command)
    finally:
        os._exit(127)


def _note(directory: str, name: str, value: int) -> None:
    """Keeps a number as a file, whole or not at all; not on machines that do not have the directory."""
    if os.path.isdir(directory):
        draft = os.path.join(directory, f"draft-{os.getpid()}")
        with open(draft, "w", encoding="ascii") as file:
            file.write(str(value))
        os.replace(draft, os.path.join(directory, name))


def note_end(directory: str, pid: int, code: int) -> None:
    """Notes that a program failed: it does so itself where it ends the job, and its supervisor with it."""
    _note(directory, f"{ENDED}{time.time_ns():020d}-{pid}", code)


def inside(directory: str, pid: int) -> str:
    """The file that is there while a program is in a group, where others may wait for it."""
    return os.path.join(directory, f"{_INSIDE}{pid}")


def has_deserters(directory: str) -> bool:
    """Whether programs ended without leaving their group."""
    return any(name.startswith(_INSIDE) for name in os.listdir(directory))


def failed(directory: str) -> list[tuple[str, str]]:
    """(process id, how it ended) of the programs that failed, the first one first."""
    found: dict[str, str] = {}
    for name in sorted(os.listdir(directory)):
        if name.startswith(ENDED):
            with open(os.path.join(directory, name), encoding="ascii") as file:
                code = int(file.read())
            how = f"ended with exit code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
            how += " without leaving its group (os._exit?)" if code == 0 else ""
            found.setdefault(name.rpartition("-")[2], how)
    return list(found.items())


def running(directory: str, orphans: bool) -> list[int]:
    """The process ids of the programs noted in a directory that run; with `orphans` those whose supervisors have
    ended."""
    found = []
    for name in os.listdir(directory):
        if name.startswith(PREFIX):
            with open(os.path.join(directory, name), encoding="ascii") as file:
                supervisor = file.read()
            parent = _parent_of(program := name[len(PREFIX) :])
            if parent and not (orphans and parent == supervisor):
                found.append(int(program))
    return found


def _parent_of(pid: str) -> str:
    """The parent's process id; "" for a process that has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            state, parent = file.read().rpartition(")")[2].split()[:2]
    except OSError:
        return ""
    return "" if state in ("Z", "X") else parent


def _end_as(code: int) -> None:
    """Ends this process as the program has ended."""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its own
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def main() -> None:
    """Runs the command that the arguments name."""
    directory, *command = sys.argv[1:]
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _run(command, parent)
    _note(directory, f"{PREFIX}{child}", parent)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    deserted = code == 0 and os.path.exists(inside(directory, child))
    if code or deserted:
        note_end(directory, child, code)
    _end_as(1 if deserted else code)


if __name__ == "__main__":
    main()
