"""Every nanosecond of a step belongs to one phase."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mindtorch_v2.profiler.analysis.phases import phases
from mindtorch_v2.profiler.record.kinds import Kind

from ..hand_made import E, make_store


def _step(*events: E, end: int = 100) -> dict[str, int]:
    found = phases(make_store([E("ProfilerStep#0", 0, end, Kind.STEP), *events]))
    assert found.nanoseconds.sum(1).tolist() == found.steps.duration_ns.tolist()
    return {label: ns for label, ns in found.total().items() if ns}


def test_a_training_step_on_one_thread():
    assert _step(
        E("enumerate(DataLoader)#X.__next__", 0, 10, Kind.SCOPE),
        E("aten::stack", 2, 4),
        E("aten::linear", 15, 35),
        E("aten::addmm", 20, 30),
        E("aten::copy_", 36, 40),
        E("autograd::engine::evaluate_function: AddmmBackward0", 40, 60, Kind.NODE),
        E("aten::mm", 42, 50),
        E("Optimizer.step#SGD.step", 70, 90, Kind.SCOPE),
        E("aten::add_", 75, 80),
    ) == {"forward": 20, "backward": 20, "optimizer": 20, "data": 10, "copies": 4, "Python": 16, "unaccounted": 10}


def test_recorded_python_is_python_and_the_rest_is_unaccounted():
    assert _step(E("train.py(3): step", 10, 90, Kind.PYTHON), E("aten::add", 20, 50)) == {
        "forward": 30,
        "Python": 50,
        "unaccounted": 20,
    }


def test_a_step_inside_a_function_is_that_functions_python():
    found = phases(
        make_store(
            [
                E("train.py(1): main", 0, 200, Kind.PYTHON),
                E("ProfilerStep#0", 50, 150, Kind.STEP),
                E("aten::add", 60, 90),
            ]
        )
    )
    assert {k: v for k, v in found.total().items() if v} == {"forward": 30, "Python": 70}


def test_a_backward_on_another_thread_counts_while_the_loop_waits():
    found = phases(
        make_store(
            [
                E("ProfilerStep#0", 0, 100, Kind.STEP),
                E("aten::add", 0, 30),
                E("node", 40, 70, Kind.NODE, thread=1),
                E("aten::sum", 80, 100),
            ],
            threads=2,
        )
    )
    assert {k: v for k, v in found.total().items() if v} == {"forward": 50, "backward": 30, "Python": 20}


def test_what_is_loaded_at_first_use_is_unaccounted():
    assert _step(E("aten::add", 0, 50), E("loading: kernels", 10, 30, Kind.LOADING), E("aten::add", 50, 100)) == {
        "forward": 80,
        "unaccounted": 20,
    }


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 200),
            st.integers(0, 80),
            st.integers(0, 2),
            st.sampled_from([Kind.OP, Kind.NODE, Kind.SCOPE, Kind.PYTHON, Kind.KERNEL]),
        ),
        max_size=25,
    )
)
def test_phases_always_sum_to_the_steps(drawn):
    """Whatever the events: overlapping on several threads, empty, on devices."""
    events = [
        E(f"e{i}", start, start + length, kind, thread=thread, flags=2)
        for i, (start, length, thread, kind) in enumerate(drawn)
    ]
    events += [E("ProfilerStep#0", 0, 120, Kind.STEP), E("ProfilerStep#1", 120, 260, Kind.STEP)]
    found = phases(make_store(events, threads=3))
    assert found.nanoseconds.sum(1).tolist() == [120, 140]
    assert (found.nanoseconds >= 0).all()
    assert isinstance(found.nanoseconds, np.ndarray)
