"""Starts a program in several processes: `python -m mindtorch_v2.distributed.run --nproc-per-node 4 train.py
--epochs 3`.

Takes the options of PyTorch's `torchrun` and starts MPI's `mpiexec` underneath. Every process finds RANK,
LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT; its output is prefixed with its rank. When one
fails, all are ended, its traceback is printed, and the exit code is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence

from .. import _accelerators
from . import _clock, _failures, _logs, _status, _supervisor
from ._mpi import HOW_TO_INSTALL, is_installed

__all__ = ["main"]
_NOT_NEEDED = (  # torchrun's; MPI has no use for them
    "node-rank",
    "max-restarts",
    "monitor-interval",
    "local-addr",
    "rdzv-backend",
    "rdzv-endpoint",
    "rdzv-id",
    "rdzv-conf",
    "start-method",
    "logs-specs",
    "event-log-handler",
    "numa-binding",
    "signals-to-handle",
    "shutdown-timeout",
    "duplicate-stdout-filters",
    "duplicate-stderr-filters",
)
_LOOK = 0.2  # seconds between looks at them


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2.distributed.run",
        description=__doc__.split("\n\n")[0] if __doc__ else None,
        epilog="example: python -m mindtorch_v2.distributed.run --nproc-per-node 2 train.py --epochs 3",
    )
    add = parser.add_argument
    add(
        "--nproc-per-node",
        "--nproc_per_node",
        default="1",
        help="processes on each machine; 'gpu': one for each accelerator, 'cpu': for each processor, 'auto': either",
    )
    add("--nnodes", default="1", help="machines; more than one need --hosts or --hostfile")
    add("--hosts", help="names of the machines, separated by commas")
    add("--hostfile", help="a file with the names of the machines, one a line")
    add("--mpiexec", help="MPI's launcher, if it is not the first that is found")
    add("--master-addr", "--master_addr", default="127.0.0.1", help="told to the program; MPI does not need it")
    add("--master-port", "--master_port", type=int, default=29500, help="told to the program; MPI does not need it")
    add("--no-prefix", action="store_true", help="print what processes print as it is, without their rank")
    add("-m", "--module", action="store_true", help="the program is a module")
    add("--no-python", "--no_python", action="store_true", help="the program is no Python program")
    add("-r", "--redirects", default="0", help="write output to files: 1 stdout, 2 stderr, 3 both, or RANK:CODE,...")
    add("-t", "--tee", default="0", help="write output to files and print it, as --redirects")
    add("--log-dir", "--log_dir", help="the folder of these files; a new one in the temporary folder without it")
    add("--local-ranks-filter", "--local_ranks_filter", default="", help="print these local ranks' output only: 0,1")
    add("--role", default="default", help="told to the program as ROLE_NAME")
    for name in ("standalone", "run-path"):
        add(f"--{name}", f"--{name.replace('-', '_')}", action="store_true", help=argparse.SUPPRESS)
    for name in _NOT_NEEDED:
        add(f"--{name}", f"--{name.replace('-', '_')}", help=argparse.SUPPRESS)
    add("program", help="the script or module")
    add("arguments", nargs=argparse.REMAINDER, help="what it is given")
    for action in parser._actions:  # PET_NNODES=2 and others, as torchrun reads them; what is given here counts
        if action.option_strings and f"PET_{action.dest.upper()}" in os.environ:
            text = os.environ[f"PET_{action.dest.upper()}"]
            action.default = text == "1" if action.const is True else text
    return parser


def _processes(text: str, parser: argparse.ArgumentParser) -> int:
    if text in ("auto", "gpu", "xpu") or (text.isidentifier() and _accelerators.knows(text)):
        from .. import accelerator

        if count := accelerator.device_count():
            return count
        if text != "auto":
            parser.error(f"--nproc-per-node {text}: there is no accelerator here; give a number, or 'cpu'")
    if text in ("auto", "cpu"):
        return len(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) < 1:
        parser.error(f"--nproc-per-node takes a positive number, 'auto', 'gpu' or 'cpu', got {text!r}")
    return int(text)


def _launcher(wanted: str | None, parser: argparse.ArgumentParser) -> str:
    """The path of mpiexec: the one that was asked for, the one beside this Python, or the first in PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    found = wanted or (beside if os.path.exists(beside) else shutil.which("mpiexec"))
    if found is None or not is_installed():
        parser.error(f"{'mpi4py is not installed' if found else 'there is no mpiexec'}. {HOW_TO_INSTALL}")
    return found


