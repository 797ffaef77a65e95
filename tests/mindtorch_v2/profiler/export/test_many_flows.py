"""One forward operator with very many backward passes: more arrows at one slice than the native writer takes."""

from __future__ import annotations

import json

import mindtorch_v2 as torch


def test_all_arrows_are_written(tmp_path):
    x = torch.ones(2, requires_grad=True)
    with torch.profiler.profile() as prof:
        y = (x * x).sum()
        for _ in range(50):
            y.backward(retain_graph=True)
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    arrows = [event for event in events if event.get("cat") == "fwdbwd"]
    assert [event["ph"] for event in arrows].count("s") == len({event["id"] for event in arrows}) == 100
