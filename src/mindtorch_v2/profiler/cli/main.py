"""The command line: finds the command, runs it, and turns what goes wrong into one line and an exit code.

Exit codes: 0 all is well, 1 the answer is no (a gate that fails, a file that is not sound), 2 wrong usage or a file
that cannot be read, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..._version import __version__
from ..store.files import ProfileFileError

COMMANDS = {
    "run": "profile a program without changing it",
    "ctl": "start, stop, dump, status of a running process",
    "show": "the answer in the terminal",
    "report": "one self-contained HTML page",
    "diff": "what changed between two profiles; a gate for CI",
    "convert": "for other tools: Perfetto, speedscope, pprof, memory_viz, CSV",
    "validate": "what is wrong with a file",
    "repair": "a mended copy of a damaged trace",
    "completion": "completion for bash and zsh",
}
WRONG_USAGE, INTERRUPTED = 2, 130


class UsageError(Exception):
    """Wrong usage; the message says what was expected."""


class ProgramInterrupted(Exception):
    """A program that `run` profiles was ended by Ctrl-C; its traceback has been printed."""


def _shown_already(*_: object) -> None:
    """The hook for an exception whose traceback has been printed."""


class _Parser(argparse.ArgumentParser):
    """Errors are one line."""

    def error(self, message: str) -> Any:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line, without the name of the program, and gives the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(given)
    except UsageError as error:
        return _failed(str(error))
    except ProfileFileError as error:
        return _failed(str(error))
    except BrokenPipeError:  # whoever read the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _failed(f"{error.filename!r}: {error.strerror}" if error.filename else str(error))
    except ProgramInterrupted as error:  # by the user, in the program: the interpreter ends as it would without us
        sys.excepthook = _shown_already
        raise KeyboardInterrupt from error
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED


def _failed(message: str) -> int:
    print("mindprof: " + " ".join(message.split()), file=sys.stderr)
    return WRONG_USAGE


def _run(given: list[str]) -> int:
    if not given or given[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if given else WRONG_USAGE
    if given[0] in ("-V", "--version"):
        print(f"mindprof {__version__}")
        return 0
    name = given[0]
    if name not in COMMANDS:
        raise UsageError(f"there is no command {name!r}; the commands are {', '.join(COMMANDS)}")
    command: Any = import_module(f".{name}", __package__)
    if hasattr(command, "run_arguments"):  # what follows is not all for us
        return int(command.run_arguments(given[1:]))
    return int(command.run(parser_of(name).parse_args(given[1:])))


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help that fits a terminal of 80 columns and 24 lines: short options in one column, paragraphs filled (but not
    tables and examples), and options that belong together on one line (`shown_as`)."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return getattr(action, "shown_as", None) or super()._format_action_invocation(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        is_prose = [not any(line.startswith((".", " ")) for line in part.splitlines()) for part in paragraphs]
        return "\n\n".join(
            textwrap.fill(" ".join(part.split()), width) if prose else part for part, prose in zip(paragraphs, is_prose)
        )


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a command: its module's first paragraph describes it, EXAMPLE ends its help."""
    command: Any = import_module(f".{name}", __package__)
    made = _Parser(
        prog=f"mindprof {name}",
        description=(command.__doc__ or "").partition("\n\n")[0],
        epilog="example:\n  " + "\n  ".join(command.EXAMPLE),
        formatter_class=_Help,
        allow_abbrev=False,
    )
    command.add_arguments(made)
    return made


def overview() -> str:
    """The help of the whole tool."""
    lines = [f"  {name:<12}{text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "usage: mindprof COMMAND ...",
            "",
            "From a program or a trace to the answer. Reads profiles that this package",
            "saved, traces in JSON of this package and of PyTorch (CPU, CUDA, ROCm, XPU,",
            "MTIA), and torch_npu's folders.",
            "",
            *lines,
            "",
            "mindprof COMMAND --help tells about one. For instance:",
            "  mindprof run train.py --epochs 1",
            "  mindprof show trace.json.gz",
        ]
    )
