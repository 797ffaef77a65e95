"""Flame graphs keep all time, join backward to forward, and say what they merge."""

from __future__ import annotations

from mindtorch_v2.profiler.analysis.flame import by_modules, by_operators, by_python, prune
from mindtorch_v2.profiler.record.descriptions import ModuleInfo
from mindtorch_v2.profiler.record.kinds import Kind

from ..hand_made import E, make_store


def _paths(flame) -> dict[str, tuple[int, int, int]]:
    """path -> (total, own, backward of its own)."""
    names: list[str] = []
    for i, parent in enumerate(flame.parent.tolist()):
        name = flame.names[flame.name[i]]
        names.append(name if parent < 0 else f"{names[parent]}>{name}")
    return {n: (int(t), int(o), int(b)) for n, t, o, b in zip(names, flame.total_ns, flame.own_ns, flame.backward_ns)}


def _training():
    return make_store(
        [
            E("ProfilerStep#0", 0, 200, Kind.STEP),
            E("train.py(1): main", 0, 190, Kind.PYTHON),
            E("aten::linear", 10, 50, module=1),
            E("aten::addmm", 20, 40, seq=3, module=1),
            E("aten::linear", 60, 80, module=0),
            E("evaluate: AddmmBackward0", 100, 160, Kind.NODE, seq=3, forward_thread=1),
            E("AddmmBackward0", 110, 150, Kind.BACKWARD, seq=3, forward_thread=1),
            E("aten::mm", 120, 140),
        ],
        modules=[ModuleInfo(0, "", "Net", -1), ModuleInfo(0, "fc", "Linear", 0)],
    )


def test_backward_stands_above_the_operator_that_recorded_it():
    assert _paths(by_operators(_training())) == {
        "aten::linear": (120, 40, 0),
        "aten::linear>aten::addmm": (80, 20, 0),
        "aten::linear>aten::addmm>evaluate: AddmmBackward0": (60, 20, 20),
        "aten::linear>aten::addmm>evaluate: AddmmBackward0>AddmmBackward0": (40, 20, 20),
        "aten::linear>aten::addmm>evaluate: AddmmBackward0>AddmmBackward0>aten::mm": (20, 20, 20),
    }


def test_modules_have_the_backward_of_their_operators():
    paths = _paths(by_modules(_training()))
    assert paths["Net"] == (120, 0, 0)
    assert paths["Net>fc (Linear)"] == (100, 0, 0)
    assert paths["Net>fc (Linear)>aten::mm"] == (20, 20, 20)


def test_pythons_own_time_is_in_the_graph_by_python_stack():
    paths = _paths(by_python(_training()))
    assert paths["train.py(1): main"][:2] == (190, 190 - 40 - 20 - 60)
    assert by_python(make_store([E("aten::a", 0, 1)])) is None


def test_pruning_keeps_the_sum():
    events = [E(f"op{i}", 100 * i, 100 * i + 10 + i) for i in range(40)]
    whole = by_operators(make_store(events))
    small = prune(whole, 10)
    assert small.left_out == 31 and len(small.name) == 10
    assert int(small.total_ns[small.parent < 0].sum()) == int(whole.total_ns[whole.parent < 0].sum())
    assert small.names[small.name[-1]] == "(smaller)" and int(small.calls[-1]) == 31
