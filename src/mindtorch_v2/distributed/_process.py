"""One process of a job: `python -m mindtorch_v2.distributed._process script.py args`, as the launcher starts it.

Runs the program as `python -m mindtorch_v2` does. An error ends the whole job: a process that fails while others
wait for it in MPI would leave them waiting. MPI's launcher ends all processes at the first failure and drops what
they were printing, so an error is first saved as a file, which the launcher of this package prints at the end.
A process that is ended (SIGTERM, which `_supervisor` sends when the job has failed elsewhere) leaves its program as by
an exception: what is to be done at the end of `with` blocks is done, and profiles are handed to their handlers.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
import traceback
from types import FrameType

from . import _failures, _logs, _status, _supervisor
from ._mpi import rank_from_environment

_parent = os.getppid()


def _export_rank() -> None:
    """Tells the program its rank by the names that PyTorch's launcher uses."""
    info = rank_from_environment()
    if info is not None:
        os.environ.update(
            RANK=str(info.rank),
            WORLD_SIZE=str(info.size),
            LOCAL_RANK=str(info.local_rank),
            LOCAL_WORLD_SIZE=str(info.local_size),
            GROUP_RANK=str(info.rank // max(1, info.local_size)),
            ROLE_RANK=str(info.rank),
            ROLE_WORLD_SIZE=str(info.size),
        )
        for name, value in (("ROLE_NAME", "default"), ("GROUP_WORLD_SIZE", str(info.size // max(1, info.local_size)))):
            os.environ.setdefault(name, value)
        _status.note_process(info.rank)
        _logs.apply(info.local_rank)


class _Terminated(SystemExit):
    """The process was told to end."""


def _terminate(signal_id: int, frame: FrameType | None) -> None:
    signal.signal(signal_id, signal.SIG_DFL)  # a second one ends it at once
    if _job_is_over():  # nobody reads what is printed, and printing must not fail
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
    if _is_leaving():
        return
    raise _Terminated(128 + signal_id)


def _is_leaving() -> bool:
    """Whether the main thread handles a failed communication: its program leaves by that already, and what it saves on
    the way is not to be interrupted. Processes that wait for one that is gone learn it at about the same time, and the
    first of them ends the job."""
    from .work import DistError

    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, DistError):
        error = error.__context__
    return error is not None


def _end_where_stuck() -> None:
    """Ends this process for good some time after it was told to end (SIGTERM), if it is still there.

    A process that waits inside MPI for others that are gone does not come to run Python's signal handlers, and nobody
    is left to end it where the launcher was killed. The interpreter writes the signal into a pipe at once; a thread
    reads it.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # a child's signals are not this process's

    def watch() -> None:
        while signal.SIGTERM not in os.read(reader, 64):
            pass
        time.sleep(_supervisor.GRACE_S)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="end of the job", daemon=True).start()


def _job_is_over() -> bool:
    return os.getppid() != _parent


def _end_job(code: int) -> None:
    """Ends all processes of the job, if MPI runs, with this exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    if _job_is_over():
        os._exit(code)
    _supervisor.note_end(_status.directory(), os.getpid(), code)
    module = sys.modules.get("mpi4py.MPI")
    if (
        module is not None
        and module.Is_initialized()
        and not module.Is_finalized()
        and module.COMM_WORLD.Get_size() > 1
    ):
        module.COMM_WORLD.Abort(code)
    os._exit(code)


def main() -> None:
    """Runs the program that the command line names."""
    _export_rank()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # whole lines: what several processes print is not mixed within one
            stream.reconfigure(line_buffering=True, write_through=False)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
        _end_where_stuck()
    from ..__main__ import run as run_program

    try:
        code = run_program(sys.argv[1:])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001  - whatever ends the program ends the job
        if not _failures.save(traceback.format_exc()):
            traceback.print_exc()
        _end_job(1)
    if code:
        _end_job(code)


if __name__ == "__main__":
    main()
