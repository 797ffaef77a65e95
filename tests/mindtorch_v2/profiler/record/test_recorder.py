"""The recorder and its windows, to the nanosecond of a clock that ticks by ten at each reading."""

from __future__ import annotations

import gc
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2 import _observer
from mindtorch_v2._ops.table import find
from mindtorch_v2.profiler.record import clock as clocks
from mindtorch_v2.profiler.record.descriptions import Options
from mindtorch_v2.profiler.record.kinds import Flag, Kind
from mindtorch_v2.profiler.record.recorder import recorder
from mindtorch_v2.profiler.record.session import Session
from mindtorch_v2.profiler.record_function import record_function
from mindtorch_v2.profiler.store.build import build_store
from mindtorch_v2.profiler.store.event_store import EventStore
from mindtorch_v2.profiler.store.join import concat

from ..conftest import TickingClock
from ..helpers import assert_sound, names, tree

ADD = find("add.Tensor")
MUL = find("mul.Tensor")


def stopped(session: Session) -> EventStore:
    """Ends a session; its events."""
    return build_store(session.finish())


def started(**options: bool) -> Session:
    session = Session(Options(**options))
    session.start()
    return session


def call(op=ADD) -> None:
    recorder.enter_op(op, (), -1)
    recorder.leave()


def spans(store: EventStore) -> list[tuple[str, int, int]]:
    return [(store.name_of(r), int(store.start_ns[r]), int(store.end_ns[r])) for r in range(len(store))]


def test_rows_hold_times_and_parents(clock):
    session = started()
    recorder.enter_op(ADD, (), 7)
    recorder.enter_op(MUL, (), -1)
    recorder.leave()
    recorder.leave()
    store = stopped(session)
    assert spans(store) == [("aten::add", 20, 50), ("aten::mul", 30, 40)]
    assert store.parent.tolist() == [-1, 0]
    assert store.sequence_nr.tolist() == [7, -1]
    assert (store.metadata.start_ns, store.metadata.stop_ns, store.metadata.epoch_offset_ns) == (10, 60, 1_000_000)


def test_the_slot_is_empty_before_and_after():
    assert _observer.active is None
    session = started()
    assert _observer.active is recorder
    stopped(session)
    assert _observer.active is None


def test_overlapping_windows_each_get_their_own(clock):
    first = started()
    call(ADD)
    second = started()
    call(MUL)
    one = stopped(first)
    call(ADD)
    two = stopped(second)
    assert names(one) == ["aten::add", "aten::mul"]
    assert names(two) == ["aten::mul", "aten::add"]


def test_a_row_opened_before_the_window_is_not_in_it_nor_a_parent(clock):
    outer = started()
    recorder.enter_op(ADD, (), -1)
    inner = started()
    call(MUL)
    recorder.leave()
    assert tree(stopped(inner)) == [["aten::mul", []]]
    assert tree(stopped(outer)) == [["aten::add", [["aten::mul", []]]]]


def test_a_row_open_at_the_end_is_closed_and_marked(clock):
    session = started()
    scope = record_function("open")
    scope.__enter__()
    call()
    store = stopped(session)
    assert spans(store) == [("open", 20, 50), ("aten::add", 30, 40)]
    assert store.flags.tolist() == [Flag.UNFINISHED, 0]
    assert store.parent.tolist() == [-1, 0]
    scope.__exit__(None, None, None)


def test_options_are_the_union_but_each_window_sees_its_own():
    plain, shapes = started(), started(record_shapes=True)
    torch.ones(2) + torch.ones(2)
    with_shapes, without = stopped(shapes), stopped(plain)
    add = names(with_shapes).index("aten::add")
    assert with_shapes.inputs_of(add).shapes[:2] == ((2,), (2,))
    assert not without.inputs and set(without.columns["inputs"].tolist()) == {-1}


def test_pausing_leaves_a_gap(clock):
    session = started()
    call(ADD)
    session.toggle(False)
    call(MUL)
    session.toggle(True)
    call(ADD)
    assert names(stopped(session)) == ["aten::add", "aten::add"]


def test_steps_are_numbered_by_time(clock):
    session = started()
    call()
    session.mark_step(1)
    call()
    call()
    session.mark_step(2)
    assert stopped(session).step.tolist() == [0, 1, 1]


def test_scopes_closed_out_of_order_leave_the_nesting(clock):
    session = started()
    first, second = record_function("first").__enter__(), record_function("second").__enter__()
    first.__exit__()
    call()
    second.__exit__()
    store = stopped(session)
    assert_sound(store)
    assert names(store) == ["first", "second", "aten::add"]
    assert store.flags.tolist() == [0, Flag.ASYNC, 0]


