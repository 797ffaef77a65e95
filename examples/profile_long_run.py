"""Profile a long run without drowning in it: record a few steps now and then, one trace file for each time."""

import pathlib

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile, schedule, tensorboard_trace_handler

model = nn.Linear(128, 128)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
out = pathlib.Path("demo-out") / "long-run"
write_trace = tensorboard_trace_handler(out, worker_name="worker0", use_gzip=True)


def when_ready(prof: profile) -> None:
    """Called after each recorded cycle, while the loop waits."""
    busy = prof.key_averages().self_cpu_time_total / 1e3
    print(f"steps {prof.step_num - 3} to {prof.step_num - 1}: {len(prof.events())} events, {busy:.2f} ms")
    write_trace(prof)


# Of every 20 steps: 16 run untouched, 1 warms the profiler up, 3 are recorded; twice, after 5 steps that never count.
with profile(schedule=schedule(skip_first=5, wait=16, warmup=1, active=3, repeat=2), on_trace_ready=when_ready) as prof:
    for _ in range(60):
        loss = model(torch.randn(32, 128)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        prof.step()

count = len(list(out.glob("worker0.*.pt.trace.json.gz")))
print(f"{count} traces in {out}: tensorboard --logdir {out}, or drop one on https://ui.perfetto.dev")
