"""The page without a browser: its data holds together, it asks nobody for anything, and names cannot break out of
it.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile, schedule
from mindtorch_v2.profiler.analysis.steps import find_steps
from mindtorch_v2.profiler.analysis.tree import EventTree
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.report import write
from mindtorch_v2.profiler.report.data import report_data
from mindtorch_v2.profiler.report.page import SCRIPTS, page
from mindtorch_v2.profiler.report.timeline import timeline

from ..hand_made import E, M, make_store

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\u202eevil\u2028\x00",
    "%%DATA%%",
    "\ud800",
    "a" * 5000,
]


def unpacked(text: str, size: int, planes: int) -> list[int]:
    raw = np.frombuffer(zlib.decompress(base64.b64decode(text), -15), np.uint8).reshape(planes, size).astype(np.int64)
    return sum(raw[i] << (8 * i) for i in range(planes)).tolist()


def events_of(data: dict[str, Any]) -> list[tuple[int, int, str, int, int]]:
    """(start, length, name, merged, depth) of all events, as the page unpacks them."""
    size = data["count"]
    start, length = (unpacked(data["columns"][n], size, 6) for n in ("start", "length"))
    merged, names = unpacked(data["columns"]["merged"], size, 3), unpacked(data["names_index"], size, 3)
    found, at = [], 0
    for _track, depth, count in data["lanes"]:
        moment = 0
        for i in range(at, at + count):
            moment = start[i] if i == at else moment + start[i]
            found.append((moment, length[i], data["names"][names[i] - 1], merged[i], depth))
        at += count
    return found


@pytest.fixture(scope="module")
def trained():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(
        schedule=schedule(wait=0, warmup=1, active=3, repeat=1),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        with_modules=True,
        with_flops=True,
    ) as prof:
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.randn(5, 8)).sum().backward()
            optimizer.step()
            prof.step()
    return prof


def test_numbers_are_those_of_the_profile(trained):
    """Compared with key_averages, the steps' wall clock and the memory timeline, which are computed elsewhere."""
    store = trained.profiler.store
    data = report_data(store, "x")
    averages = {row.key: row for row in trained.key_averages()}
    columns = data["operators"]["columns"]
    for row in data["operators"]["rows"]:
        shown = dict(zip(columns, row))
        expected = averages[shown["name"]]
        assert shown["calls"] == expected.count
        assert shown["own_ns"] == pytest.approx(expected.self_cpu_time_total * 1000, abs=1)
        assert shown["flops"] == expected.flops
    steps = [e for e in trained.events() if e.name.startswith("ProfilerStep")]
    assert sum(data["phases"]["total"]) == pytest.approx(sum(e.cpu_time_total for e in steps) * 1000, abs=len(steps))
    assert [sum(parts) for parts in data["phases"]["by_step"]] == data["phases"]["length"]
    totals = [sum(column[i] for column in data["memory"][0]["totals"]) for i in range(len(data["memory"][0]["times"]))]
    assert max(totals) == data["memory"][0]["peak"] == sum(data["memory"][0]["at_peak"])
    assert sum(row[4] for row in data["memory"][0]["holders"]) == data["memory"][0]["peak"]
    modules = {row[0]: row for row in data["modules"]}
    assert modules["0 (Linear)"][2] == 3
    json.dumps(data, allow_nan=False)


def test_every_event_is_in_the_timeline(trained):
    store = trained.profiler.store
    data, _ = timeline(EventTree(store), find_steps(store), [])
    origin = int(store.start_ns[0])
    assert sorted((s, n) for s, _l, n, _m, _d in events_of(data)) == sorted(
        (int(store.start_ns[i]) - origin, store.name_of(i)) for i in range(len(store))
    )
    assert data["flows"]["count"] > 0


def test_events_of_a_lane_do_not_overlap_and_what_does_not_fit_is_merged_and_counted():
    events = []
    for step in range(30):
        at = step * 100_000
        events.append(E(f"ProfilerStep#{step}", at, at + 90_000 + step, Kind.STEP))
        events += [E("aten::outer", at + 1000 * i, at + 1000 * i + 900) for i in range(50)]
        events += [E("aten::inner", at + 1000 * i + 10, at + 1000 * i + 10 + i) for i in range(50)]
    store = make_store(events)
    data, event_of_row = timeline(EventTree(store), find_steps(store), [5], most=500)
    found = events_of(data)
    assert sum(m or 1 for _s, _l, _n, m, _d in found) == len(store)  # drawn, or counted in what is merged
    assert data["drawn"] <= 560 and 5 in event_of_row
    by_lane: dict[int, list[tuple[int, int]]] = {}
    for start, length, _name, _merged, depth in found:
        by_lane.setdefault(depth, []).append((start, start + length))
    for spans in by_lane.values():
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))
    assert report_data(store, "x", most_events=500)["left_out"]


def test_hostile_names_stay_inside_the_data(tmp_path):
    store = make_store(
        [E(name, 10 * i, 10 * i + 5) for i, name in enumerate(HOSTILE)],
        [M(1, 1, 8)],
        profile_memory=True,
        user={"key</script>": '"<b>"'},
        process_name="</title><script>",
    )
    path = tmp_path / "page.html"
    write([("</title><script>alert(2)</script>", store)], path)
    text = path.read_text(encoding="utf-8")
    assert text.count("</script>") == 2 and text.lower().count("<script") == 2
    body = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
    assert body is not None
    names = [row[0] for row in json.loads(body.group(1))[0]["operators"]["rows"]]
    assert set(HOSTILE[:4]) <= set(names)
    assert max(map(len, names)) <= 240
    assert "<title>mindprof: &#60;" in text


def test_the_page_is_alone():
    """No address of anything outside, and a policy that forbids it."""
    text = page([report_data(make_store([E("aten::a", 0, 1)]), "x")])
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|\bsrc=|@import|url\(", text)
    assert len(SCRIPTS) == len(set(SCRIPTS))


def test_a_store_without_events_has_a_page():
    data = report_data(make_store([]), "empty")
    assert data["timeline"]["count"] == 0 and data["operators"]["rows"] == [] and data["advice"] == []
    assert "empty" in page([data])


@pytest.mark.parametrize(
    ("properties", "printed"),
    [
        ("[]", None),
        ('[{"id": 0, "name": "X", "totalGlobalMem": 34089730048}, {"id": 1, "name": "X", "totalGlobalMem": 34089730048}]',
         "2 x X (32 GB)"),
        ('[{"name": "<b>"}, {"name": "Y", "totalGlobalMem": "many"}]', "1 x <b>, 1 x Y"),
        ("{broken", "{broken"),
        ('{"a_b": 1, "c": "d"}', "a b 1, c d"),
        ("[3]", "[3]"),
    ],
)  # fmt: skip
def test_devices_are_told_in_words(properties, printed):
    about = report_data(make_store([E("aten::a", 0, 5)], device_properties=properties))["about"]
    assert about.get("devices") == printed
