"""Python calls and call stacks."""

from __future__ import annotations

import gc
import re
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.record.stacks import builtin_name

from ..helpers import assert_sound, names, store_of


@pytest.fixture
def x():
    return torch.ones(2)


def of_kind(store, kind: Kind) -> list[str]:
    return [n for n, k in zip(names(store), store.kind.tolist(), strict=True) if k == kind]


def helper(x):
    y = x + x
    return len([y])


def test_functions_and_builtins_become_events(x):
    with profile(with_stack=True) as prof:
        helper(x)
    store = store_of(prof)
    assert_sound(store)
    first = helper.__code__.co_firstlineno
    assert any(re.search(rf"test_stacks\.py\({first}\): helper$", n) for n in of_kind(store, Kind.PYTHON))
    assert of_kind(store, Kind.BUILTIN) == ["<built-in function len>"]


def test_frames_that_ran_already_surround_the_window(x):
    with profile(with_stack=True) as prof:
        x + x
    store = store_of(prof)
    row = next(r for r, n in enumerate(names(store)) if n.endswith("test_frames_that_ran_already_surround_the_window"))
    assert (store.start_ns[row], store.end_ns[row]) == (store.metadata.start_ns, store.metadata.stop_ns)
    assert store.flags[row] == 0
    assert store.parent[names(store).index("aten::add")] == row


def test_the_profilers_own_frames_do_not_show(x):
    with profile(with_stack=True) as prof:
        with record_function("scope"):
            torch.ones(3).sum()
        prof.step()
    shown = of_kind(store_of(prof), Kind.PYTHON)
    assert not [n for n in shown if n.startswith(("mindtorch_v2/profiler", "mindtorch_v2/_", "numpy"))]


def test_stacks_name_the_calling_line(x):
    with profile(with_stack=True) as prof:
        helper(x)
    store = store_of(prof)
    stack = store.stack_of(names(store).index("aten::add"))
    line = helper.__code__.co_firstlineno + 1
    assert stack[0].endswith(f"test_stacks.py({line}): helper")
    assert stack[1].endswith("test_stacks_name_the_calling_line")


def test_what_an_operator_calls_has_its_stack():
    layer = nn.Linear(2, 2)
    with profile(with_stack=True) as prof:
        layer(torch.ones(1, 2))
    store = store_of(prof)
    linear, addmm = names(store).index("aten::linear"), names(store).index("aten::addmm")
    assert store.stack_of(linear) == store.stack_of(addmm)
    assert any("nn/modules/linear.py" in frame for frame in store.stack_of(linear))


def test_modules_are_numbered_by_class_and_instance():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    with profile(with_stack=True) as prof:
        model(torch.ones(1, 2))
    assert of_kind(store_of(prof), Kind.MODULE) == [
        "nn.Module: Sequential_0",
        "nn.Module: Linear_0",
        "nn.Module: ReLU_0",
        "nn.Module: Linear_1",
    ]


def test_every_op_knows_its_module():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2)))
    with profile(with_modules=True) as prof:
        model(torch.ones(1, 2))
    store = store_of(prof)
    paths = [
        store.modules[m].path for m, n in zip(store.module.tolist(), names(store), strict=True) if n == "aten::addmm"
    ]
    assert paths == ["0", "1.0"]
    inner = next(m for m in store.modules if m.path == "1.0")
    assert store.modules[inner.parent].path == "1"
    assert store.module[names(store).index("aten::ones")] == -1


def test_without_the_flags_there_are_no_python_events(x):
    with profile() as prof, profile(with_stack=True, with_modules=True):
        helper(x)
        nn.ReLU()(x)
    kinds = set(store_of(prof).kind.tolist())
    assert kinds == {Kind.OP}
    assert set(store_of(prof).stack.tolist()) == {-1}


def test_exceptions_end_frames(x):
    def fails():
        raise KeyError

    with profile(with_stack=True) as prof:
        for _ in range(3):
            with pytest.raises(KeyError):
                fails()
        helper(x)
    store = store_of(prof)
    assert_sound(store)
    fails_rows = [r for r, n in enumerate(names(store)) if n.endswith(": fails")]
    helper_row = next(r for r, n in enumerate(names(store)) if n.endswith(": helper"))
    assert len(fails_rows) == 3
    assert store.parent[helper_row] not in fails_rows


def test_generators_give_one_event_per_resume():
    def numbers():
        yield 1
        yield 2

    with profile(with_stack=True) as prof:
        list(numbers())
    assert sum(n.endswith(": numbers") for n in names(store_of(prof))) == 3


def test_another_profile_function_is_put_back_and_still_called(x):
    seen = []

    def mine(frame, event, arg):
        seen.append(event)

    sys.setprofile(mine)
    try:
        with profile(with_stack=True):
            helper(x)
        assert sys.getprofile() is mine
    finally:
        sys.setprofile(None)
    assert "call" in seen


def test_builtin_names_have_no_addresses():
    assert builtin_name(len) == "<built-in function len>"
    assert builtin_name([].append) == "<built-in method append of list object>"
    assert builtin_name(dict.fromkeys) == "<built-in method fromkeys of type object>"


def test_collections_are_events_on_request():
    config = _ExperimentalConfig(record_python_gc_info=True)
    with profile(with_stack=True, experimental_config=config) as prof:
        gc.collect()
    assert "Python GC" in names(store_of(prof))
    with profile(experimental_config=config) as prof:
        gc.collect()
    assert "Python GC" not in names(store_of(prof))


def test_a_step_inside_a_function_keeps_the_tree_sound(x):
    def train(prof):
        x + x
        prof.step()
        x * x

    with profile(with_stack=True, schedule=torch.profiler.schedule(wait=0, warmup=1, active=3, repeat=1)) as prof:
        for _ in range(3):
            train(prof)
    store = store_of(prof)
    assert_sound(store)
    assert [n for n in names(store) if n.startswith("ProfilerStep")] == [
        "ProfilerStep#1",
        "ProfilerStep#2",
        "ProfilerStep#3",
    ]
    steps = [r for r, k in enumerate(store.kind.tolist()) if k == Kind.STEP]
    assert not store.flags[steps].any()


def test_custom_functions_and_hooks_show():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            return value * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    def hook(grad):
        return grad * 3

    w = torch.ones(2, requires_grad=True)
    with profile(with_stack=True) as prof:
        y = Double.apply(w)
        y.register_hook(hook)
        y.sum().backward()
    store = store_of(prof)
    assert_sound(store)
    found = names(store)
    forward = found.index("Double")
    assert (store.kind[forward], store.forward_thread[forward]) == (Kind.FUNCTION, 0)
    for name, outer in (
        (": forward", "Double"),
        (": backward", "DoubleBackward"),
        (": hook", "autograd::engine::evaluate_function: DoubleBackward"),
    ):
        rows = [r for r, n in enumerate(found) if n.endswith(name) and "test_stacks.py" in n]
        assert [found[store.parent[r]] for r in rows] == [outer]
