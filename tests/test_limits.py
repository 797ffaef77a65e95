"""The limits of CONTRIBUTING hold: sizes of files and functions. There are no exceptions."""

from __future__ import annotations

import ast
import pathlib
from functools import cache

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = ("src", "scripts", "benchmarks", "examples", "ascend_sim", "tests")
FILE, FUNCTION = 400, 50


@cache
def sources() -> dict[str, str]:
    """The text of every Python file by its path in the repository."""
    found = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(found)}


def native_sources() -> dict[str, int]:
    """The count of lines of every C file."""
    patterns, folders = ("*.c", "*.h", "*.inc"), ("src", "ascend_sim")
    found = [path for folder in folders for pattern in patterns for path in (ROOT / folder).rglob(pattern)]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in found}


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its signature and docstring."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (node.end_lineno or node.lineno) - body[0].lineno + 1 if body else 0


@cache
def functions() -> dict[str, int]:
    """The count of lines of every function's body, by path and name; of several of one name in a file the longest.

    Tables of cases for the comparison with PyTorch are written as functions, and are as long as their subject.
    """
    found: dict[str, int] = {}
    for path, text in sources().items():
        if path.startswith("tests/mindtorch_v2/oracle/") and "cases" in path:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{path}::{node.name}"
                found[name] = max(found.get(name, 0), body_lines(node))
    return found


def beyond(sizes: dict[str, int], limit: int) -> set[str]:
    return {name for name, size in sizes.items() if size > limit}


def test_python_files() -> None:
    lines = {path: text.count("\n") for path, text in sources().items()}
    assert sorted(beyond(lines, FILE)) == [], f"longer than {FILE} lines: divide it by topic"


def test_functions() -> None:
    assert sorted(beyond(functions(), FUNCTION)) == [], f"longer than {FUNCTION} lines: divide it by topic"


def test_native_files() -> None:
    assert sorted(beyond(native_sources(), FILE)) == [], f"longer than {FILE} lines: divide it by topic"


# Folders of tests that belong to no package: comparisons with PyTorch over all operators, answers of many small modules.
ACROSS = {"oracle", "names", "data"}


def test_tests_lie_where_their_package_does():
    """`_dispatch/call.py` is tested in `tests/mindtorch_v2/dispatch/`, `nn/modules` in `nn/`, and so on."""
    packages = {path.name.lstrip("_") for path in (ROOT / "src/mindtorch_v2").iterdir() if path.is_dir()}
    folders = {path.name for path in (ROOT / "tests/mindtorch_v2").iterdir() if path.is_dir()} - {"__pycache__"}
    assert sorted(folders - packages) == sorted(ACROSS)
    rooms = {path.name for path in (ROOT / "src/mindtorch_v2/profiler").iterdir() if path.is_dir()}
    assert {path.parent.name for path in (ROOT / "tests/mindtorch_v2/profiler").glob("*/test_*.py")} <= rooms
