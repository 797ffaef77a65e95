"""Profiles that are trees of merged frames: pprof's protocol buffer and collapsed stacks, from a flame graph."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator

from ..._files import atomic_file
from ..analysis.flame import Flame, by_operators, by_python
from ..store.event_store import EventStore
from .protobuf import data, integer, packed_field, text
from .stacks import write_stacks

_FRAME = re.compile(r"(.*)\((\d+)\): (.*)", re.DOTALL)


def flame_of(store: EventStore) -> Flame:
    """By Python stack where that was recorded, else by operators."""
    return by_python(store) or by_operators(store)


def _stacks(flame: Flame) -> Iterator[tuple[list[int], int, int]]:
    """(names from the outermost, own nanoseconds, calls) of the frames that spent time themselves."""
    paths: list[list[int]] = []
    for name, parent, own, calls in zip(
        flame.name.tolist(), flame.parent.tolist(), flame.own_ns.tolist(), flame.calls.tolist()
    ):
        paths.append([*paths[parent], name] if parent >= 0 else [name])
        if own > 0:
            yield paths[-1], own, calls


def write_collapsed(store: EventStore, path: str | os.PathLike[str]) -> None:
    """`outermost;...;innermost microseconds`, for flamegraph.pl and speedscope."""
    flame = flame_of(store)
    write_stacks(path, (([flame.names[i] for i in names], own / 1000) for names, own, _ in _stacks(flame)))


def write_pprof(store: EventStore, path: str | os.PathLike[str]) -> None:
    """A compressed profile for `pprof` and speedscope with two values per stack: calls, and own nanoseconds."""
    flame = flame_of(store)
    strings: dict[str, int] = {"": 0}

    def string(value: str) -> int:
        return strings.setdefault(value, len(strings))

    calls_type = integer(1, string("calls")) + integer(2, string("count"))
    time_type = integer(1, string("time")) + integer(2, string("nanoseconds"))
    body = [data(1, calls_type), data(1, time_type)]
    used: dict[int, int] = {}
    for names, own, calls in _stacks(flame):
        frame_ids = [used.setdefault(name, len(used) + 1) for name in reversed(names)]  # the innermost comes first
        body.append(data(2, packed_field(1, frame_ids) + packed_field(2, [calls, own])))
    for name, frame_id in used.items():
        found = _FRAME.fullmatch(flame.names[name])
        file, line, function = (
            (found.group(1), int(found.group(2)), found.group(3)) if found else ("", 0, flame.names[name])
        )
        label = string(f"{function} ({file}:{line})" if found else function)
        body.append(data(4, integer(1, frame_id) + data(4, integer(1, frame_id) + integer(2, line))))
        body.append(
            data(
                5,
                integer(1, frame_id)
                + integer(2, label)
                + integer(3, label)
                + integer(4, string(file))
                + integer(5, line),
            )
        )
    meta = store.metadata
    tail = (
        integer(9, meta.start_ns + meta.epoch_offset_ns)
        + integer(10, max(meta.stop_ns - meta.start_ns, 0))
        + data(11, time_type)
        + integer(12, 1)
    )
    tail += integer(14, string("time"))
    table = b"".join(text(6, value) for value in strings)
    with atomic_file(path) as out, gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as packed_out:
        packed_out.write(b"".join(body) + table + tail)
