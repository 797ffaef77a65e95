"""What holds for every trace: its schema, and what no schema can say."""

from __future__ import annotations

import functools
import json
import pathlib
from collections import defaultdict
from decimal import Decimal
from typing import Any

import jsonschema

SCHEMA = json.loads((pathlib.Path(__file__).parent / "trace.schema.json").read_text())


@functools.cache
def _validator() -> Any:
    return jsonschema.Draft202012Validator(SCHEMA)


def load(path: pathlib.Path) -> dict[str, Any]:
    """The trace, with times as exact decimals."""
    return json.loads(path.read_text(), parse_float=Decimal)


def _shape(value: Any) -> Any:
    """A value without its contents: keys and types."""
    return (
        tuple((key, _shape(item)) for key, item in value.items()) if isinstance(value, dict) else type(value).__name__
    )


def _samples(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One event of each phase, category and shape: checking a schema against all of many events takes minutes."""
    return list({(e["ph"], e.get("cat"), _shape(e)): e for e in events}.values())


def assert_trace_is_sound(trace: dict[str, Any]) -> None:
    plain = json.loads(json.dumps({**trace, "traceEvents": _samples(trace["traceEvents"])}, default=float))
    errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in _validator().iter_errors(plain)]
    assert not errors, errors[:3]
    events = trace["traceEvents"]
    numbered = [e["args"]["Ev Idx"] for e in events if "Ev Idx" in e.get("args", {})]
    assert numbered == list(range(len(numbered)))
    assert_no_partial_overlap(events)
    assert_flows_are_paired(events)


def assert_no_partial_overlap(events: list[dict[str, Any]]) -> None:
    """Slices of one track lie inside or beside each other."""
    tracks = defaultdict(list)
    for e in events:
        if e["ph"] == "X" and e["cat"] != "Trace":
            tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for slices in tracks.values():
        open_ends: list[Decimal] = []
        for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


def assert_flows_are_paired(events: list[dict[str, Any]]) -> None:
    """Every arrow has both ends, each at the start of a slice of its track."""
    starts = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    flows = [e for e in events if e["ph"] in "sf"]
    assert all((e["pid"], e["tid"], e["ts"]) in starts for e in flows)
    begins, ends = [sorted((e["cat"], e["id"]) for e in flows if e["ph"] == ph) for ph in "sf"]
    assert begins == ends and len(set(begins)) == len(begins)
