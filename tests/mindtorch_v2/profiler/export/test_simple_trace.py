"""`EventList.export_chrome_trace`: viewers drop slices that overlap partly on one track, so there are none."""

from __future__ import annotations

import json

from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent


def written(tmp_path, *events):
    """(name, track) of each slice."""
    EventList(
        [
            FunctionEvent(id=i, name=name, trace_name=name, thread=thread, start_us=start, end_us=end)
            for i, (name, thread, start, end) in enumerate(events)
        ]
    ).export_chrome_trace(tmp_path / "t.json")
    return [(e["name"], e["tid"]) for e in json.loads((tmp_path / "t.json").read_text())]


def test_what_nests_stays_on_its_thread(tmp_path):
    assert written(tmp_path, ("a", 1, 0, 10), ("b", 1, 2, 10), ("c", 1, 10, 12), ("d", 2, 5, 11)) == [
        ("a", 1),
        ("b", 1),
        ("c", 1),
        ("d", 2),
    ]


def test_what_overlaps_partly_gets_further_tracks(tmp_path):
    tracks = dict(
        written(
            tmp_path,
            ("late", 1, 12, 14),
            ("a", 1, 0, 10),
            ("b", 1, 5, 15),
            ("in b", 1, 6, 15),
            ("c", 1, 7, 20),
            ("d", 2, 0, 4),
            ("e", 2, 3, 5),
        )
    )
    assert (tracks["late"], tracks["a"], tracks["d"]) == (1, 1, 2) and tracks["b"] == tracks["in b"]
    assert (
        len({1, 2, tracks["b"], tracks["c"], tracks["e"]}) == 5
        and min(tracks["b"], tracks["c"], tracks["e"]) >= 0x70000000
    )
