"""What a profile does when its schedule moves from one action to the next."""

from __future__ import annotations

from ..record.enums import ProfilerAction

NONE, WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
RECORD, SAVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE

PREPARE, START, STOP, READY = "prepare_trace", "start_trace", "stop_trace", "_trace_ready"
CANCEL = "_cancel_trace"
_WRONG = "Incorrect schedule: {} followed by {}"

# (before, after) -> names of the profile's methods, called in this order. None as `after` is the end of the profile.
TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], tuple[str, ...]] = {
    (NONE, NONE): (),
    (NONE, WARMUP): (PREPARE,),
    (NONE, RECORD): (PREPARE, START),
    (NONE, SAVE): (PREPARE, START),
    (WARMUP, NONE): (CANCEL,),
    (WARMUP, WARMUP): (),
    (WARMUP, RECORD): (START,),
    (WARMUP, SAVE): (START,),
    (RECORD, NONE): (STOP,),
    (RECORD, WARMUP): (STOP, PREPARE),
    (RECORD, RECORD): (),
    (RECORD, SAVE): (),
    (SAVE, NONE): (STOP, READY),
    (SAVE, WARMUP): (STOP, READY, PREPARE),
    (SAVE, RECORD): (STOP, READY, PREPARE, START),
    (SAVE, SAVE): (STOP, READY, PREPARE, START),
    (NONE, None): (),
    (WARMUP, None): (CANCEL,),
    (RECORD, None): (STOP, READY),
    (SAVE, None): (STOP, READY),
}

# Moves that a sensible schedule does not make.
WARNINGS: dict[tuple[ProfilerAction, ProfilerAction | None], str] = {
    pair: _WRONG.format(pair[0].name, pair[1].name) for pair in ((WARMUP, NONE), (RECORD, NONE), (RECORD, WARMUP))
}
