"""Who encloses whom, from times alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._native import native_module
from ..record.kinds import LAUNCHING_KINDS, PYTHON_KINDS, Kind

_native: Any = native_module("_trace_reader")

# What a row does where it overlaps partly with the row it began in. Calls of a runtime leave it too.
_LEAVES, _STEP, _YIELDS, _LAUNCHES = range(4)  # the codes of _native/trace/nesting.h
_ROLES = np.zeros(256, np.uint8)
_ROLES[Kind.STEP] = _STEP
_ROLES[[int(kind) for kind in PYTHON_KINDS]] = _YIELDS
_ROLES[[int(kind) for kind in LAUNCHING_KINDS]] = _LAUNCHES


def nest(columns: dict[str, np.ndarray], nests: np.ndarray, slack_ns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(end, parent, is it outside the nesting?) of rows in the order of (start, -end); those not in `nests` have no
    parent.

    The parent is the innermost row of the same track that is open when a row begins. A row that outlives its parent
    by no more than `slack_ns`, the error of a trace in whole microseconds, ends with it; one that outlives it by
    more leaves the nesting. (A step stays: what it outlives leaves.) Python calls yield: one that began in an event
    ends with it at the latest, and one that an event outlives ends where the event begins. A row that ends when
    another begins is no longer open, so rows without length stand beside each other; only a call of a device's
    runtime without length belongs to what it touches.
    """
    if _native is None:
        return _nest(columns, nests, slack_ns)
    end, parent = np.array(columns["end_ns"], np.int64), np.empty(len(nests), np.int32)
    loose, track = np.zeros(len(nests), bool), np.ascontiguousarray(columns["track"], np.int32)
    _native.nest(
        np.ascontiguousarray(columns["start_ns"], np.int64),
        end,
        track,
        _ROLES[columns["kind"]],
        nests,
        parent,
        loose,
        int(track.max(initial=-1)) + 1,
        slack_ns,
    )
    return end, parent, loose


def _nest(
    columns: dict[str, np.ndarray], nests: np.ndarray, slack_ns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same in Python."""
    start, end = columns["start_ns"].tolist(), columns["end_ns"].tolist()
    role = _ROLES[columns["kind"]].tolist()
    track = columns["track"].tolist()
    parent = [-1] * len(start)
    loose = np.zeros(len(start), bool)
    open_rows: dict[int, list[int]] = {}
    for row in np.flatnonzero(nests).tolist():
        begins, ends = start[row], end[row]
        stack = open_rows.setdefault(track[row], [])
        while stack and not (
            begins < end[stack[-1]] or (begins == ends == end[stack[-1]] and role[row] == _LAUNCHES != role[stack[-1]])
        ):
            stack.pop()
        while (
            stack
            and ends > end[stack[-1]] + slack_ns
            and (role[stack[-1]] == _YIELDS != role[row] or role[row] == _STEP)
        ):
            outlived = stack.pop()
            if role[outlived] == _YIELDS:
                end[outlived] = begins
            else:
                loose[outlived] = True
        if stack:
            over = ends - end[stack[-1]]
            if over > slack_ns and role[row] != _YIELDS:
                loose[row] = True
                continue
            if over > 0:
                end[row] = end[stack[-1]]
            parent[row] = stack[-1]
        stack.append(row)
    parents = np.array(parent, np.int64) if parent else np.zeros(0, np.int64)
    outside = np.append(loose, False)[parents]  # what began inside a row before that left the nesting
    while outside.any():
        parents = np.where(outside, np.append(parents, -1)[parents], parents)
        outside = np.append(loose, False)[parents]
    return np.array(end, np.int64), parents, loose
