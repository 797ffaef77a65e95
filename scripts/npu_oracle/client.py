"""Runs one program with one of the two clients and prints what it saw as JSON.

Started by run.py in a prepared environment.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from typing import Any

MARK = "npu-oracle:"  # libraries print to stdout as well


def client(name: str) -> Any:
    """The module that a script would call `torch`."""
    if name == "mindtorch_v2":
        return importlib.import_module("mindtorch_v2")
    torch = importlib.import_module("torch")
    importlib.import_module("torch_npu")
    return torch


def main() -> None:
    which, program = sys.argv[1:]
    warnings.simplefilter("ignore")
    seen = importlib.import_module(f"programs.{program}").run(client(which))
    print(MARK + json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
