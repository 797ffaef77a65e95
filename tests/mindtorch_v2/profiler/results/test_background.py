"""Exports beside the program."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import mindtorch_v2 as torch


def test_stop_does_not_wait_for_an_export(tmp_path):
    let_go, began = threading.Event(), threading.Event()

    def export(results) -> None:
        began.set()
        let_go.wait()
        results.save(tmp_path / "a.mindprof")

    ready = torch.profiler.in_background(export)
    with torch.profiler.profile(on_trace_ready=ready) as prof:
        torch.ones(2) + 1
    began.wait()
    assert not (tmp_path / "a.mindprof").exists()  # the profile has stopped, its export waits for us
    assert "aten::add" in {event.name for event in prof.events()}
    let_go.set()
    ready.wait()
    assert "aten::add" in {event.name for event in torch.profiler.load(tmp_path / "a.mindprof").events()}


def test_each_cycle_is_exported_once_and_in_order():
    seen: list[list[str]] = []
    ready = torch.profiler.in_background(
        lambda results: seen.append([e.name for e in results.events() if e.name in ("aten::add", "aten::mul")])
    )
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=2)
    with torch.profiler.profile(schedule=schedule, on_trace_ready=ready) as prof:
        for name in ("sub", "add", "sub", "mul"):
            getattr(torch.ones(2), name)(1)
            prof.step()
    ready.wait()
    assert seen == [["aten::add"], ["aten::mul"]]


def test_handlers_work_as_they_are(tmp_path):
    ready = torch.profiler.in_background(torch.profiler.tensorboard_trace_handler(tmp_path, "worker", use_gzip=True))
    with torch.profiler.profile(on_trace_ready=ready):
        torch.ones(2) + 1
    ready.wait()
    (trace,) = tmp_path.iterdir()
    assert trace.name.startswith("worker.") and trace.name.endswith(".pt.trace.json.gz")
    assert "aten::add" in {event.name for event in torch.profiler.load(trace).events()}


def test_errors_are_printed_and_kept(capsys):
    def fail(results) -> None:
        raise OSError("full")

    ready = torch.profiler.in_background(fail)
    for _ in range(2):
        with torch.profiler.profile(on_trace_ready=ready):
            torch.ones(2) + 1
        ready.wait()
    assert [str(error) for error in ready.errors] == ["full", "full"]
    assert capsys.readouterr().err.count("an export in the background failed") == 2


def test_a_program_that_ends_has_its_exports(tmp_path):
    program = (
        "import mindtorch_v2 as torch, sys\n"
        "ready = torch.profiler.in_background(lambda results: results.save(sys.argv[1]))\n"
        "with torch.profiler.profile(on_trace_ready=ready):\n"
        "    torch.ones(2) + 1\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.mindprof")], check=True, timeout=300)
    assert (tmp_path / "a.mindprof").exists()


def test_what_is_no_handler_is_told():
    with pytest.raises(TypeError, match="expected a function of one argument, got str"):
        torch.profiler.in_background("log")