def _command(
    options: argparse.Namespace, parser: argparse.ArgumentParser, directory: str
) -> tuple[list[str], dict[str, str]]:
    """What to run, and its environment."""
    per_node, nodes = _processes(options.nproc_per_node, parser), int(options.nnodes.split(":")[-1])
    mpiexec = _launcher(options.mpiexec, parser)
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False).stdout
    open_mpi = "Open MPI" in version or "OpenRTE" in version
    command = [mpiexec, "-n", str(per_node * nodes)]
    if nodes > 1 and not (options.hosts or options.hostfile):
        parser.error("several machines need --hosts or --hostfile")
    if options.hosts:
        command += ["--host" if open_mpi else "-hosts", options.hosts]
    if options.hostfile:
        command += ["--hostfile" if open_mpi else "-f", options.hostfile]
    if nodes > 1 and not open_mpi:
        command += ["-ppn", str(per_node)]
    if open_mpi:
        command += ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
    if not options.no_prefix and per_node * nodes > 1:
        command += ["--tag-output"] if open_mpi else ["-prepend-rank"]
    environment = {
        **os.environ,
        "MASTER_ADDR": options.master_addr,
        "MASTER_PORT": str(options.master_port),
        "TORCHELASTIC_RUN_ID": uuid.uuid4().hex,
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "False",
        "ROLE_NAME": options.role,
        "GROUP_WORLD_SIZE": str(nodes),
        "LOCAL_WORLD_SIZE": str(per_node),
        **_log_environment(options, parser),
        "PYTHONUNBUFFERED": "1",
    }
    if open_mpi:  # which otherwise kills processes one second after the end of the job, while they save their profiles
        for prefix in ("OMPI_MCA", "PRTE_MCA"):
            environment.setdefault(f"{prefix}_odls_base_sigkill_timeout", str(int(_supervisor.GRACE_S) + 2))
    if per_node > 1:
        environment.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // per_node)))
    return [*command, *_runner(options, directory), options.program, *options.arguments], environment


def _log_environment(options: argparse.Namespace, parser: argparse.ArgumentParser) -> dict[str, str]:
    """What tells the processes where their output goes."""
    try:
        told = _logs.environment(options.log_dir or "", options.redirects, options.tee, options.local_ranks_filter)
        if told and not options.log_dir and (options.redirects, options.tee) != ("0", "0"):
            folder = tempfile.mkdtemp(prefix="mindtorch-logs-")
            print(f"output is written to {folder}", file=sys.stderr)
            told = _logs.environment(folder, options.redirects, options.tee, options.local_ranks_filter)
    except ValueError as error:
        parser.error(f"--redirects, --tee, --local-ranks-filter: {error}")
    return told


def _runner(options: argparse.Namespace, directory: str) -> list[str]:
    """What runs the program in each process."""
    if options.no_python:
        return []
    program = [sys.executable, "-m", "mindtorch_v2.distributed._process", *(["-m"] if options.module else [])]
    if sys.platform != "linux":
        return program
    return [sys.executable, "-I", "-S", _supervisor.__file__, directory, *program]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix=f"mindtorch-{socket.gethostname()}-") as directory:
        command, environment = _command(options, parser, directory)
        environment["MINDTORCH_DISTRIBUTED_STATUS"] = directory
        clock = _clock.ClockServer(socket.gethostname() if int(options.nnodes.split(":")[-1]) > 1 else "127.0.0.1")
        environment[_clock.VARIABLE] = clock.address
        child = subprocess.Popen(command, env=environment)
        code = _wait(child, directory) or int(_supervisor.has_deserters(directory))
        _print_failures(directory, prefix=not options.no_prefix)
        if code:
            _print_summary(directory)
        return code


def _wait(child: subprocess.Popen[bytes], directory: str) -> int:
    """Waits for MPI's launcher, and for programs of a job that has failed: they save what they have recorded. Those
    that take longer than the grace (they wait for others inside MPI, say) are ended for good; MPI's launcher itself
    waits for what they print.
    """
    end = 0.0
    while True:
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):  # mpiexec got Ctrl-C too, and ends all
            child.wait(_LOOK)
        left = _supervisor.running(directory, orphans=child.returncode is None)
        if child.returncode is not None and not left:
            return child.returncode
        end = end or (time.monotonic() + _supervisor.GRACE_S if left else 0.0)
        for pid in left if end and time.monotonic() > end else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if child.returncode is not None:
            time.sleep(_LOOK)


def _print_failures(directory: str, prefix: bool) -> None:
    """Prints the tracebacks of processes that failed, each line with its rank."""
    for rank, text in _failures.read(directory):
        for line in text.splitlines():
            print(f"[{rank}] {line}" if prefix else line, file=sys.stderr)


def _print_summary(directory: str) -> None:
    """Prints which processes ended the job and what all were doing, unless an error has told that."""
    ranks = {pid: rank for rank, pid in _status.process_ids(directory).items()}
    told = any(_status.LAST in text for _, text in _failures.read(directory))
    parts = [f"Rank {ranks[pid]} {how}." for pid, how in _supervisor.failed(directory) if pid in ranks]
    parts += [] if told else [_status.summary(directory)]
    if text := " ".join(part for part in parts if part):
        print(f"The job failed. {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
