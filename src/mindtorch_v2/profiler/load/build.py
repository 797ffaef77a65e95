"""Makes a store of what a trace said: who encloses whom, who launched what, which threads there are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._observer import NODE_PREFIX
from ..record.descriptions import Metadata, ModuleInfo, Options, ThreadInfo
from ..record.enums import DeviceType
from ..record.kinds import DEVICE_KINDS, LAUNCHING_KINDS, LOADING_PREFIX, PYTHON_KINDS, Flag, Kind
from ..record.row_format import type_number
from ..store.event_store import EventStore, MemoryTable, StackTable, in_order
from .dialects import resolve_categories, with_addresses
from .inputs import InputTable
from .memory import BLOCKS_KEY, block_numbers, held_blocks, innermost_rows, scratch_memory
from .nesting import nest

ROW = (
    "external",
    "sequence_nr",
    "correlation",
    "forward_thread",
    "name",
    "track",
    "inputs",
    "stack",
    "module",
    "kind",
    "unfinished",
)
_FIRST_EXTRA_TID = 0x70000000
_SAFE = 1 << 53
_OWN_KEYS = frozenset(
    {
        "schemaVersion",
        "deviceProperties",
        "trace_id",
        "host_name",
        "displayTimeUnit",
        "baseTimeNanoseconds",
        "traceName",
        "use_device",
        "dropped_events",
        "profile_memory",
        "with_stack",
        "record_shapes",
        "with_modules",
        "with_flops",
        BLOCKS_KEY,
    }
)
_IS_DEVICE = np.isin(np.arange(256), [int(kind) for kind in DEVICE_KINDS])
_IS_PYTHON = np.isin(np.arange(256), [int(kind) for kind in PYTHON_KINDS])
_LAUNCHES = np.isin(np.arange(256), [int(kind) for kind in LAUNCHING_KINDS])
_ASYNCHRONOUS = re.compile(r"asynchronous \d+")
_TASK = re.compile(r"task (.*) \(thread (\d+)\)", re.DOTALL)
_THREAD_NAME = re.compile(r"thread \d+ \((.*)\)", re.DOTALL)


@dataclass
class Collected:
    """The columns of a trace in the order of its events. `rows` has the columns ROW, `memory` address, bytes, total,
    device type, device index and track.
    """

    head: dict[str, Any]
    strings: dict[str, int]
    tracks: list[tuple[Any, Any, bool]]
    names: dict[tuple[str, Any, Any], str]
    inputs: InputTable
    stacks: list[str]
    modules: list[str]
    categories: set[str]
    kept: dict[str, Kind]
    start: np.ndarray
    end: np.ndarray
    rows: dict[str, np.ndarray]
    memory: np.ndarray
    memory_time: np.ndarray
    window: np.ndarray
    resolution_ns: int


def build(raw: Collected) -> EventStore:
    """The store. Rows that are not inside another although they begin there, as far as the trace's resolution tells,
    are asynchronous; all others nest by time.
    """
    columns = {**raw.rows, "start_ns": raw.start, "end_ns": raw.end, "parent": np.full(len(raw.start), -1)}
    resolve_categories(raw, columns)
    process = _process(raw, columns)
    (columns,) = in_order(columns)
    threads, thread_of_track = _threads(raw, columns, process)
    apart = np.array([_is_extra(raw, track) for track in raw.tracks] + [False])[columns["track"]]
    kinds = columns["kind"]
    nests = ~_IS_DEVICE[kinds] & ~apart
    columns["end_ns"], columns["parent"], loose = nest(columns, nests, raw.resolution_ns - 1 and raw.resolution_ns)
    columns["flags"] = np.where(columns["unfinished"] != 0, int(Flag.UNFINISHED), 0) | np.where(
        loose | apart, int(Flag.ASYNC), 0
    )
    columns["end_thread"] = np.where(apart, -1, 0)
    columns["kind"] = _with_backward(kinds, columns, list(raw.strings))
    columns["launcher"] = _launchers(columns)
    use_device = _device_name(raw, bool(_IS_DEVICE[kinds].any()))
    device = type_number(use_device or "")
    columns["device_type"] = np.where(_IS_DEVICE[kinds], device, 0)
    columns["step"] = _steps(columns, list(raw.strings))
    stacks = _stacks(raw, columns)
    columns["thread"] = thread_of_track[columns.pop("track")]
    if any(thread.task for thread in threads):
        columns["parent"] = _around_tasks(columns, threads, nests & ~loose)
    columns = {name: values for name, values in columns.items() if name not in ("external", "unfinished")}
    memory = _memory(raw, columns, thread_of_track)
    track_threads = {
        track[:2]: int(thread) for track, thread in zip(raw.tracks, thread_of_track.tolist()) if not track[2]
    }
    scratch = scratch_memory(raw.head, columns, track_threads)
    scratch_row = np.zeros(0, np.int64) if scratch is None else scratch.row
    # Ends that were cut off may have changed the order.
    columns, memory["row"], scratch_row = in_order(columns, memory["row"], scratch_row)
    modules = [ModuleInfo(0, path, "", -1) for path in raw.modules]
    loads = np.array([text.startswith(LOADING_PREFIX) for text in raw.strings] or [False])
    columns["kind"][(columns["kind"] == Kind.OVERHEAD) & loads[columns["name"]]] = Kind.LOADING
    return EventStore(
        columns,
        strings=list(raw.strings),
        inputs=raw.inputs,
        threads=threads,
        modules=modules,
        stacks=stacks,
        memory=MemoryTable(memory) if len(raw.memory_time) else None,
        held=held_blocks(raw.head),
        scratch=None if scratch is None else MemoryTable({**scratch.columns, "row": scratch_row}),
        metadata=_metadata(raw, columns, process, use_device, len(stacks) > 0, threads),
    )


# ---- threads
# ----------------------------------------------------------------------------------------------------------


def _is_extra(raw: Collected, track: tuple[Any, Any, bool]) -> bool:
    """Whether a track holds what did not nest on its thread."""
    owner, number, on_device = track
    return (
        not on_device
        and isinstance(number, int)
        and number >= _FIRST_EXTRA_TID
        and _ASYNCHRONOUS.fullmatch(raw.names.get(("thread_name", owner, number), "")) is not None
    )


def _process(raw: Collected, columns: dict[str, np.ndarray]) -> Any:
    """The process that was profiled: the one with most events of the host."""
    host = ~_IS_DEVICE[columns["kind"]]
    known = host & (columns["kind"] != Kind.OTHER) & (columns["kind"] != Kind.OVERHEAD)
    events = np.bincount(columns["track"][known if known.any() else host], minlength=len(raw.tracks))
    counts: dict[Any, int] = {}
    for i in np.flatnonzero(events).tolist():
        owner = raw.tracks[i][0]
        counts[owner] = counts.get(owner, 0) + int(events[i])
    return max(counts, key=counts.__getitem__) if counts else None


def _threads(raw: Collected, columns: dict[str, np.ndarray], process: Any) -> tuple[list[ThreadInfo], np.ndarray]:
    """The threads, and where each track's stands among them; what did not nest belongs to the first."""
    first = np.full(len(raw.tracks), np.iinfo(np.int64).max)
    np.minimum.at(first, columns["track"], columns["start_ns"])
    order = np.lexsort((first, np.array([track[2] for track in raw.tracks], bool))).tolist() if raw.tracks else []
    kept = [i for i in order if not _is_extra(raw, raw.tracks[i])] or order[:1]
    numbers = _forward_numbers(columns, len(raw.tracks))
    free = iter(sorted(set(range(1, len(kept) + len(numbers) + 1)) - set(numbers.values())))
    process_name = _process_name(raw, process)
    threads = []
    for i in kept:
        owner, number, on_device = raw.tracks[i]
        os_id = number if type(number) is int and abs(number) < _SAFE else i
        label = raw.names.get(("thread_name", owner, number), "").strip()
        found = _THREAD_NAME.fullmatch(label)
        name = found.group(1) if found else label or (f"stream {number}" if on_device else str(number))
        name = "MainThread" if name == process_name else name
        device = -1 if not on_device else owner if type(owner) is int and 0 <= owner < _SAFE else 0
        threads.append(
            ThreadInfo(
                numbers.get(i) or next(free), os_id, name, device, process=_other_process(raw.tracks[i], process)
            )
        )
    threads = _with_tasks(raw, kept, threads)
    lookup = np.zeros(len(raw.tracks) + 1, np.int64)
    lookup[kept] = np.arange(len(kept))
    return threads or [ThreadInfo(1, 0, "MainThread")], lookup


