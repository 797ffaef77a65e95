"""Profiles a program without changing it: `sys.argv`, `__main__`, the exit code, exceptions and signals are as
without it.

`import torch` in it means this package. The profile is written however the program ends, short of SIGKILL.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn

from .main import ProgramInterrupted, UsageError, parser_of
from .terminal import Terminal, size, warn

EXAMPLE = (
    "mindprof run train.py --epochs 1",
    "mindprof run --all --wait 5 --active 10 -o run.mindprof -m package.train",
)
_WITH_VALUE = ("-o", "--output", "--wait", "--warmup", "--active", "--repeat")
_TURNS = 20  # of an optimizer while the one whose steps are counted has none: that one is used no more
_FLAGS = {
    "shapes": "record_shapes",
    "memory": "profile_memory",
    "stacks": "with_stack",
    "modules": "with_modules",
    "flops": "with_flops",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "mindprof run [options] (script.py | -m module | -c code) [arguments]"
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="profile.mindprof",
        help="the profile (profile.mindprof); the page goes beside it",
    )
    for name, text in (
        ("shapes", "shapes and values of arguments"),
        ("memory", "allocations"),
        ("stacks", "Python calls"),
        ("modules", "nn.Modules"),
        ("flops", "floating point operations"),
        ("all", "all of these"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=f"record {text}")
    parser.add_argument(
        "--wait", type=_count, default=0, metavar="N", help="steps to leave out first (a step ends with Optimizer.step)"
    )
    parser.add_argument(
        "--warmup", type=_count, default=0, metavar="N", help="steps to record and throw away after that"
    )
    parser.add_argument("--active", type=_count, default=0, metavar="N", help="steps to record (all)")
    parser.add_argument(
        "--repeat", type=_count, default=1, metavar="N", help="how often to do so; 0 for as long as it runs (1)"
    )
    parser.add_argument(
        "--all-processes", action="store_true", help="processes that the program starts, too, if they use torch"
    )
    parser.add_argument("--no-report", action="store_true", help="write the profile only, no page")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no summary")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of steps")
    return int(text)


def split(given: list[str]) -> tuple[list[str], list[str]]:
    """The tool's own arguments, and the program with its own."""
    at = 0
    while at < len(given) and given[at].startswith("-") and given[at] not in ("-m", "-c", "-", "--"):
        at += 2 if given[at] in _WITH_VALUE else 1
    program = given[at:]
    return given[:at], program[1:] if program[:1] == ["--"] else program


def run_arguments(given: list[str]) -> int:
    gc.disable()  # until the program runs: what is imported stays
    own, program = split(given)
    options = parser_of("run").parse_args(own)
    if not program or (program[0] in ("-m", "-c") and len(program) < 2):
        raise UsageError(
            "there is no program to run: expected script.py, -m module or -c code (see mindprof run --help)"
        )
    if program[0] not in ("-m", "-c", "-") and not os.path.exists(program[0]):
        raise UsageError(f"can't open file {program[0]!r}: no such file or directory")
    if not os.access(os.path.dirname(os.path.abspath(options.output)), os.W_OK):
        raise UsageError(f"{options.output!r}: the profile cannot be written there")
    return _Recording(options).around(program)


