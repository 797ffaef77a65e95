"""Runs small programs under a profile and says what was recorded, one JSON line for each line read.

A program is a list of statements; see `_run`. Both recorders must say the same of the same program, so times are
ranks of a clock that ticks when it is read, and addresses are the order in which blocks came to life.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._dispatch import modes
from mindtorch_v2.profiler import profile, record_function
from mindtorch_v2.profiler.record import clock as clocks
from mindtorch_v2.profiler.store.event_store import EventStore

Program = list[Any]


class TickingClock:
    def __init__(self) -> None:
        self.now = itertools.count(10, 10).__next__

    def epoch_offset(self) -> int:
        return 0


class Oops(Exception):
    pass


class State:
    def __init__(self, prof: Any) -> None:
        self.prof = prof
        self.values = [torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)]
        self.layer = nn.Linear(3, 3)


def called(state: State, body: Program) -> None:
    run(state, body)


def yielding(state: State, body: Program) -> Iterator[int]:
    for statement in body:
        run(state, [statement])
        yield 1


def _binary(state: State, which: int) -> None:
    a, b = state.values[-1], state.values[0]
    state.values.append([a + b, a * 2.5, torch.cat([a, b])[:2], (a - b).abs()][which % 4])


def _drop(state: State) -> None:
    if len(state.values) > 2:
        state.values.pop()


def _sorted(state: State, body: Program) -> None:
    sorted([2, 1], key=lambda n: (run(state, body if n == 1 else []), n)[1])


def _caught(state: State, body: Program) -> None:
    try:
        run(state, body)
        raise Oops
    except Oops:
        pass


def _scope(state: State, body: Program) -> None:
    with record_function("scope"):
        run(state, body)


SIMPLE: dict[str, Callable[[State], Any]] = {
    "add": lambda s: _binary(s, 0),
    "mul": lambda s: _binary(s, 1),
    "cat": lambda s: _binary(s, 2),
    "abs": lambda s: _binary(s, 3),
    "drop": _drop,
    "len": lambda s: len(s.values),
    "layer": lambda s: s.values.append(s.layer(s.values[0])),
    "backward": lambda s: (s.values[1] * s.values[0]).sum().backward(),
    "step": lambda s: s.prof.step(),
}
NESTED: dict[str, Callable[[State, Program], Any]] = {
    "call": called,
    "generate": lambda s, body: list(yielding(s, body)),
    "sorted": _sorted,
    "catch": _caught,
    "scope": _scope,
    "lambda": lambda s, body: (lambda: run(s, body))(),
}


def run(state: State, program: Program) -> None:
    for what, *body in program:
        if what in SIMPLE:
            SIMPLE[what](state)
        else:
            NESTED[what](state, body[0])


def described(store: EventStore) -> list[Any]:
    times = sorted({int(t) for column in (store.start_ns, store.end_ns) for t in column})
    rank = {t: i for i, t in enumerate(times)}
    columns = {
        name: store.columns[name].tolist()
        for name in ("parent", "kind", "sequence_nr", "flags", "step")
        if name in store.columns
    }
    rows = [
        [
            store.name_of(r),
            store.overload_of(r),
            repr(store.inputs_of(r)),
            rank[int(store.start_ns[r])],
            rank[int(store.end_ns[r])],
            *(column[r] for column in columns.values()),
            store.stack_of(r) if store.stack[r] >= 0 else None,
        ]
        for r in range(len(store))
    ]
    blocks: dict[int, int] = {}
    numbers = itertools.count()
    memory = []
    for address, nbytes, row in zip(*(store.memory.columns[c].tolist() for c in ("address", "nbytes", "row"))):
        if nbytes > 0:
            blocks[address] = next(numbers)
        memory.append([blocks.get(address, -1), nbytes, row])
    # When memory goes is the business of who held it: objects' fields are cleared in an order of their own, and a loop
    # in Python holds a gradient until it takes the next. That it goes, and what came when, must be the same.
    return [rows, [entry for entry in memory if entry[1] > 0], sorted(entry[:2] for entry in memory if entry[1] < 0)]


def record(program: Program, options: dict[str, bool]) -> list[Any]:
    with clocks.use(TickingClock()):
        prof = profile(**options)
        state = State(prof)
        modes.sequence[0] = 0
        with prof:
            run(state, program)
        return described(prof.profiler.store)


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(record(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
