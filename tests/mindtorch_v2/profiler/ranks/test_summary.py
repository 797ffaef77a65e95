"""What a rank's file says of itself may be anything: what is no rank, size or reading of a clock counts as not said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mindtorch_v2.profiler.ranks.summary import Ping, summarize
from mindtorch_v2.profiler.record.clock import ALIGNMENT_KEY

from ..hand_made import E, make_store


def _summary(told: Any, clock: Any) -> Any:
    user = {"distributedInfo": json.dumps(told), ALIGNMENT_KEY: json.dumps(clock)}
    return summarize(make_store([E("aten::mm", 0, 100)]).with_metadata(user=user), "trace_rank7.json")


@pytest.mark.parametrize("wrong", [None, [], {}, "x", 1e400, 2**70])
def test_what_makes_no_sense_counts_as_not_said(wrong: Any) -> None:
    plain = _summary({}, {})
    found = _summary(
        {"rank": wrong, "world_size": wrong}, {"epoch_offset_ns": wrong, "pings": [wrong, [1, 2]], "clock": wrong}
    )
    assert (found.rank, found.world_size, found.pings) == (plain.rank, 0, ())
    assert (found.start_ns, found.stop_ns, found.unix_offset_ns) == (
        plain.start_ns,
        plain.stop_ns,
        plain.unix_offset_ns,
    )


def test_what_makes_sense_is_taken() -> None:
    found = _summary({"rank": 3, "world_size": "8"}, {"pings": [[1, 2, 3]]})
    assert (found.rank, found.world_size, found.pings) == (3, 8, (Ping(1, 2, 3),))
