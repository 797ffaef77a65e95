"""Questions about devices that are not here, and about settings; PyTorch's answers are in answers.json.

A line of probes.txt is an expression, or statements that leave their answer in `r`. `x` is a tensor of two ones, `b` is
`torch.backends`.
"""

from __future__ import annotations

import pathlib
import re
import warnings
from typing import Any

import numpy as np

PROBES = (pathlib.Path(__file__).parent / "probes.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")


def plain(text: str) -> str:
    """A repr without addresses and package names."""
    text = re.sub(r"\b(0x)?[0-9a-f]{9,}\b", "ADDRESS", text)
    return text.replace("mindtorch_v2", "torch").replace("<string>", "").strip()


def answer(torch: Any, probe: str) -> dict[str, Any]:
    """What a torch says: {"value": repr} or {"error": [class, text]}, and the classes of warnings."""
    import collections
    import importlib

    pytree = importlib.import_module(f"{torch.__name__}.utils._pytree")
    space = {
        "torch": torch,
        "np": np,
        "x": torch.ones(2),
        "b": torch.backends,
        "pytree": pytree,
        "collections": collections,
        "r": None,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            try:
                code = compile(
                    f"r = {probe}" if not re.match(r"\w[\w.]* = |with ", probe) and "; r = " not in probe else probe,
                    "",
                    "exec",
                )
            except SyntaxError:
                code = compile(probe, "", "exec")
            exec(code, space)
            said: dict[str, Any] = {"value": plain(repr(space["r"]))}
        except Exception as error:  # noqa: BLE001 - errors are answers
            said = {"error": [type(error).__name__, plain(str(error))]}
    kinds = sorted({w.category.__name__ for w in caught} - {"DeprecationWarning"})
    return {**said, "warnings": kinds} if kinds else said
