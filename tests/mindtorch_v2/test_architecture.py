"""docs/architecture.md says how to follow `x + x` from the user's line to a row of a table. Its list is true."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

import mindtorch_v2
from mindtorch_v2._storage import native

PACKAGE = pathlib.Path(mindtorch_v2.__file__).parent
GUIDE = pathlib.Path(__file__).parents[2] / "docs/architecture.md"
MOST_FILES = 12

# Prints the package's Python functions in the order of their first calls, for an addition that a profile records.
FOLLOWED = """
import os, sys
import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile

package, seen = os.path.dirname(torch.__file__), {}

def note(frame, event, arg):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(package):
        seen.setdefault((os.path.relpath(code.co_filename, package).replace(os.sep, "/"), code.co_name))

x = torch.ones(2, 2)
sys.setprofile(note)
x + x
sys.setprofile(None)
with profile() as prof:
    x + x
sys.setprofile(note)
prof.key_averages().table()
sys.setprofile(None)
for file, name in seen:
    print(file, name)
"""


def listed() -> list[tuple[str, str]]:
    """The files and functions of the guide's list."""
    rows = re.findall(r"^\| \d+ \| `([^`]+)` \| `(\w+)` \|", GUIDE.read_text(encoding="utf-8"), re.M)
    assert [file for file, _ in rows] == list(dict.fromkeys(file for file, _ in rows)), "a file is listed twice"
    return rows


def is_defined(file: str, name: str) -> bool:
    text = (PACKAGE / file).read_text(encoding="utf-8")
    if file.endswith(".py"):
        return f"\ndef {name}(" in text
    # C: a name at the beginning of a line with its result type, and a body
    return re.search(rf"^[A-Za-z][\w \*]*\b{name}\([^;{{]*\)\n\{{", text, re.M) is not None


def test_the_list_is_short_and_its_functions_exist():
    assert 5 < len(listed()) <= MOST_FILES
    assert [entry for entry in listed() if not is_defined(*entry)] == []


def test_the_native_functions_of_the_list_are_called_by_those_before_them():
    native_files = [(file, name) for file, name in listed() if file.startswith("_native/")]
    texts: list[str] = []
    for file, name in native_files:
        assert not texts or any(f"{name}(" in text for text in texts), f"nothing before {file} calls {name}"
        texts.append((PACKAGE / file).read_text(encoding="utf-8"))


@pytest.mark.skipif(native is None, reason="the list follows the native core")
def test_the_python_functions_of_the_list_run_in_its_order():
    ran = subprocess.run([sys.executable, "-c", FOLLOWED], capture_output=True, text=True, check=True).stdout
    order = [tuple(line.split(" ", 1)) for line in ran.splitlines()]
    python = [entry for entry in listed() if entry[0].endswith(".py")]
    # methods are installed at import; the first use of an operator begins in the same file
    python[0] = (python[0][0], "__get__")
    positions = [order.index(entry) for entry in python]
    assert positions[0] == 0
    assert positions == sorted(positions), (
        f"the list's order differs from the run's: {[order[p] for p in sorted(positions)]}"
    )
