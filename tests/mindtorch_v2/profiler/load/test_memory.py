"""Traces carry what is known of memory: a loaded trace has the blocks, the timeline and the peak of the profile that
wrote it.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfileFileError, load, profile
from mindtorch_v2.profiler.analysis.memory import find_blocks

FLAGS = {"record_shapes": True, "profile_memory": True, "with_stack": True}


@pytest.fixture
def trace(tmp_path):
    """A profile of training, and the path of its trace."""
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.Adam(net.parameters())
    with profile(**FLAGS) as prof:
        for _ in range(3):
            optimizer.zero_grad()
            torch.sort(net(torch.ones(4, 8)).sum(1))[0].sum().backward()
            optimizer.step()
    prof.export_chrome_trace(tmp_path / "t.json")
    return prof, tmp_path / "t.json"


def test_blocks_and_timeline_are_those_of_the_profile(trace, tmp_path):
    prof, path = trace
    loaded = load(path)
    ours, theirs = find_blocks(prof.profiler.store), find_blocks(loaded.store)
    shift = int(theirs.born_ns[0] - ours.born_ns[0])
    assert np.array_equal(ours.block, theirs.block) and np.array_equal(ours.born_ns + shift, theirs.born_ns)
    assert np.array_equal(ours.category, theirs.category) and np.array_equal(ours.existed, theirs.existed)
    assert len(loaded.store.scratch) == len(prof.profiler.store.scratch) and np.array_equal(
        loaded.store.scratch.row >= 0, prof.profiler.store.scratch.row >= 0
    )
    prof.export_memory_timeline(tmp_path / "a.json", "cpu")
    loaded.export_memory_timeline(tmp_path / "b.json", "cpu")
    (times, sizes), (loaded_times, loaded_sizes) = (
        json.loads((tmp_path / name).read_text()) for name in ("a.json", "b.json")
    )
    assert sizes == loaded_sizes and np.allclose(np.diff(times), np.diff(loaded_times))


def test_it_survives_being_written_again(trace, tmp_path):
    _, path = trace
    load(path).export_chrome_trace(tmp_path / "again.json")
    first, again = (json.loads(p.read_text())["memoryBlocks"] for p in (path, tmp_path / "again.json"))
    assert first == again


def _without(value, key):
    return {k: v for k, v in value.items() if k != key}


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: {**b, "blocks": b["blocks"][:-1]},
        lambda b: {**b, "blocks": "x"},
        lambda b: {**b, "held": _without(b["held"], "address")},
        lambda b: {**b, "held": {**b["held"], "category": [99] * len(b["held"]["category"])}},
        lambda b: _without(b, "scratch"),
        lambda b: {**b, "blocks": [1.5] * len(b["blocks"])},
        lambda b: {**b, "blocks": [1 << 70] * len(b["blocks"])},
    ],
)
def test_damage_is_one_clear_error(trace, tmp_path, damage):
    _, path = trace
    contents = json.loads(path.read_text())
    (tmp_path / "bad.json").write_text(json.dumps({**contents, "memoryBlocks": damage(contents["memoryBlocks"])}))
    with pytest.raises(ProfileFileError, match="bad.json"):
        load(tmp_path / "bad.json")


def test_a_trace_without_memory_has_no_such_member(tmp_path):
    with profile() as prof:
        torch.ones(2)
    prof.export_chrome_trace(tmp_path / "t.json")
    assert "memoryBlocks" not in json.loads((tmp_path / "t.json").read_text())