class _Recording:
    """A profile around a program. It ends once, whatever ends the program."""

    def __init__(self, options: argparse.Namespace) -> None:
        from ..profiler import profile
        from ..schedule import schedule

        self.options = options
        self.output = os.path.abspath(options.output)
        self.stores: list[Any] = []
        self.is_over = False
        self._stepping: Any = None  # the optimizer whose steps are counted
        self._since_step: dict[int, int] = {}  # how often others have stepped since it did, by their ids
        wanted = {full: getattr(options, short) or options.all for short, full in _FLAGS.items()}
        self.steps = options.wait + options.warmup + options.active > 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that no step warms up, which is what was asked for
            plan = schedule(
                wait=options.wait, warmup=options.warmup, active=options.active or 1 << 30, repeat=options.repeat
            )
        self.profile: Any = profile(
            schedule=plan if self.steps else None, on_trace_ready=self._keep if self.steps else None, **wanted
        )
        self.pid = os.getpid()
        self.children: Any = None
        if options.all_processes:
            from ..capture.children import ChildProcesses

            self.children = ChildProcesses(wanted)

    def _keep(self, prof: Any) -> None:
        self.stores.append(prof.profiler.store)

    def around(self, program: list[str]) -> int:
        """Runs the program; the exit code.

        Signals that would have ended it end it in the same way, after the profile is written.
        """
        from ...__main__ import run as run_program

        for name in ("SIGTERM", "SIGHUP"):
            ending = getattr(signal, name, None)  # Windows has no SIGHUP
            if ending is not None and signal.getsignal(ending) is signal.SIG_DFL:
                signal.signal(ending, self._terminated)
        os._exit = self._exit_at_once(os._exit)  # type: ignore[assignment]
        self._start()
        code: Any = 0
        gc.enable()
        try:
            code = run_program(program)
        except SystemExit as leaving:
            code = leaving.code
        except BaseException as error:  # noqa: BLE001 - shown as Python shows what a program raises
            self._finish_in_parent()
            return _shown(error)
        self._finish_in_parent()
        return _exit_code(code)

    def _start(self) -> None:
        if self.children is not None:
            self.children.start()
        if self.steps:
            from ...optim.optimizer import register_optimizer_step_post_hook

            register_optimizer_step_post_hook(self._optimizer_stepped)
        self.profile.start()

    def _optimizer_stepped(self, optimizer: Any, *_: Any) -> None:
        """A step ends with the optimizer that stepped first. Where that one is used no more, with another."""
        if self.is_over:
            return
        self._since_step = {} if optimizer is self._stepping else self._since_step
        self._since_step[id(optimizer)] = self._since_step.get(id(optimizer), 0) + 1
        if self._stepping is None or self._since_step[id(optimizer)] > _TURNS:
            self._stepping, self._since_step = optimizer, {}
        if optimizer is self._stepping:
            self.profile.step()

    def _exit_at_once(self, exit_at_once: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
        """`os._exit` of the program: writes the profile first. Forked children end as they would."""

        def leave(status: int) -> NoReturn:
            try:
                self._finish_in_parent(wait=False)
            finally:
                exit_at_once(status)

        return leave

    def _terminated(self, number: int, frame: FrameType | None) -> None:
        try:
            self._finish_in_parent(wait=False)
        finally:  # where the terminal is gone the summary cannot be printed
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _finish_in_parent(self, wait: bool = True) -> None:
        """Writes the profile, unless this is a child that the program made by fork. `wait`: for the program's own."""
        if self.is_over or os.getpid() != self.pid:
            return
        self.is_over = True
        if sys.stderr is None or sys.stderr.closed:  # by the program: nobody reads the summary
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
        gc.disable()  # a collection would look through all that the program has left, and the process ends
        self.profile.stop()
        if wait and self.children is not None:
            self.children.join()
        try:
            self._write()
        except OSError as error:
            warn(f"the profile could not be written: {error}")

    def _write(self) -> None:
        from ..store import storefile
        from ..store.join import concat

        store = concat(self.stores) if self.steps else self.profile.profiler.store
        if self.children is not None and store is not None:
            store, problems = self.children.take_in(store)
            for problem in problems:
                warn(problem)
        if store is None or not len(store):
            warn("the program ended before anything was recorded")
            return
        storefile.save(store, self.output)
        _flush(sys.stdout)
        if not self.options.quiet:
            from .show import print_summary, summary

            print_summary(summary(store, rows=6), self.options.output, Terminal(sys.stderr))
        if self.options.no_report:
            print(f"\nmindprof: {self.options.output} ({size(os.path.getsize(self.output))})", file=sys.stderr)
            return
        from ..report import write
        from .report import default_page

        page = default_page(self.output)
        write([(os.path.basename(self.output), store)], page)
        print(
            f"\nmindprof: {self.options.output} ({size(os.path.getsize(self.output))}); open {page} in a browser",
            file=sys.stderr,
        )


def _flush(stream: Any) -> None:
    """What the program printed comes before the summary."""
    try:
        stream.flush()
    except (OSError, ValueError, AttributeError):  # closed by the program, or there is none
        return


def _exit_code(code: Any) -> int:
    """What `sys.exit(code)` makes of a code: None is 0, text is printed and is 1."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _shown(error: BaseException) -> int:
    """Shows an exception as Python does, without the frames of this tool.

    After Ctrl-C the interpreter ends as it does without this tool: functions of atexit, then the signal.
    """
    error.__traceback__ = _of_the_program(error.__traceback__)  # the hook shows this one, not its third argument
    sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, KeyboardInterrupt):
        raise ProgramInterrupted
    return 1


def _of_the_program(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first frame on."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    own = (os.path.join(package, "__main__.py"), os.path.join(package, "_door.py"), os.path.abspath(__file__))
    at = traceback
    while at is not None and (
        at.tb_frame.f_code.co_filename in own
        or at.tb_frame.f_code.co_filename.startswith("<frozen runpy>")
        or os.path.basename(at.tb_frame.f_code.co_filename) == "runpy.py"
    ):
        at = at.tb_next
    return at if at is not None else traceback
