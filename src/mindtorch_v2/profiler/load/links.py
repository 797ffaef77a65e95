"""How the rows of a trace hang together: backward functions, launchers, steps and call stacks."""

from __future__ import annotations

import numpy as np

from ..._observer import NODE_PREFIX
from ..record.kinds import LOADING_PREFIX, Kind
from ..store.event_store import StackTable
from .collected import IS_DEVICE, IS_PYTHON, LAUNCHES, Collected


def with_backward(kinds: np.ndarray, columns: dict[str, np.ndarray], strings: dict[str, int]) -> np.ndarray:
    """Functions right inside the engine's event for the same node are backward functions."""
    inner = np.full(len(strings) + 1, -1)  # by a node's name, the name of its function
    texts = list(strings)
    for name in np.unique(columns["name"][kinds == Kind.NODE]).tolist():
        inner[name] = strings.get(texts[name].removeprefix(NODE_PREFIX), -1)
    parent = columns["parent"]
    above = np.append(kinds, -1)[parent]
    same = inner[np.append(columns["name"], -1)[parent]] == columns["name"]
    return np.where((above == Kind.NODE) & same, int(Kind.BACKWARD), kinds)


def with_loading(kinds: np.ndarray, names: np.ndarray, strings: list[str]) -> np.ndarray:
    """Overhead whose name says so is loading."""
    overhead = np.flatnonzero(kinds == Kind.OVERHEAD)
    loading = [name for name in np.unique(names[overhead]).tolist() if strings[name].startswith(LOADING_PREFIX)]
    made = kinds.copy()
    made[overhead[np.isin(names[overhead], loading)]] = Kind.LOADING
    return made


def launchers(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Per row that ran on a device, the call with the same correlation id. Where there is none, or it is in no
    operator, the operator that the trace names, if it names one. An annotation has that of the CPU which it is named
    after.
    """
    kinds, correlation, external = columns["kind"], columns["correlation"], columns["external"]
    device = np.flatnonzero(IS_DEVICE[kinds] & (kinds != Kind.DEVICE_SCOPE))
    launcher = np.full(len(kinds), -1)
    calls = np.flatnonzero(LAUNCHES[kinds] & (correlation > 0))
    launcher[device] = _matching(correlation[calls], calls, correlation[device])
    # Some versions write the correlation id itself as "External id", which then names no operator.
    named = device[(external[device] > 0) & (external[device] != correlation[device])]
    ops = np.flatnonzero(~IS_DEVICE[kinds] & ~LAUNCHES[kinds] & ~IS_PYTHON[kinds] & (external > 0))
    op = _matching(external[ops], ops, external[named])
    parent = np.append(columns["parent"], -1)
    alone = (launcher[named] < 0) | (parent[launcher[named]] < 0)
    launcher[named] = np.where(alone & (op >= 0), op, launcher[named])
    scopes = np.flatnonzero((kinds == Kind.DEVICE_SCOPE) & (external > 0))
    given = np.flatnonzero(((kinds == Kind.SCOPE) | (kinds == Kind.STEP)) & (external > 0))
    scope = _matching(external[given], given, external[scopes])
    launcher[scopes] = np.where(columns["name"][scope] == columns["name"][scopes], scope, -1)
    return launcher


def _matching(keys: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each wanted key the last of the rows that have it, or -1."""
    if not len(keys):
        return np.full(len(wanted), -1)
    order = np.argsort(keys, kind="stable")
    position = np.searchsorted(keys[order], wanted, "right") - 1
    found = order[np.maximum(position, 0)]
    return np.where((position >= 0) & (keys[found] == wanted) & (wanted > 0), rows[found], -1)


def steps(columns: dict[str, np.ndarray], strings: list[str]) -> np.ndarray:
    """The step in which each event began; what ran on a device is in the step that launched it."""
    rows = np.flatnonzero(columns["kind"] == Kind.STEP)
    digits = [strings[columns["name"][row]].rpartition("#")[2] for row in rows.tolist()]
    known = np.array([int(text) if text.isdecimal() and len(text) < 10 else 0 for text in digits] or [0])
    if not len(rows):
        return np.zeros(len(columns["kind"]), np.int64)
    last = np.searchsorted(columns["start_ns"][rows], columns["start_ns"], side="right") - 1
    made = known[np.maximum(last, 0)]
    return np.where(columns["launcher"] >= 0, made[columns["launcher"]], made)


def call_stacks(raw: Collected, columns: dict[str, np.ndarray]) -> StackTable:
    """The tree of call stacks: those that the trace writes out, else the Python calls around each event.

    Replaces the column.
    """
    nodes: dict[tuple[int, int], int] = {}
    strings = raw.strings
    if raw.stacks:
        heads = []
        for text in raw.stacks:
            node = -1
            for frame in reversed([part for part in text.split(";") if part]):
                node = nodes.setdefault((node, strings.setdefault(frame, len(strings))), len(nodes))
            heads.append(node)
        columns["stack"] = np.array([*heads, -1])[columns["stack"]]
    elif IS_PYTHON[columns["kind"]].any():
        found = [-1] * (len(columns["kind"]) + 1)  # the extra last one is for no parent
        for row, (is_python, name, parent) in enumerate(
            zip(IS_PYTHON[columns["kind"]].tolist(), columns["name"].tolist(), columns["parent"].tolist())
        ):
            found[row] = nodes.setdefault((found[parent], name), len(nodes)) if is_python else found[parent]
        columns["stack"] = np.where(IS_PYTHON[columns["kind"]], -1, found[:-1])
    return StackTable({"parent": [p for p, _ in nodes], "frame": [f for _, f in nodes]} if nodes else None)
