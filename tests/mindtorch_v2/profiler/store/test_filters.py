"""Traces restricted to types of events."""

from __future__ import annotations

import json

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfilerActivity, profile, record_function


@pytest.mark.parametrize(
    ("types", "categories"),
    [
        (["CPU_OP"], {"cpu_op"}),
        (["USER_ANNOTATION"], {"user_annotation"}),
        ([], set()),
        (["CPU_OP", "CPU_INSTANT_EVENT"], {"cpu_op", "cpu_instant_event"}),
    ],
)
def test_only_the_types_asked_for_are_in_the_trace(tmp_path, types, categories):
    with profile(activities=[{ProfilerActivity.CPU: types}], profile_memory=True) as prof, record_function("scope"):
        torch.ones(2)
    prof.export_chrome_trace(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {e["cat"] for e in events if "cat" in e and e["cat"] != "Trace"} == categories
    assert {"scope", "aten::ones"} <= {e.name for e in prof.events()}