def test_an_op_that_leaks_a_scope_still_ends(clock):
    session = started()
    recorder.enter_op(ADD, (), -1)
    leaked = record_function("leaked").__enter__()
    recorder.leave()
    call(MUL)
    leaked.__exit__()
    store = stopped(session)
    assert_sound(store)
    assert spans(store)[0] == ("aten::add", 20, 40)


def test_an_operator_that_raises_is_recorded():
    session = started()
    with pytest.raises(RuntimeError):
        torch.mm(torch.ones(2, 3), torch.ones(2, 3))
    store = stopped(session)
    assert "aten::mm" in names(store)
    assert not store.flags.any()


def test_events_made_by_finalisers_do_not_disturb_the_rows():
    class Noisy:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            call(MUL)

    session = started()
    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for _ in range(200):
            Noisy()
            call(ADD)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    store = stopped(session)
    assert_sound(store)
    assert names(store).count("aten::add") == 200
    assert names(store).count("aten::mul") == 200


def test_no_tensor_is_kept_alive():
    session = started(record_shapes=True, profile_memory=True)
    x = torch.ones(3)
    y = x + x
    gone = weakref.ref(y)
    del y
    assert gone() is None
    stopped(session)


def test_memory_belongs_to_the_innermost_open_event():
    x = torch.ones(1024)
    session = started(profile_memory=True)
    with record_function("scope"):
        y = x + x
    del y
    store = stopped(session)
    assert store.memory.nbytes.tolist() == [4096, -4096]
    assert store.memory.total.tolist() == [4096, 0]
    assert [names(store)[r] if r >= 0 else None for r in store.memory.row.tolist()] == ["aten::add", None]


def test_descriptions_of_arguments():
    session = started(record_shapes=True)
    x = torch.ones(4, 16)
    torch.cat([x, x])
    x + 1
    store = stopped(session)
    cat = store.inputs_of(names(store).index("aten::cat"))
    assert cat.shapes == (((4, 16), (4, 16)), ())
    assert cat.strides == (((16, 1), (16, 1)), ())
    assert cat.types == ("TensorList", "Scalar")
    assert cat.values == (None, 0)
    add = store.inputs_of(names(store).index("aten::add"))
    assert add.types == ("float", "long int", "Scalar")
    assert add.values == (None, None, 1)


def test_equal_numbers_of_different_types_are_kept_apart():
    session = started(record_shapes=True)
    x = torch.ones(2)
    for value in (1, 1.0, True):
        x + value
    store = stopped(session)
    found = [store.inputs_of(r).types[1] for r, n in enumerate(names(store)) if n == "aten::add"]
    assert found == ["long int", "double", "bool"]


def test_stores_can_be_cut_selected_and_joined(clock):
    session = started()
    with record_function("outer"):
        call(ADD)
        call(MUL)
    store = stopped(session)
    picked = store.select(store.kind == Kind.OP)
    assert tree(picked) == [["aten::add", []], ["aten::mul", []]]
    assert names(store.slice(25, 45)) == ["aten::add"]
    joined = concat([store, store.slice(45, 1000)])
    assert_sound(joined)
    assert len(joined) == len(store) + 1
    with pytest.raises(ValueError, match="read-only"):
        store.start_ns[0] = 5


def test_nothing_remains_after_the_last_session():
    session = started(with_stack=True, profile_memory=True, with_modules=True)
    call()
    stopped(session)
    assert recorder.buffers == {} and recorder.detail == 0 and not recorder.watches_memory


_STEPS = st.lists(
    st.sampled_from(["op", "node", "scope", "leave", "close first", "close last", "step", "begin", "end"]), max_size=60
)


@settings(max_examples=150, deadline=None)
@given(_STEPS)
def test_any_order_of_calls_gives_sound_stores(steps):
    """Scopes left open, closed in any order, and windows that begin and end anywhere."""
    made, scopes, plain, step = [], [], 0, 0
    with clocks.use(TickingClock()):
        sessions = [started()]
        for name in steps:
            if name == "op":
                recorder.enter_op(ADD, (), -1)
                plain += 1
            elif name == "node":
                recorder.enter_node("AddBackward0", 3, 0, (), True)
                plain += 1
            elif name == "scope":
                scopes.append(record_function("scope").__enter__())
            elif name == "leave" and plain:
                recorder.leave()
                plain -= 1
            elif name.startswith("close") and scopes:
                scopes.pop(0 if name == "close first" else -1).__exit__()
            elif name == "step":
                step += 1
                sessions[0].open_step(step)
            elif name == "begin":
                sessions.append(started())
            elif name == "end" and len(sessions) > 1:
                made.append(stopped(sessions.pop()))
        made += [stopped(s) for s in sessions]
    for store in made:
        assert_sound(store)
        entered = ("op", "node", "scope", "step")
        assert len(store) <= sum(name in entered for name in steps)
    assert len(made[-len(sessions)]) == sum(name in ("op", "node", "scope", "step") for name in steps)
