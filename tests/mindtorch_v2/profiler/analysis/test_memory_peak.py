"""Who held memory at the peak, from stores made by hand."""

from __future__ import annotations

from mindtorch_v2.profiler.analysis.memory import Category, find_blocks
from mindtorch_v2.profiler.analysis.memory_peak import Holder, held_at_peak, users_line
from mindtorch_v2.profiler.record.descriptions import ModuleInfo
from mindtorch_v2.profiler.record.kinds import Kind

from ..hand_made import E, M, make_store

STACK = ["mindtorch_v2/nn/modules/linear.py(40): forward", "train.py(7): forward", "train.py(20): main"]


def held(events, memory, **more):
    store = make_store(events, memory, **more)
    return held_at_peak(store, find_blocks(store))


def test_nothing_allocated():
    assert held([E("aten::add", 0, 10)], []) == []


def test_blocks_of_one_origin_are_summed_under_the_outermost_call():
    found = held(
        [
            E("aten::linear", 0, 100, module=0, stack=STACK),
            E("aten::addmm", 10, 90, module=0, stack=STACK),
            E("aten::relu", 200, 300),
        ],
        [M(20, 1, 64), M(30, 2, 32), M(250, 3, 8)],
        modules=[ModuleInfo(0, "fc", "Linear", -1)],
    )
    assert found == [
        Holder(Category.UNKNOWN, "aten::linear", "fc", "train.py(7): forward", 96, 2),
        Holder(Category.UNKNOWN, "aten::relu", "", "", 8, 1),
    ]


def test_what_died_before_the_peak_is_not_there():
    found = held(
        [E("aten::a", 0, 100), E("aten::b", 200, 300)], [M(10, 1, 64), M(90, 1, -64), M(210, 1, 64), M(220, 2, 1)]
    )
    assert [(holder.name, holder.nbytes) for holder in found] == [("aten::b", 65)]


def test_the_first_of_equal_peaks_counts():
    found = held([E("aten::a", 0, 100), E("aten::b", 200, 300)], [M(10, 1, 64), M(90, 1, -64), M(210, 2, 64)])
    assert [holder.name for holder in found] == ["aten::a"]


def test_a_block_made_in_a_backward_pass():
    found = held(
        [
            E("autograd::engine::evaluate_function: B", 0, 100, Kind.NODE),
            E("B", 10, 90, Kind.BACKWARD),
            E("aten::mm", 20, 80),
        ],
        [M(30, 1, 16)],
    )
    assert [(holder.category, holder.name) for holder in found] == [(Category.GRADIENT, "B")]


def test_outside_of_events():
    assert held([E("aten::a", 0, 10)], [M(50, 1, 16)])[0].name == "(outside operators)"


def test_the_users_line():
    assert users_line(STACK) == "train.py(7): forward"
    assert users_line(STACK[:1]) == STACK[0]
    assert users_line([]) == ""