def _other_process(track: tuple[Any, Any, bool], process: Any) -> int:
    """The id of the process that a track of the host belongs to, where that is another than the profiled one; else
    0.
    """
    owner, _, on_device = track
    is_id = type(owner) is int and 0 < owner < _SAFE
    return int(owner) if is_id and not on_device and owner != process else 0


def _with_tasks(raw: Collected, kept: list[int], threads: list[ThreadInfo]) -> list[ThreadInfo]:
    """The threads, where those that are tasks of others have their numbers."""
    known = {(thread.process, thread.os_id): thread for thread in threads if thread.device < 0}
    made = []
    for i, thread in zip(kept, threads):
        found = _TASK.fullmatch(raw.names.get(("thread_name", *raw.tracks[i][:2]), ""))
        if found is not None and thread.os_id >= _FIRST_EXTRA_TID and thread.device < 0:
            number = int(found.group(2))
            owner = known.setdefault((thread.process, number), thread._replace(os_id=number))
            thread = owner._replace(name=found.group(1), task=thread.os_id - _FIRST_EXTRA_TID + 1)
        made.append(thread)
    return made


def _forward_numbers(columns: dict[str, np.ndarray], tracks: int) -> dict[int, int]:
    """The numbers that backward functions know threads by, as far as sequence numbers tell which thread is meant."""
    sequence, forward = columns["sequence_nr"], columns["forward_thread"]
    found: dict[int, int] = {}
    backward = np.flatnonzero((forward > 0) & (sequence >= 0))
    numbers, which = np.unique(forward[backward], return_inverse=True)
    candidates = np.flatnonzero((sequence >= 0) & (forward == 0))
    if not len(numbers) or not len(candidates):
        return found
    # A backward thread's number votes, by each sequence number that it comes with, for the track that has this one most
    # often.
    known, rank = np.unique(sequence[candidates], return_inverse=True)
    best, times = _most_frequent(rank, columns["track"][candidates], np.ones(len(rank), np.int64), tracks)
    place = np.minimum(np.searchsorted(known, sequence[backward]), len(known) - 1)
    met = known[place] == sequence[backward]
    voter, voted = np.divmod(np.unique(which[met] * len(known) + place[met]), len(known))
    tracks_of, _ = _most_frequent(voter, best[voted], times[voted], tracks)
    for i, track in zip(np.unique(voter).tolist(), tracks_of.tolist()):
        found.setdefault(track, int(numbers[i]))
    return found


