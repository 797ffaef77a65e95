"""A trace of everything in time, for viewers: scopes with arguments, facts about the run, arrows from forward to
backward.
"""

import json
import pathlib
from collections import Counter

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import ExecutionTraceObserver, profile, record_function

out = pathlib.Path("demo-out")
out.mkdir(exist_ok=True)
model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 8))
observer = ExecutionTraceObserver().register_callback(str(out / "execution-trace.json"))

with profile(record_shapes=True, profile_memory=True, with_stack=True, execution_trace_observer=observer) as prof:
    prof.add_metadata("commit", "4f2a9c")
    prof.add_metadata_json("batch", json.dumps({"size": 16, "length": 64}))
    for epoch in range(2):
        with record_function("epoch", f"number {epoch}"):
            model(torch.randn(16, 64)).sum().backward()

assert prof.validate() == []  # children inside parents, self times that add up, nothing above 100%
prof.export_chrome_trace(out / "trace.json")
trace = json.loads((out / "trace.json").read_text())
kinds = Counter(event.get("cat", event["ph"]) for event in trace["traceEvents"])
print("in the trace:", ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
print(
    "recorded with:", {key: trace[key] for key in ("commit", "batch", "record_shapes", "profile_memory", "with_stack")}
)
print("open demo-out/trace.json in https://ui.perfetto.dev or chrome://tracing")
print("demo-out/execution-trace.json lists every call with its inputs and outputs, for tools that replay or simulate")
