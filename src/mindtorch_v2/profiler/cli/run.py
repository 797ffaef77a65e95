"""Profiles a program without changing it: `sys.argv`, `__main__`, the exit code, exceptions and signals are as
without it.

`import torch` in it means this package. The profile is written however the program ends, short of SIGKILL.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import os
import sys
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from ..._observer import on_optimizer_step
from .main import ProgramInterrupted, UsageError, parser_of
from .recorded import add_recorded, recorded
from .signals import before_ending
from .terminal import Terminal, size, warn

if TYPE_CHECKING:
    from ..store.event_store import EventStore

EXAMPLE = (
    "mindprof run train.py --epochs 1",
    "mindprof run --all --wait 5 --active 10 -o run.mindprof -m package.train",
)
WITH_VALUE = ("-o", "--output", "--wait", "--warmup", "--active", "--repeat")
_TURNS = 20  # of an optimizer while the one whose steps are counted has none: that one is used no more


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "mindprof run [options] (script.py | -m module | -c code) [arguments]"
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="profile.mindprof", help="the profile; the page goes beside it"
    )
    add_recorded(parser, "record these, too (shapes: and values of arguments)")
    parser.add_argument(
        "--wait", type=_count, default=0, metavar="N", help="steps to leave out first (Optimizer.step ends one)"
    )
    parser.add_argument(
        "--warmup", type=_count, default=0, metavar="N", help="steps to record and throw away after that"
    )
    parser.add_argument("--active", type=_count, default=0, metavar="N", help="steps to record (all)")
    parser.add_argument(
        "--repeat", type=_count, default=1, metavar="N", help="how often to do so (1); 0 for as long as it runs"
    )
    parser.add_argument("--all-processes", action="store_true", help="also processes that it starts, if they use torch")
    parser.add_argument("--no-report", action="store_true", help="write the profile only, no page")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no summary")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of steps")
    return int(text)


def split(given: list[str]) -> tuple[list[str], list[str]]:
    """The tool's own arguments, and the program with its own."""
    at = 0
    while at < len(given) and given[at].startswith("-") and given[at] not in ("-m", "-c", "-", "--"):
        at += 2 if given[at] in WITH_VALUE else 1
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
        from ..record.config import _ExperimentalConfig
        from ..schedule import schedule

        self.options = options
        self.output = os.path.abspath(options.output)
        self.stores: list[Any] = []
        self.is_over = self.is_interrupted = False
        self._stepping: Any = None  # the optimizer whose steps are counted
        self._since_step: dict[int, int] = {}  # how often others have stepped since it did, by their ids
        self._stepping_profile: Any = None  # the program's own, whose steps count in place of the optimizer's
        wanted = recorded(options)
        self.steps = options.wait + options.warmup + options.active > 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that no step warms up, which is what was asked for
            plan = schedule(
                wait=options.wait, warmup=options.warmup, active=options.active or 1 << 30, repeat=options.repeat
            )
        self.profile: Any = profile(
            schedule=plan if self.steps else None,
            on_trace_ready=self._keep if self.steps else None,
            experimental_config=_ExperimentalConfig(profile_all_threads=True),
            **wanted,
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

        finish = before_ending(self._finish)
        os._exit = _after(finish, os._exit)  # type: ignore[assignment]
        # What is registered first runs last: threads that go on and the program's own functions of atexit are recorded.
        atexit.register(self._end_children_and, finish)
        self._start()
        gc.enable()
        try:
            return run_program(program)
        except SystemExit:
            raise
        except BaseException as error:  # noqa: BLE001 - printed as Python prints what a program raises
            self.is_interrupted = isinstance(error, KeyboardInterrupt)
            return _shown(error)

    def _start(self) -> None:
        from .. import profiler

        if self.children is not None:
            self.children.start()
        on_optimizer_step.append(self._optimizer_stepped)
        if self.options.stacks or self.options.all:
            from ..record.stacks import hide_callers

            hide_callers()
        self.profile.start()
        profiler.on_change.append(self._profile_changed)

    def _profile_changed(self, prof: Any, change: str) -> None:
        """A profile of the program began, stepped or ended. While one with a schedule runs, its steps are the
        program's. Without a schedule of our own the first of them begins where that profile does."""
        from ..profiler import switch_step_recording

        if self.is_over or prof is self.profile or not prof.record_steps:
            return
        if change == "start" and self._stepping_profile is None:
            self._stepping_profile = prof
            if not self.steps:
                switch_step_recording(self.profile, True)
        elif prof is self._stepping_profile and change == "step":
            self.profile.step()
        elif prof is self._stepping_profile:
            self._stepping_profile = None
            if not self.steps:
                switch_step_recording(self.profile, False)

    def _optimizer_stepped(self, optimizer: Any) -> None:
        """A step ends with the optimizer that stepped first. Where that one is used no more, with another. Without a
        schedule the steps are found later, and nothing is done here but to look at the machine."""
        if self.is_over or self._stepping_profile is not None:
            return
        if not self.steps:
            self.profile.profiler.read_speed()
            return
        self._since_step = {} if optimizer is self._stepping else self._since_step
        self._since_step[id(optimizer)] = self._since_step.get(id(optimizer), 0) + 1
        if self._stepping is None or self._since_step[id(optimizer)] > _TURNS:
            self._stepping, self._since_step = optimizer, {}
        if optimizer is self._stepping:
            self.profile.step()

    def _end_children_and(self, finish: Callable[[], None]) -> None:
        if self.children is not None and os.getpid() == self.pid:
            self.children.join()
        finish()
        if self.is_interrupted:
            # The interpreter remembers that Ctrl-C ended it, until code that it is given as text (named tuples are made
            # so) ends otherwise: this ends as it did.
            with contextlib.suppress(KeyboardInterrupt):
                exec("raise KeyboardInterrupt")

    def _finish(self) -> None:
        """Writes the profile."""
        self.is_over = True
        if _is_lost(sys.stderr):  # closed by the program: nobody reads the summary
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
        gc.disable()  # a collection would look through all that the program has left, and the process ends
        self.profile.stop()
        try:
            self._write()
        except OSError as error:
            warn(f"the profile could not be written: {error}")

    def _write(self) -> None:
        from ..report import write
        from ..store import storefile
        from ..store.join import concat
        from .report import default_page

        store = concat(self.stores) if self.steps else self.profile.profiler.store
        if self.children is not None and store is not None:
            store, problems = self.children.take_in(store)
            for problem in problems:
                warn(problem)
        if store is None:
            warn("no step was recorded: the program ended before the first one that was asked for")
            return
        if not len(store):
            warn("nothing was recorded: the program called no operator of torch")
        storefile.save(store, self.output)
        page = None if self.options.no_report else default_page(self.output)
        if page is not None:
            write([(os.path.basename(self.output), store)], page)
        self._print_summary(store, page)

    def _print_summary(self, store: EventStore, page: str | None) -> None:
        """What the program printed comes before the summary. There may be nobody who reads either any more."""
        from .show import print_summary, summary

        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed by the program, or there is none
            sys.stdout.flush()
        with contextlib.suppress(OSError, ValueError):
            if not self.options.quiet and len(store):
                print_summary(summary(store, rows=6), self.options.output, Terminal(sys.stderr))
            written = f"\nmindprof: {self.options.output} ({size(os.path.getsize(self.output))})"
            print(written if page is None else f"{written}; open {page} in a browser", file=sys.stderr, flush=True)


def _is_lost(stream: TextIO | None) -> bool:
    """Whether nothing can be written to a stream: it, or the file below it, is closed. What stays in its buffer would
    change the exit code when the interpreter ends.
    """
    if stream is None or stream.closed:
        return True
    try:
        file = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return False  # in memory
    try:
        os.fstat(file)
    except OSError:
        return True
    return False


def _after(finish: Callable[[], None], exit_at_once: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """`os._exit` of the program: finishes first. Forked children end as they would."""

    def leave(status: int) -> NoReturn:
        try:
            finish()
        finally:
            exit_at_once(status)

    return leave


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
    """The traceback from the program's first frame on; None where none of it ran, because it is no Python."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    own = (os.path.join(package, "__main__.py"), os.path.join(package, "_door.py"), os.path.abspath(__file__))
    at = traceback
    while at is not None and (
        at.tb_frame.f_code.co_filename in own
        or at.tb_frame.f_code.co_filename.startswith("<frozen runpy>")
        or os.path.basename(at.tb_frame.f_code.co_filename) == "runpy.py"
    ):
        at = at.tb_next
    return at
