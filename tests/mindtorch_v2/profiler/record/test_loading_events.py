"""What is loaded at first use is an event of its own, and counts to nobody else."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import profiler
from mindtorch_v2._dispatch.loading import call_as_loading
from mindtorch_v2.profiler import profile, record_function
from mindtorch_v2.profiler.analysis.tree import EventTree
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.record.python_recorder import Recorder
from tests.conftest import begin_loading

from ..helpers import store_of


@pytest.fixture(autouse=True)
def shows_loading(monkeypatch):
    monkeypatch.setattr(Recorder, "begin_loading", begin_loading, raising=False)


def _profiled():
    torch.ones(1) + torch.ones(1)
    x = torch.ones(2)
    with profile() as prof, record_function("scope"):
        x + x
        call_as_loading("things", call_as_loading, "more things", lambda: None)
        x + x
    return prof


def test_it_counts_neither_to_the_total_nor_to_the_self_time_of_what_is_around(clock):
    prof = _profiled()
    store = store_of(prof)
    assert [store.strings[i] for i in store.name.tolist()] == [
        "scope",
        "aten::add",
        "loading: things",
        "loading: more things",
        "aten::add",
    ]
    assert store.kind.tolist() == [Kind.SCOPE, Kind.OP, Kind.LOADING, Kind.LOADING, Kind.OP]
    assert store.parent.tolist() == [-1, 0, 0, 2, 0]
    elapsed = (store.end_ns - store.start_ns).tolist()
    tree = EventTree(store)
    assert tree.total_ns.tolist() == [elapsed[0] - elapsed[2], elapsed[1], elapsed[4]]
    assert tree.self_ns.tolist() == [elapsed[0] - elapsed[1] - elapsed[2] - elapsed[4], elapsed[1], elapsed[4]]
    assert [e.name for e in prof.events()] == ["scope", "aten::add", "aten::add"]
    scope, add = prof.key_averages()
    assert (scope.cpu_time_total * 1000, scope.self_cpu_time_total * 1000) == (tree.total_ns[0], tree.self_ns[0])
    assert (add.count, add.cpu_time_total * 1000) == (2, elapsed[1] + elapsed[4])
    assert prof.events()[0].cpu_time_total * 1000 == tree.total_ns[0]
    assert "loading" not in prof.key_averages().table()
    assert prof.validate() == []


def test_traces_and_stores_show_it(clock, tmp_path):
    prof = _profiled()
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    shown = [(e["name"], e["cat"]) for e in events if e.get("cat") == "overhead"]
    assert shown == [("loading: things", "overhead"), ("loading: more things", "overhead")]
    prof.save(tmp_path / "store")
    for path in ("store", "trace.json"):
        loaded = profiler.load(tmp_path / path)
        kept = loaded.store if hasattr(loaded, "store") else store_of(loaded)
        assert np.count_nonzero(kept.kind == Kind.LOADING) == 2
        assert EventTree(kept).total_ns.tolist() == EventTree(store_of(prof)).total_ns.tolist()


COLD = """
import json
import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.analysis.tree import EventTree
layer, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
stores = []
for _ in range(2):
    layer.zero_grad()
    with profile() as prof:
        layer(x).softmax(-1).sum().backward()
    stores.append(prof.profiler.store)
cold, warm = stores
rows = (cold.kind == Kind.LOADING).nonzero()[0]
print(json.dumps({
    "loaded": sorted({cold.strings[cold.name[i]] for i in rows}),
    "warm": int((warm.kind == Kind.LOADING).sum()),
    "same": [s.strings[s.name[i]] for s in stores for i in EventTree(s).row] == 2 * [warm.strings[i] for i in warm.name],
    "negative": bool((EventTree(cold).self_ns < 0).any()),
}))
"""


def test_a_cold_start():
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[4] / "src")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COLD], env=env, capture_output=True, text=True, timeout=120
    )
    found = json.loads(done.stdout)
    assert {
        "loading: activation",
        "loading: reduction",
        "loading: aten::softmax",
        "loading: derivative of aten::sum",
    } <= set(found["loaded"])
    assert (found["warm"], found["same"], found["negative"]) == (0, True, False)


def test_nothing_is_shown_where_nobody_observes():
    assert call_as_loading("things", lambda a, b: a + b, 1, 2) == 3
    with profile() as prof, pytest.raises(ValueError, match="gone"):
        call_as_loading("things", _fail)
    store = store_of(prof)
    assert store.kind.tolist() == [Kind.LOADING] and (store.flags == 0).all()


def _fail():
    raise ValueError("gone")
