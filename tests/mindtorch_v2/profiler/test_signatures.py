"""Public functions and methods take what PyTorch's take, under the same names."""

from __future__ import annotations

import json
import pathlib

from ..oracle.signatures import signatures

ANSWERS = json.loads((pathlib.Path(__file__).parent.parent / "oracle" / "data" / "signatures.json").read_text())
OTHERWISE = {
    "autograd.profiler.EventList",
    "autograd.profiler_util.EventList",  # their keywords are named here
    # an Enum's are those of the version of Python
    "profiler.ProfilerAction",
    "profiler.profiler.ProfilerAction",
}


def fits(ours: list[list[object]], expected: list[list[object]]) -> bool:
    """The same names in the same order; what may be left out there may be left out here."""
    return len(ours) >= len(expected) and all(a[:2] == b[:2] and (a[2] or not b[2]) for a, b in zip(ours, expected))


def test_signatures_are_pytorchs() -> None:
    ours = signatures("mindtorch_v2")
    assert len(ANSWERS) > 150
    missing = sorted(set(ANSWERS) - set(ours) - OTHERWISE)
    different = {
        name: (ours[name], expected)
        for name, expected in ANSWERS.items()
        if name in ours and name not in OTHERWISE and not fits(ours[name], expected)
    }
    assert (missing, different) == ([], {})


def test_what_is_added_is_optional() -> None:
    """Parameters that PyTorch lacks have defaults, so its calls work here."""
    for name, parameters in signatures("mindtorch_v2").items():
        for parameter, kind, has_default in parameters[len(ANSWERS.get(name, parameters)) :]:
            assert has_default or kind.startswith("VAR_"), f"{name}: {parameter}"
