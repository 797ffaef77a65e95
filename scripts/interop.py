"""Does HolisticTraceAnalysis read our traces? Profiles some training, loads the trace with it, and compares what it
finds.

Run by `make interop`, in an environment that has the package and HolisticTraceAnalysis.
"""

from __future__ import annotations

import logging
import os
import pathlib
import sys
import tempfile
import warnings
from collections import Counter

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile, record_function, schedule

os.environ.setdefault("HTA_LOG_LEVEL", "ERROR")
# It rounds times to whole microseconds, which gives events shorter than one a negative length; with this it keeps
# nanoseconds.
os.environ.setdefault("HTA_DISABLE_NS_ROUNDING", "1")
warnings.simplefilter("ignore")  # of pandas, about how HolisticTraceAnalysis uses it
STEPS = [2, 3, 4]  # what the schedule below records


def record(path: pathlib.Path) -> profile:
    """Three steps of training, with everything that a trace can hold."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(
        schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        with_modules=True,
    ) as prof:
        for _ in range(6):
            with record_function('scope "with" a hostile \\ name'):
                loss = model(torch.randn(8, 16)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            prof.step()
    prof.export_chrome_trace(path)
    return prof


def check(what: str, found: object, expected: object) -> bool:
    print(
        f"{'ok  ' if found == expected else 'FAIL'}  {what}"
        + ("" if found == expected else f": {found!r}, expected {expected!r}")
    )
    return found == expected


def main() -> int:
    from hta.common.trace_call_graph import CallGraph
    from hta.trace_analysis import TraceAnalysis

    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json.gz"
        prof = record(path)
        trace = TraceAnalysis(trace_files={0: str(path)}, trace_dir=folder, include_last_profiler_step=True).t
        trace.decode_symbol_ids(use_shorten_name=False)
        table = trace.get_trace(0)
        named = table[table["s_cat"].isin(["cpu_op", "user_annotation"])]
        found = Counter(named["s_name"])
        expected = Counter(event.trace_name or event.name for event in prof.events())
        expected = Counter({name: n for name, n in expected.items() if not name.startswith("[memory]")})
        duration = sum(event.time_range.elapsed_us() for event in prof.events())
        good = [
            check("iterations", sorted(int(i) for i in trace.get_iterations()), STEPS),
            check("names and counts of all events", found, expected),
            check(
                "durations, which it rounds to microseconds",
                abs(float(named["dur"].sum()) - duration) < 2 * len(named),
                True,
            ),
        ]
        CallGraph(trace)
        calls = trace.get_trace(0).set_index("index")
        linear = calls[calls["s_name"] == "aten::addmm"]["parent"]
        good.append(check("call graph: addmm is called by linear", set(calls.loc[linear, "s_name"]), {"aten::linear"}))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
