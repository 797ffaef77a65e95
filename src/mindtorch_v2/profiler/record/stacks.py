"""Python call stacks: where each event was called from, and the calls themselves as events."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Container
from functools import cache
from types import CodeType, FrameType
from typing import Any

from .interning import InternTable

PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")) + os.sep
_LIBRARIES = tuple({sysconfig.get_path("stdlib") + os.sep, sysconfig.get_path("platstdlib") + os.sep})

_OWN_MODULES = ("mindtorch_v2.profiler.", "mindtorch_v2._native.")

USER, LIBRARY, INTERNAL = 0, 1, 2


@cache
def _prefixes() -> tuple[str, ...]:
    """Directories that a printed file name does without, the longest first."""
    found = {os.path.abspath(p) for p in [*sys.path, *site.getsitepackages(), site.getusersitepackages(), os.getcwd()]}
    found.add(os.path.dirname(PACKAGE.rstrip(os.sep)))
    return tuple(sorted((p.rstrip(os.sep) + os.sep for p in found if p != os.sep), key=len, reverse=True))


def short_path(path: str) -> str:
    """The file's path below the longest matching import directory."""
    for prefix in _prefixes():
        if path.startswith(prefix):
            return path[len(prefix) :]
    return path


def classify(code: CodeType) -> int:
    """Whose code it is: the user's (and this package's public layers, such as nn), a library's, or the inside of
    this package, which stands for what other runtimes do in native code."""
    path = code.co_filename
    if path.startswith(PACKAGE):
        return _class_in_package(path[len(PACKAGE) :], code.co_name)
    if path.startswith("<"):
        return INTERNAL if path.startswith("<mindtorch_v2") else LIBRARY  # such as what namedtuple makes
    if f"{os.sep}numpy{os.sep}" in path or (path.startswith(_LIBRARIES) and "site-packages" not in path):
        return LIBRARY
    return USER


def _class_in_package(path: str, name: str) -> int:
    parts = path.split(os.sep)
    private = any(part.startswith("_") and part != "__init__.py" for part in parts)
    # A module's call has an event of its own, named after the module.
    is_module_call = name == "__call__" and parts[:3] == ["nn", "modules", "module.py"]
    return INTERNAL if private or is_module_call or parts[0] == "profiler" else USER


CLASSES: dict[CodeType, int] = {}  # whose code it is, for all that has been asked


def code_class(code: CodeType) -> int:
    """`classify`, remembered."""
    found = CLASSES.get(code)
    if found is None:
        found = CLASSES[code] = classify(code)
    return found


def hide_callers() -> None:
    """What runs now, up to the outermost frame, started the program and is not part of it: it is recorded no more."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        CLASSES[frame.f_code] = INTERNAL
        frame = frame.f_back


def is_recorded(frame: FrameType, recorded: Container[FrameType]) -> bool:
    """Code is recorded where recorded code calls it, or nobody. The user's code is also recorded where the package
    calls it (a hook, a custom Function), perhaps through a library, but not what an import inside the package runs.
    """
    kind, caller = code_class(frame.f_code), frame.f_back
    if kind == INTERNAL:
        return False
    if caller is None or caller in recorded:
        return True
    return (
        kind == USER
        and code_class(caller.f_code) != USER
        and not caller.f_code.co_filename.startswith("<frozen importlib")
    )


def function_name(code: CodeType, line: int) -> str:
    return f"{short_path(code.co_filename)}({line}): {code.co_name}"


def builtin_name(function: Any) -> str:
    """`<built-in function len>`, `<built-in method append of list object>`: like repr, without addresses."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", type(function).__name__)
    if owner is None or isinstance(owner, type(sys)):
        return f"<built-in function {name}>"
    return f"<built-in method {name} of {type(owner).__name__} object>"


def is_own_function(function: Any) -> bool:
    """Whether a function written in C belongs to the inside of this package, as the recorder's own do."""
    owner = getattr(function, "__self__", None)
    home = (
        owner.__name__
        if isinstance(owner, type(sys))
        else type(owner).__module__
        if owner is not None
        else function.__module__
    )
    return isinstance(home, str) and home.startswith(_OWN_MODULES)


def line_of(code: CodeType, lasti: int) -> int:
    """The line of an instruction."""
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return code.co_firstlineno


class StackSampler:
    """Call stacks as ids. A stack is a tuple of (code, instruction) pairs until someone wants to read it."""

    def __init__(self) -> None:
        self._stacks: InternTable[tuple[Any, ...]] = InternTable()

    def sample(self) -> int:
        """The id of the calling thread's stack, without the package's own frames."""
        frame: FrameType | None = sys._getframe(1)
        classes = CLASSES
        key: list[Any] = []
        while frame is not None:
            code = frame.f_code
            kind = classes.get(code)
            if kind is None:
                kind = code_class(code)
            if kind != INTERNAL:
                key += (code, frame.f_lasti)
            frame = frame.f_back
        stack = tuple(key)
        stack_id = self._stacks.find(stack)
        return self._stacks.add(stack, stack) if stack_id is None else stack_id

    def frames(self, stack_id: int) -> list[str]:
        """The frames of a stack, innermost first."""
        stack = self._stacks[stack_id]
        return [function_name(c, line_of(c, i)) for c, i in zip(stack[::2], stack[1::2], strict=True)]
