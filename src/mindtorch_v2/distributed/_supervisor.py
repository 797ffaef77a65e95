"""Stands between MPI's launcher and one process of a job: `python _supervisor.py DIRECTORY COMMAND...`.

MPI's launcher ends the processes of a job that has failed at once and for good (SIGKILL), so that none could save
what it has recorded. It ends this process instead; the program, in a process group of its own, is then told by the
system (SIGTERM), and can save. Its process id is noted in the directory, for the launcher of this package to wait for
it.

Otherwise it is not to be noticed: it ends with the program's exit code, or by its signal. Needs nothing but Linux and
Python's own library.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

GRACE_S = 10.0  # that a program which was told to end has to save what it recorded
PREFIX = "program-"  # of the names of files for programs: their process id follows, they hold the supervisor's
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


def _note(directory: str, child: int) -> None:
    draft = os.path.join(directory, f"draft-{os.getpid()}")
    with open(draft, "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    os.replace(draft, os.path.join(directory, f"{PREFIX}{child}"))


def orphans(directory: str) -> list[int]:
    """The process ids of the programs noted in a directory that run and whose supervisors have ended."""
    found = []
    for name in os.listdir(directory):
        if name.startswith(PREFIX):
            with open(os.path.join(directory, name), encoding="ascii") as file:
                supervisor = file.read()
            if _parent_of(program := name[len(PREFIX) :]) not in ("", supervisor):
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


def _end_as(status: int) -> None:
    """Ends this process as the program has ended."""
    code = os.waitstatus_to_exitcode(status)
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
    if os.path.isdir(directory):  # not on other machines
        _note(directory, child)
    _end_as(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main()
