"""Execution traces in the Chakra format."""

from __future__ import annotations

import gzip
import json

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ExecutionTraceObserver, profile, record_function


def attributes(node) -> dict:
    return {a["name"]: a["value"] for a in node["attrs"]}


@pytest.fixture
def nodes(tmp_path):
    """The nodes of a small training step, by name."""
    path = tmp_path / "et.json"
    observer = ExecutionTraceObserver().register_callback(str(path))
    w = torch.ones(2, 3, requires_grad=True)
    torch.ones(7)
    observer.start()
    with record_function("user"):
        y = torch.cat([w, w], 0)
    y.sum().backward()
    observer.stop()
    torch.ones(9)
    observer.unregister_callback()
    document = json.loads(path.read_text())
    assert list(document) == ["schema", "pid", "time", "start_ts", "nodes", "finish_ts"]
    assert document["schema"] == "1.1.1-chakra.0.0.4"
    return document["nodes"]


def find(nodes, name):
    return next(n for n in nodes if n["name"] == name)


def test_order_and_parents(nodes):
    process, thread = nodes[-1], nodes[0]
    assert (process["name"], process["id"], process["ctrl_deps"]) == (
        "[pytorch|profiler|execution_trace|process]",
        1,
        1,
    )
    assert (thread["name"], thread["ctrl_deps"]) == ("[pytorch|profiler|execution_trace|thread]", 1)
    user, cat = find(nodes, "user"), find(nodes, "aten::cat")
    assert cat["ctrl_deps"] == user["id"] and user["ctrl_deps"] == thread["id"]
    assert nodes.index(cat) < nodes.index(user)
    assert attributes(user)["scope"] == 7 and attributes(cat)["scope"] == 0
    assert (attributes(user)["rf_id"], attributes(cat)["rf_id"]) == (1, 2)
    assert not [n for n in nodes if n["name"] == "aten::ones"]


def test_inputs_and_outputs(nodes):
    cat = find(nodes, "aten::cat")
    first = cat["inputs"]["values"][0]
    assert first[0] == first[1] and first[0][2:] == [0, 6, 4, "cpu"]
    assert cat["inputs"]["shapes"] == [[[2, 3], [2, 3]], []]
    assert cat["inputs"]["types"] == ["GenericList[Tensor(float),Tensor(float)]", "Int"]
    assert cat["inputs"]["strides"] == [[[3, 1], [3, 1]], []]
    assert cat["outputs"]["shapes"] == [[4, 3]]
    assert find(nodes, "aten::sum")["inputs"]["values"][0] == cat["outputs"]["values"][0]
    assert attributes(cat)["op_schema"] == "aten::cat(Tensor[] tensors, int dim=0) -> Tensor"


def test_backward_nodes(nodes):
    evaluate, applied = find(nodes, "autograd::engine::evaluate_function: SumBackward0"), find(nodes, "SumBackward0")
    assert applied["ctrl_deps"] == evaluate["id"] == attributes(applied)["fw_parent"]
    assert attributes(applied)["scope"] == 1
    assert attributes(applied)["seq_id"] == attributes(find(nodes, "aten::sum"))["seq_id"]


def test_a_fresh_observer_does_nothing(tmp_path):
    observer = ExecutionTraceObserver()
    observer.start()
    observer.stop()
    observer.unregister_callback()
    observer.cleanup()
    assert (
        observer.is_registered,
        observer.is_running(),
        observer.get_output_file_path(),
        observer.get_resources_dir(),
    ) == (False, False, None, None)


def test_two_observers_both_work(tmp_path):
    paths = [tmp_path / "a.json", tmp_path / "b.json.gz"]
    observers = [ExecutionTraceObserver().register_callback(p) for p in paths]
    for observer in observers:
        observer.start()
    torch.ones(2)
    for observer in observers:
        observer.unregister_callback()
    found = [json.loads(paths[0].read_text()), json.loads(gzip.decompress(paths[1].read_bytes()))]
    assert all(find(document["nodes"], "aten::ones") for document in found)


def test_a_second_path_is_ignored(tmp_path):
    observer = ExecutionTraceObserver().register_callback(tmp_path / "a.json")
    observer.register_callback(tmp_path / "b.json")
    assert observer.get_output_file_path() == str(tmp_path / "a.json")


def test_a_bad_path_is_reported(caplog):
    observer = ExecutionTraceObserver().register_callback("/nonexistent/x.json")
    assert not observer.is_registered
    assert "Failed to open output file: /nonexistent/x.json" in caplog.text


def test_with_a_profile(tmp_path):
    path = tmp_path / "et.json"
    x = torch.ones(2)
    with profile(
        execution_trace_observer=ExecutionTraceObserver().register_callback(path),
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
    ) as prof:
        x - x
        prof.step()
        x + x
        prof.step()
        x * x
    recorded = [n["name"] for n in json.loads(path.read_text())["nodes"]]
    assert "aten::add" in recorded and "aten::mul" not in recorded and "aten::sub" not in recorded


def test_any_object_with_the_three_methods_will_do():
    class Duck:
        def __init__(self) -> None:
            self.log = []

        def start(self) -> None:
            self.log.append("start")

        def stop(self) -> None:
            self.log.append("stop")

        def cleanup(self) -> None:
            self.log.append("cleanup")

    duck = Duck()
    with profile(execution_trace_observer=duck):
        pass
    assert duck.log == ["start", "stop", "cleanup"]


def test_from_the_environment(monkeypatch):
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "1")
    observer = ExecutionTraceObserver.build_execution_trace_obs_from_env()
    assert observer.is_registered and observer.get_output_file_path().endswith(".et.json")
    monkeypatch.delenv("ENABLE_PYTORCH_EXECUTION_TRACE")
    assert ExecutionTraceObserver.build_execution_trace_obs_from_env() is None
