"""Both recorders by hand: a clock that ticks, what a recorder makes of some work, and calls to play to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2._ops.table import find
from mindtorch_v2._storage import native
from mindtorch_v2.profiler.record import clock as clocks
from mindtorch_v2.profiler.record.descriptions import Metadata, Options
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.record.native_recorder import NativeRecorder
from mindtorch_v2.profiler.record.python_recorder import Recorder
from mindtorch_v2.profiler.record.row_format import SHAPES
from mindtorch_v2.profiler.record.window import Recording, Span, Window, recorded, stray_memory
from mindtorch_v2.profiler.store.build import build_store
from mindtorch_v2.profiler.store.event_store import EventStore

ADD, MUL, CAT = find("add.Tensor"), find("mul.Tensor"), find("cat")
RECORDERS = [Recorder, pytest.param(NativeRecorder, marks=pytest.mark.skipif(native is None, reason="not built"))]
needs_native = pytest.mark.skipif(native is None, reason="the native recorder was not built or is switched off")


class TickingClock:
    def __init__(self) -> None:
        self.now = itertools.count(10, 10).__next__

    def epoch_offset(self) -> int:
        return 0


def record(kind: Any, work: Callable[[Any], None], options: Options | None = None) -> EventStore:
    """What a recorder of this kind makes of `work(recorder)`, as a store."""
    options = options or Options(record_shapes=True, profile_memory=True)
    with clocks.use(TickingClock()):
        recorder = kind()
        recorder.reset()
        recorder.bound(options.max_events, options.keep == "newest")
        recorder.set_details(SHAPES if options.record_shapes else 0)
        recorder.watches_memory = options.profile_memory
        buffer = recorder.adopt()
        span = Span(buffer.position())
        start = recorder.now()
        work(recorder)
        stop = recorder.now()
        span.stop = buffer.position()
        window = Window(
            1,
            start,
            stop,
            options,
            [recorded(buffer, [span])],
            stray_memory(recorder, 0),
            recorder.labels,
            recorder.inputs,
            recorder.modules,
            recorder.stacks,
            recorder.dropped,
        )
        store = build_store(Recording(Metadata(start, stop, options=options), window))
        recorder.watches_memory = False
    return store


def described(store: EventStore) -> list[Any]:
    rows = [
        (
            store.name_of(r),
            store.overload_of(r),
            store.inputs_of(r),
            *(int(store.columns[c][r]) for c in ("start_ns", "end_ns", "parent", "kind", "sequence_nr", "flags")),
        )
        for r in range(len(store))
    ]
    memory = [
        tuple(int(store.memory.columns[c][r]) for c in ("time_ns", "address", "nbytes", "row"))
        for r in range(len(store.memory))
    ]
    return [rows, memory, store.metadata.dropped_events]


_X, _Y = torch.ones(3, 4), torch.ones(4, 3).t()
_ARGUMENTS = [
    (),
    (_X, _Y, 1),
    (_X, 2, 1.5),
    ([_X, _Y], 0),
    (_X, None, True),
    (_X, (1, 2), "text"),
    (_X, 10**30),
    (_X, -0.5j),
    ([_X] * 40, 1),
    (torch.ones(()), torch.ones(0, 3)),
    (_X, torch.float32),
    (_X, _X.device),
    (np.float32(2), []),
]
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("op"), st.sampled_from([ADD, MUL, CAT]), st.sampled_from(_ARGUMENTS), st.integers(-1, 5)),
        st.tuples(
            st.just("node"),
            st.sampled_from(["AddBackward0", "autograd::engine::evaluate_function: AddBackward0", "Double"]),
            st.integers(-1, 5),
            st.booleans(),
        ),
        st.tuples(st.just("scope"), st.sampled_from(["a", "b"]), st.sampled_from([None, "text"])),
        st.tuples(st.sampled_from(["leave", "open", "close first", "close last", "memory", "function"])),
    ),
    max_size=60,
)


def play(recorder: Any, steps: list[Any]) -> None:
    handles: list[Any] = []
    seen = 1000
    for step in steps:
        what = step[0]
        if what == "op":
            recorder.enter_op(*step[1:])
        elif what == "node":
            recorder.enter_node(step[1], step[2], 0, (_X,), step[3])
        elif what == "scope":
            recorder.enter_scope(*step[1:])
        elif what == "leave":
            recorder.leave()
        elif what == "open":
            handles.append(recorder.open(Kind.SCOPE, "handle", None))
        elif what.startswith("close") and handles:
            recorder.close(handles.pop(0 if what == "close first" else -1))
        elif what == "function":
            recorder.enter_function("f", (_X, 1), {"k": 2})
        elif what == "memory":
            seen += 8
            recorder.allocated(seen, 16, "cpu", 0)
            recorder.freed(seen, 16, "cpu", 0)
