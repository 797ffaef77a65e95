"""Runs a program that imports torch, unchanged:

    python -m mindtorch_v2 script.py [arguments]
    python -m mindtorch_v2 -m module [arguments]
    python -m mindtorch_v2 -c "code" [arguments]

Everything else (`sys.argv`, `__main__`, the exit code, tracebacks) is as with plain `python`.
"""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType

from . import _door

USAGE = "usage: python -m mindtorch_v2 [script.py | -m module | -c code] [arguments]"


def run(arguments: list[str]) -> int:
    """Runs what the arguments of a command line name; 2 for wrong usage, else 0. What the program raises is raised."""
    if not arguments or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        print(USAGE, file=sys.stderr)
        return 2
    if arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    first = arguments[0]
    if first.startswith("-") and first not in ("-m", "-c", "-"):
        print(f"{USAGE}\nunknown option {first}", file=sys.stderr)
        return 2
    _door.install_as_torch()
    _door.open_for_children()
    if first == "-m":
        sys.argv[:] = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif first in ("-c", "-"):
        sys.argv[:] = ["-c", *arguments[2:]] if first == "-c" else arguments
        sys.path[0] = ""
        _run_code(arguments[1] if first == "-c" else sys.stdin.read(), "<string>" if first == "-c" else "<stdin>")
    else:
        if not os.path.exists(first):
            print(f"python -m mindtorch_v2: can't open file {first!r}: no such file or directory", file=sys.stderr)
            return 2
        sys.argv[:] = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(first))
        _run_script(first)
    return 0


def _fresh_main(**attributes: object) -> dict[str, object]:
    """A new module `__main__`, so that classes which the program defines can be pickled by name."""
    main = ModuleType("__main__")
    main.__dict__.update(attributes, __builtins__=builtins)
    sys.modules["__main__"] = main
    return main.__dict__


def _run_code(code: str, name: str) -> None:
    exec(_compile_program(code, name), _fresh_main())


def _run_script(path: str) -> None:
    if os.path.isdir(path) or path.endswith((".zip", ".pyz", ".pyc")):
        runpy.run_path(path, run_name="__main__")
        return
    with open(path, "rb") as f:
        code = _compile_program(f.read(), path)
    exec(code, _fresh_main(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path)))


def _compile_program(code: str | bytes, name: str) -> CodeType:
    """The program's code. `from __future__` of this file is not meant for it."""
    return compile(code, name, "exec", dont_inherit=True)


if __name__ == "__main__":
    # `python -i` shows any SystemExit as an error
    if code := run(sys.argv[1:]):
        sys.exit(code)