def _most_frequent(
    group: np.ndarray, value: np.ndarray, weight: np.ndarray, values: int
) -> tuple[np.ndarray, np.ndarray]:
    """Per group, in order, the value (below `values`) with the largest sum of weights, and that sum."""
    pairs, which = np.unique(group.astype(np.int64) * values + value, return_inverse=True)
    sums = np.bincount(which, weight).astype(np.int64)
    order = np.lexsort((-sums, pairs // values))
    first = order[np.unique((pairs // values)[order], return_index=True)[1]]
    return pairs[first] % values, sums[first]


def _process_name(raw: Collected, process: Any) -> str:
    return raw.names.get(("process_name", process, 0), "python")


# ---- rows
# -------------------------------------------------------------------------------------------------------------


def _with_backward(kinds: np.ndarray, columns: dict[str, np.ndarray], strings: list[str]) -> np.ndarray:
    """Functions right inside the engine's event for the same node are backward functions."""
    numbers = {text: i for i, text in enumerate(strings)}
    inner = np.array([numbers.get(text.removeprefix(NODE_PREFIX), -1) for text in strings] + [-1])
    parent = columns["parent"]
    above = np.append(kinds, -1)[parent]
    same = inner[np.append(columns["name"], -1)[parent]] == columns["name"]
    return np.where((above == Kind.NODE) & same, int(Kind.BACKWARD), kinds)


def _around_tasks(columns: dict[str, np.ndarray], threads: list[ThreadInfo], nests: np.ndarray) -> np.ndarray:
    """Parents, also of what tasks began with: the innermost event that their thread had open meanwhile."""
    start, end, parent, kinds = (columns[n] for n in ("start_ns", "end_ns", "parent", "kind"))
    made = np.append(parent, -1)
    tasks = np.array([thread.task for thread in threads])[columns["thread"]]
    numbers = np.array([thread.number for thread in threads])[columns["thread"]]
    roots = np.flatnonzero(nests & (tasks > 0) & (parent < 0))
    for number in np.unique(numbers[roots]).tolist():
        around = np.flatnonzero(nests & (tasks == 0) & (numbers == number) & ~_IS_PYTHON[kinds])
        for row in roots[numbers[roots] == number].tolist() if len(around) else []:
            place = int(np.searchsorted(start[around], start[row], "right")) - 1
            found = int(around[place]) if place >= 0 else -1
            while found >= 0 and (end[found] < end[row] or _IS_PYTHON[kinds[found]]):
                found = int(parent[found])
            made[row] = found if found < row else -1
    return made[:-1]


def _launchers(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Per row that ran on a device, the call with the same correlation number. Where there is none, or it is in no
    operator, the operator that the trace names, if it names one. An annotation has that of the CPU which it is named
    after.
    """
    kinds, correlation, external = columns["kind"], columns["correlation"], columns["external"]
    device = np.flatnonzero(_IS_DEVICE[kinds] & (kinds != Kind.DEVICE_SCOPE))
    launcher = np.full(len(kinds), -1)
    calls = np.flatnonzero(_LAUNCHES[kinds] & (correlation > 0))
    launcher[device] = _matching(correlation[calls], calls, correlation[device])
    # Some versions write the correlation number itself as "External id", which then names no operator.
    named = device[(external[device] > 0) & (external[device] != correlation[device])]
    ops = np.flatnonzero(~_IS_DEVICE[kinds] & ~_LAUNCHES[kinds] & ~_IS_PYTHON[kinds] & (external > 0))
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
    place = np.searchsorted(keys[order], wanted, "right") - 1
    found = order[np.maximum(place, 0)]
    return np.where((place >= 0) & (keys[found] == wanted) & (wanted > 0), rows[found], -1)


def _steps(columns: dict[str, np.ndarray], strings: list[str]) -> np.ndarray:
    """The step in which each event began; what ran on a device is in the step that launched it."""
    rows = np.flatnonzero(columns["kind"] == Kind.STEP)
    digits = [strings[columns["name"][row]].rpartition("#")[2] for row in rows.tolist()]
    numbers = np.array([int(text) if text.isdecimal() and len(text) < 10 else 0 for text in digits] or [0])
    if not len(rows):
        return np.zeros(len(columns["kind"]), np.int64)
    steps = numbers[np.maximum(np.searchsorted(columns["start_ns"][rows], columns["start_ns"], side="right") - 1, 0)]
    return np.where(columns["launcher"] >= 0, steps[columns["launcher"]], steps)


def _stacks(raw: Collected, columns: dict[str, np.ndarray]) -> StackTable:
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
    elif _IS_PYTHON[columns["kind"]].any():
        found = [-1] * (len(columns["kind"]) + 1)  # the extra last one is for no parent
        for row, (is_python, name, parent) in enumerate(
            zip(_IS_PYTHON[columns["kind"]].tolist(), columns["name"].tolist(), columns["parent"].tolist())
        ):
            found[row] = nodes.setdefault((found[parent], name), len(nodes)) if is_python else found[parent]
        columns["stack"] = np.where(_IS_PYTHON[columns["kind"]], -1, found[:-1])
    return StackTable({"parent": [p for p, _ in nodes], "frame": [f for _, f in nodes]} if nodes else None)


def _memory(raw: Collected, columns: dict[str, np.ndarray], thread_of_track: np.ndarray) -> dict[str, np.ndarray]:
    """Memory records in the order of time, each in the innermost event of its thread that was open."""
    blocks = block_numbers(raw.head, len(raw.memory_time))
    order = np.argsort(raw.memory_time, kind="stable")
    time = raw.memory_time[order]
    address, nbytes, total, device_type, device_index, track = raw.memory[:, order]
    if len(time) and not (device_type.min() >= 0 and device_type.max() < len(DeviceType)):
        raise ValueError("a memory record is on an unknown device")
    thread = thread_of_track[track]
    address = with_addresses(address, nbytes, device_type, device_index)
    row = innermost_rows(columns, thread, time)
    total = np.where(total >= 0, total, np.cumsum(nbytes))
    return {
        "time_ns": time,
        "address": address,
        "nbytes": nbytes,
        "total": total,
        "device_type": device_type,
        "device_index": device_index,
        "row": row,
        "thread": thread,
        "block": 0 * time if blocks is None else blocks[order],
    }


# ---- the window as a whole
# --------------------------------------------------------------------------------------------


def _device_name(raw: Collected, has_device_rows: bool) -> str | None:
    """What PyTorch calls the device: also that of AMD is "cuda"."""
    given = raw.head.get("use_device")
    if isinstance(given, str):
        return given
    for category in sorted(raw.categories):
        device = category.lower().partition("_")[0]
        if device in ("xpu", "mtia", "hpu", "privateuse1"):
            return "privateuseone" if device == "privateuse1" else device
    return "cuda" if has_device_rows else None


def _metadata(
    raw: Collected,
    columns: dict[str, np.ndarray],
    process: Any,
    use_device: str | None,
    has_stacks: bool,
    threads: list[ThreadInfo],
) -> Metadata:
    head = raw.head
    times = [columns["start_ns"], columns["end_ns"], raw.memory_time, raw.window]
    known = np.concatenate(times) if any(len(part) for part in times) else np.zeros(1, np.int64)
    base, dropped = head.get("baseTimeNanoseconds"), head.get("dropped_events")
    options = Options(
        record_shapes=bool(head.get("record_shapes")) or raw.inputs.has_shapes,
        with_flops=bool(head.get("with_flops")),
        profile_memory=bool(head.get("profile_memory")) or len(raw.memory_time) > 0,
        with_stack=bool(head.get("with_stack")) or has_stacks,
        verbose=bool(raw.stacks),
        with_modules=bool(head.get("with_modules")) or bool(raw.modules),
    )
    return Metadata(
        start_ns=int(known.min()),
        stop_ns=int(known.max()),
        epoch_offset_ns=base if type(base) is int and abs(base) < 1 << 62 else 0,
        pid=process if type(process) is int and abs(process) < _SAFE else 0,
        process_name=_process_name(raw, process),
        host_name=str(head.get("host_name", "")),
        trace_id=str(head.get("trace_id", "")),
        use_device=use_device,
        options=options,
        is_foreign=True,
        user={key: json.dumps(value, default=str) for key, value in head.items() if key not in _OWN_KEYS},
        device_properties=json.dumps(head.get("deviceProperties", []), default=str),
        dropped_events=dropped if type(dropped) is int else 0,
        other_processes={
            str(thread.process): _process_name(raw, thread.process) for thread in threads if thread.process
        },
    )
