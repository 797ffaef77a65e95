"""PyTorch's names for the memory of a profile."""

from __future__ import annotations

import json

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn as nn
from mindtorch_v2.profiler import _memory_profiler, profile
from mindtorch_v2.profiler._memory_profiler import Action, Category, MemoryProfile, MemoryProfileTimeline, TensorKey


@pytest.fixture(scope="module")
def recorded():
    model = nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(3, 8)
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        for _ in range(2):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    return prof, model, optimizer, x


def test_names_and_numbers_are_pytorchs():
    assert [c.name for c in Category] == [
        "INPUT",
        "TEMPORARY",
        "ACTIVATION",
        "GRADIENT",
        "AUTOGRAD_DETAIL",
        "PARAMETER",
        "OPTIMIZER_STATE",
    ]
    assert [(a.name, a.value) for a in Action] == [
        ("PREEXISTING", 1),
        ("CREATE", 2),
        ("INCREMENT_VERSION", 3),
        ("DESTROY", 4),
    ]
    assert [c and c.name for c in _memory_profiler._CATEGORY_TO_INDEX] == [
        "PARAMETER",
        "OPTIMIZER_STATE",
        "INPUT",
        "TEMPORARY",
        "ACTIVATION",
        "GRADIENT",
        "AUTOGRAD_DETAIL",
        None,
    ]


def test_timeline_and_categories(recorded):
    prof, model, optimizer, _ = recorded
    memory = prof._memory_profile()
    assert isinstance(memory, MemoryProfile) and isinstance(memory.timeline, tuple)
    live: dict[TensorKey, int] = {}
    versions: dict[TensorKey, int] = {}
    for time, action, (key, version), nbytes in memory.timeline:
        assert isinstance(key, TensorKey) and key.device == torch.device("cpu") and nbytes > 0
        assert (time == -1) == (action is Action.PREEXISTING)
        versions.setdefault(key, 0)
        assert version == versions[key]  # writing makes the next one
        if action is Action.DESTROY:
            assert live.pop(key) == nbytes
        elif action is Action.INCREMENT_VERSION:
            assert live[key] == nbytes
            versions[key] += 1
        else:
            assert live.setdefault(key, nbytes) == nbytes and list(live).count(key) == 1
    by_category = {
        c: sum(n for key, n in live.items() if memory.categories.get(key, 0) is c) for c in (*Category, None)
    }
    parameters = sum(p.nelement() * 4 for p in model.parameters())
    state = sum(t.nelement() * 4 for s in optimizer.state.values() for t in s.values())
    assert by_category[Category.PARAMETER] >= parameters and by_category[Category.OPTIMIZER_STATE] >= state
    assert by_category[Category.GRADIENT] >= parameters


def test_files(recorded, tmp_path):
    prof, *_ = recorded
    timeline = MemoryProfileTimeline(prof._memory_profile())
    times, sizes = timeline._coalesce_timeline("cpu")
    assert times == sorted(times) and all(len(row) == 9 and row[0] == 0 for row in sizes)
    timeline.export_memory_timeline(tmp_path / "a.json", "cpu")
    prof.export_memory_timeline(str(tmp_path / "b.json"), "cpu")
    assert (
        json.loads((tmp_path / "a.json").read_text()) == json.loads((tmp_path / "b.json").read_text()) == [times, sizes]
    )
    timeline.export_memory_timeline_raw(tmp_path / "raw.json", "cpu")
    raw = json.loads((tmp_path / "raw.json").read_text())
    assert sum(n for _, _, n, _ in raw) == sum(sizes[-1]) and {a for _, a, _, _ in raw} == {1, 2, 4}
    timeline.export_memory_timeline_html(tmp_path / "m.html", "cpu")
    assert "optimizer state" in (tmp_path / "m.html").read_text()


def test_what_has_no_results_is_refused():
    with pytest.raises(TypeError, match="results of a profile"):
        MemoryProfile(3)
