"""A device that another package brings (the example in examples/), beside an NPU in use: it trains, copies without
waiting, and shows in profiles; nothing in this package knows its name, which is read from its folder here too.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import re
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import ProfilerActivity, profile

REPOSITORY = pathlib.Path(__file__).parents[4]
(FOLDER,) = (REPOSITORY / "examples").glob("*_device")
sys.path.insert(0, str(FOLDER))
package = importlib.import_module(FOLDER.name)
NAME = package.BACKEND.name
module = package.BACKEND.module()


class Sequence(nn.Module):
    """An LSTM and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def _models():
    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))
    cnn = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
    )
    return {
        "MLP": (mlp, torch.randn(16, 4)),
        "CNN": (cnn, torch.randn(16, 1, 8, 8)),
        "LSTM": (Sequence(), torch.randn(16, 5, 4)),
    }


def _losses(model, x, device):
    model, x = model.to(device), x.to(device)
    labels = (torch.arange(16) % 3).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


@pytest.mark.parametrize("name", ["MLP", "CNN", "LSTM"])
def test_it_trains_as_the_cpu_does(name):
    on_device, on_cpu = (_losses(*_models()[name], device) for device in (NAME, "cpu"))
    assert on_device == pytest.approx(on_cpu, rel=1e-4)
    assert on_device[-1] < on_device[0]


def test_two_accelerators_at_once():
    here, there = torch.ones(3).npu(), torch.ones(3).to(NAME)
    assert (
        str(here.device) == "npu:0"
        and str(there.device) == f"{NAME}:0"
        and getattr(there, f"is_{NAME}")
        and not there.is_npu
    )
    assert there.type() == f"torch.{NAME}.FloatTensor" and getattr(torch, NAME) is module
    with pytest.raises(RuntimeError, match=f"found at least two devices, npu:0 and {NAME}:0"):
        here + there
    there.copy_(here * 3)
    here.copy_(there * 2)
    assert there.tolist() == [3, 3, 3] and here.tolist() == [6, 6, 6]
    assert {backend.name for backend in torch._accelerators.active()} == {"npu", NAME}


def test_copies_of_pinned_memory_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(sys.modules[f"{FOLDER.name}.runtime"], "DELAY", 0.05)
    source = torch.arange(4.0).pin_memory(NAME)
    assert source.is_pinned() and not torch.arange(4.0).is_pinned()
    event = module.Event()
    there = source.to(NAME, non_blocking=True)
    event.record()
    assert not event.query()
    event.synchronize()
    assert there.tolist() == [0, 1, 2, 3]
    back = torch.zeros(4).pin_memory(NAME)
    back.copy_(there + 1, non_blocking=True)
    module.synchronize()
    assert back.tolist() == [1, 2, 3, 4]


def test_streams_wait_for_events(monkeypatch):
    monkeypatch.setattr(sys.modules[f"{FOLDER.name}.runtime"], "DELAY", 0.01)
    x, side, event = torch.ones(3).to(NAME), module.Stream(), module.Event()
    for _ in range(5):
        x = x + 1
    event.record()
    side.wait_event(event)
    with module.stream(side):
        y = x * 10
    side.synchronize()
    assert y.tolist() == [60, 60, 60]


def test_both_show_in_one_profile(tmp_path):
    x, y = torch.ones(4, 4).npu(), torch.ones(4, 4).to(NAME)
    torch.npu.synchronize()
    module.synchronize()
    with profile() as prof:
        assert {ProfilerActivity.NPU, ProfilerActivity.PrivateUse1} < prof.activities
        x @ x
        y @ y
        torch.npu.synchronize()
        module.synchronize()
    prof.export_chrome_trace(str(tmp_path / "t.json"))
    trace = json.loads((tmp_path / "t.json").read_text())
    kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    calls = {e["args"]["correlation"]: e for e in trace["traceEvents"] if e.get("cat") == "privateuse1_runtime"}
    named = {e["args"]["name"]: e["pid"] for e in trace["traceEvents"] if e.get("name") == "process_name"}
    assert {e["pid"] for e in kernels} == {named["NPU 0"], named[f"{NAME.upper()} 100"]}
    (mine,) = (e for e in kernels if e["name"] == f"{NAME}_mm")
    call = calls[mine["args"]["correlation"]]
    assert call["ts"] <= mine["ts"] and len({e["args"]["correlation"] for e in kernels}) == len(kernels)
    assert {f"{NAME}_times", "npu_times"} <= trace.keys()
    assert prof.validate() == []


def test_a_profile_of_it_alone():
    y = torch.ones(4, 4).to(NAME)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
        torch.ones(2).npu()
        (y * 2 + 1).sum().item()
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["aten::mul"].self_device_time_total == rows[f"{NAME}_mul"].self_device_time_total > 0
    assert f"{NAME.upper()} total" in prof.key_averages().table() and prof.use_device == NAME


def test_saving_and_seeding(tmp_path):
    base = torch.arange(6.0).to(NAME)
    torch.save({"whole": base, "part": base[2:4]}, tmp_path / "f.pt")
    found = torch.load(tmp_path / "f.pt")
    found["part"].zero_()
    assert str(found["whole"].device) == f"{NAME}:0" and found["whole"].tolist() == [0, 1, 0, 0, 4, 5]
    assert torch.load(tmp_path / "f.pt", map_location="cpu")["whole"].tolist() == [0, 1, 2, 3, 4, 5]
    torch.manual_seed(3)
    first = torch.randn(4, device=NAME).tolist()
    torch.manual_seed(3)
    assert torch.randn(4, device=NAME).tolist() == first
    drawn = torch.rand(4, device=NAME, generator=torch.Generator(NAME).manual_seed(5)).tolist()
    assert drawn == torch.rand(4, device=NAME, generator=torch.Generator(NAME).manual_seed(5)).tolist()


def test_memory_is_given_back():
    module.synchronize()
    before = module.memory_allocated()
    x = torch.ones(1000).to(NAME)
    assert module.memory_allocated() == before + 4000
    del x
    module.synchronize()
    torch.ones(1).to(NAME)  # the stream's thread lets go of what it did last
    module.synchronize()
    assert module.memory_allocated() <= before + 4


def test_errors_of_its_work_surface_when_it_is_waited_for():
    index = torch.tensor([7]).to(NAME)
    made = torch.arange(3.0).to(NAME)[index]
    with pytest.raises(IndexError):
        made.cpu()
    module.synchronize()


def test_it_is_one_small_folder_that_nobody_else_knows():
    assert (
        sum(len(path.read_text().splitlines()) for path in FOLDER.rglob("*") if path.suffix in (".py", ".toml")) < 400
    )
    word = re.compile(rf"\b{NAME}\b|{FOLDER.name}")
    outside = [
        path
        for folder in ("src", "tests", "scripts", "benchmarks", "ascend_sim")
        for path in (REPOSITORY / folder).rglob("*")
        if path.suffix in (".py", ".c", ".h", ".inc")
    ]
    assert len(outside) > 500
    assert [path for path in outside if word.search(path.read_text())] == []
