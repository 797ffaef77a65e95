"""Finds and opens Ascend's libraries, or the simulator's where MINDTORCH_NPU_SIM=1 asks for it. The environment is
only read.

MINDTORCH_NPU_LIB   a folder (or several, separated as in PATH) to look into before all others
MINDTORCH_NPU_SIM   1: use the simulator; it is built from its source at the first use, unless MINDTORCH_NPU_LIB is
its library
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Iterator
from typing import Any

from . import abi, abi_hccl

RUNTIME_NAMES = ("libascendcl.so",)
OBJECT_NAMES = ("libnnopbase.so",)
OPERATOR_NAMES = ("libopapi.so",)
OPERATOR_PATTERNS = ("libcust_opapi*.so", "libopapi_*.so")  # looked at before libopapi.so
OLD_OPERATOR_PATTERNS = ("libaclnn_*.so",)  # and these after it
ACTIVITY_NAMES = ("libmspti.so",)
COMMUNICATION_NAMES = ("libhccl.so",)
_DEFAULT_ROOTS = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")


def wants_simulator() -> bool:
    """Whether the user asked for the simulator."""
    return os.environ.get("MINDTORCH_NPU_SIM", "") == "1"


def search_folders() -> list[pathlib.Path]:
    """Where libraries are looked for, best folder first.

    Folders of stubs hold libraries that do nothing and are left out.
    """
    given = [pathlib.Path(p) for p in os.environ.get("MINDTORCH_NPU_LIB", "").split(os.pathsep) if p]
    roots = [os.environ[n] for n in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME") if os.environ.get(n)]
    loader = [pathlib.Path(p) for p in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if p]
    folders = [*given, *_library_folders(roots), *loader, *_library_folders(_DEFAULT_ROOTS)]
    return [f for f in dict.fromkeys(folders) if "stub" not in f.parts]


def _library_folders(roots: Any) -> Iterator[pathlib.Path]:
    for root in roots:
        yield pathlib.Path(root) / "lib64"
        yield pathlib.Path(root) / "tools" / "mspti" / "lib64"


class Libraries:
    """The opened libraries and the functions found in them. `simulated` is what the libraries themselves say,
    wherever they were found: the simulator may lie in a folder that looks like an installation.
    """

    def __init__(self, opened: list[tuple[str, ctypes.CDLL]]) -> None:
        self.opened = opened
        self.simulated = any(_is_simulator(library) for _, library in opened)
        self._functions: dict[str, Any] = {}

    def find(self, name: str) -> Any:
        """The function of this name in the first library that has it, or None."""
        if name not in self._functions:
            self._functions[name] = next((getattr(lib, name) for _, lib in self.opened if hasattr(lib, name)), None)
        return self._functions[name]

    def function(self, name: str) -> Any:
        """A runtime function with its prototype; RuntimeError if the libraries lack it."""
        code = abi.RUNTIME.get(name) or abi.MSPTI.get(name) or abi_hccl.FUNCTIONS.get(name) or ""
        found = self.find(name)
        if found is None:
            raise RuntimeError(f"the Ascend libraries have no function {name}; looked in: {self.describe()}")
        return found if found.argtypes is not None else abi.declare(found, code)

    def operator(self, name: str) -> tuple[Any, Any] | None:
        """Both phases of an operator with their prototypes, or None where one is missing."""
        first, second = self.find(f"aclnn{name}GetWorkspaceSize"), self.find(f"aclnn{name}")
        if first is None or second is None:
            return None
        if first.argtypes is None:
            abi.declare_operator(first, second, abi.OPERATORS[name])
        return first, second

    def describe(self) -> str:
        return ", ".join(name for name, _ in self.opened) or "no library"


def _is_simulator(library: ctypes.CDLL) -> bool:
    """Whether a library says that it is a simulator; no library of the vendor has this function."""
    ask = getattr(library, "simIsSimulator", None)
    return ask is not None and bool(ask())


def open_libraries() -> tuple[Libraries | None, str]:
    """The libraries, or None and the reason."""
    if wants_simulator():
        from .simulator import build, given_library

        path, why = given_library() or build()
        if path is None:
            return None, why
        return Libraries([(str(path), ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL))]), ""
    folders = search_folders()
    opened: list[tuple[str, ctypes.CDLL]] = []
    problems: list[str] = []
    _open_first(ACTIVITY_NAMES, folders, opened, problems)  # it must be there before the runtime starts
    if not _open_first(RUNTIME_NAMES, folders, opened, problems):
        return None, _not_found(folders, problems)
    _open_first(OBJECT_NAMES, folders, opened, problems)
    _open_all(OPERATOR_PATTERNS, folders, opened, problems)
    _open_first(OPERATOR_NAMES, folders, opened, problems)
    _open_all(OLD_OPERATOR_PATTERNS, folders, opened, problems)
    _open_first(COMMUNICATION_NAMES, folders, opened, problems)
    return Libraries(opened), ""


def _open(path: str, opened: list[tuple[str, ctypes.CDLL]], problems: list[str]) -> bool:
    try:
        opened.append((path, ctypes.CDLL(path, ctypes.RTLD_GLOBAL)))
    except OSError as error:
        problems.append(f"{path}: {error}")
        return False
    return True


def _open_first(names: tuple[str, ...], folders: list[pathlib.Path], opened: Any, problems: list[str]) -> bool:
    """Opens the first library of these names that exists in a folder or that the system's loader knows."""
    for name in names:
        for folder in folders:
            if (folder / name).is_file() and _open(str(folder / name), opened, problems):
                return True
        if _open(name, opened, problems):
            return True
    return False


def _open_all(patterns: tuple[str, ...], folders: list[pathlib.Path], opened: Any, problems: list[str]) -> None:
    for folder in folders:
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)) if folder.is_dir() else ():
                _open(str(path), opened, problems)


def _not_found(folders: list[pathlib.Path], problems: list[str]) -> str:
    looked = ", ".join(str(f) for f in folders)
    broken = "; ".join(p for p in problems if not p.startswith("lib"))
    return f"no {RUNTIME_NAMES[0]} was found (looked in {looked} and where the system's loader looks)" + (
        f"; {broken}" if broken else ""
    )
