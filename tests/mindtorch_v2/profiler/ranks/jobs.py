"""Jobs made by hand: profiles of ranks whose every nanosecond is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mindtorch_v2.profiler.record.clock import ALIGNMENT_KEY
from mindtorch_v2.profiler.record.descriptions import InputDescription
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.store.event_store import EventStore

from ..hand_made import E, make_store


def facts(name: str, elements: int, ranks: Sequence[int], seq: int | None = None, **more: Any) -> InputDescription:
    """What a collective's event says about it, by PyTorch's names."""
    told: dict[str, Any] = {
        "Collective name": name,
        "dtype": "Float",
        "In msg nelems": elements,
        "Out msg nelems": elements,
        "Group size": len(ranks),
        "Process Group Name": "0",
        "Process Group Ranks": str(list(ranks)),
    }
    if seq is not None:
        told["Seq"] = seq
    return InputDescription((), (), (), (), tuple({**told, **more}.items()))


def rank_store(
    rank: int,
    size: int,
    events: Sequence[E],
    clock: str = "",
    pings: Sequence[Sequence[int]] = (),
    epoch: int = 0,
    host: str = "",
    told: bool = True,
) -> EventStore:
    """The profile of one rank."""
    store = make_store(events)
    user = {}
    if told:
        user["distributedInfo"] = json.dumps({"rank": rank, "world_size": size})
        alignment = {"clock": clock, "epoch_offset_ns": epoch, "pings": [list(ping) for ping in pings]}
        user[ALIGNMENT_KEY] = json.dumps(alignment)
    return store.replaced(
        store.columns, metadata=replace(store.metadata, user=user, epoch_offset_ns=epoch, host_name=host)
    )


def step(
    number: int,
    start: int,
    compute: int,
    arrive_to_end: int,
    size: int,
    seq: int,
    load: int = 0,
    name: str = "aten::mm",
) -> list[E]:
    """A step that loads its input, computes, and meets the others in an all_reduce of a thousand numbers."""
    at = start + load
    done = at + compute
    end = done + arrive_to_end
    made = [E(f"ProfilerStep#{number}", start, end, kind=Kind.STEP, step=number)]
    if load:
        made.append(E("enumerate(DataLoader)#_Iter.__next__", start, at, kind=Kind.SCOPE, step=number))
    told = facts("all_reduce", 1000, range(size), seq)
    return [
        *made,
        E(name, at, done, step=number),
        E("c10d::allreduce_", done, end, kind=Kind.FUNCTION, step=number),
        E("gloo:all_reduce", done, end, kind=Kind.SCOPE, inputs=told, step=number),
    ]
