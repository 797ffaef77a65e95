"""Tries an installed package: the native core is there, a model trains, a profile is taken, saved, loaded and exported.

python scripts/try_wheel.py      # with the wheel installed; the sources must not be on the path
"""

from __future__ import annotations

import json
import pathlib
import tempfile

import mindtorch_v2 as torch
from mindtorch_v2 import _native, nn
from mindtorch_v2._backends.npu import simulator


def main() -> None:
    """Prints what it tried; an exception says what failed."""
    assert simulator.source_folder() is not None, "the wheel has no source of the NPU simulator"
    assert _native.available(), "the wheel has no native core: was there a C compiler where it was built?"
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    losses = []
    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        for _ in range(20):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < losses[0], f"the loss did not fall: {losses}"
    assert prof.validate() == []
    with tempfile.TemporaryDirectory() as folder:
        trace, stored = pathlib.Path(folder, "trace.json"), pathlib.Path(folder, "run.prof")
        prof.export_chrome_trace(str(trace))
        prof.save(str(stored))
        events = json.loads(trace.read_text())["traceEvents"]
        assert len(torch.profiler.load(str(stored)).events()) == len(prof.events())
    print(
        f"mindtorch_v2 {torch.__version__} from {pathlib.Path(torch.__file__).parent}:",
        f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {len(events)} trace events",
    )


if __name__ == "__main__":
    main()
