"""User scopes."""

from __future__ import annotations

import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import _RecordFunctionFast, profile, record_function
from mindtorch_v2.profiler.record.kinds import Flag, Kind

from .helpers import assert_sound, names, store_of, tree


def test_recursion_through_a_decorator_nests():
    @record_function("recur")
    def recur(depth: int) -> None:
        if depth:
            recur(depth - 1)

    with profile() as prof:
        recur(2)
    assert tree(store_of(prof)) == [["recur", [["recur", [["recur", []]]]]]]


def test_a_decorated_function_keeps_its_name_and_doc():
    @record_function("scope")
    def named() -> None:
        """What it does."""

    assert (named.__name__, named.__doc__) == ("named", "What it does.")


def test_one_object_may_be_entered_again_while_open():
    scope = record_function("again")
    with profile() as prof:
        with scope, scope:
            torch.ones(1)
        with scope:
            pass
    assert [n for n, _ in tree(store_of(prof))] == ["again", "again"]


def test_one_object_shared_by_threads():
    scope = record_function("shared")
    barrier = threading.Barrier(2)

    def work() -> None:
        with scope:
            barrier.wait()
            barrier.wait()

    config = torch.profiler._ExperimentalConfig(profile_all_threads=True)
    with profile(experimental_config=config) as prof:
        other = threading.Thread(target=work)
        other.start()
        work()
        other.join()
    store = store_of(prof)
    assert_sound(store)
    assert names(store) == ["shared", "shared"]
    assert sorted(store.thread.tolist()) == [0, 1]
    assert not store.flags.any()


def test_args_are_kept_with_the_event():
    with profile() as prof, record_function("scope", "batch 7"):
        pass
    store = store_of(prof)
    assert store.inputs_of(0).values == ("batch 7",)


def test_names_of_any_text():
    wild = ['"quoted"', "back\\slash", "", "naïve 名前", "new\nline", "x" * 300]
    with profile() as prof:
        for name in wild:
            with record_function(name):
                pass
    assert names(store_of(prof)) == wild


def test_wrong_types_are_named_when_entered():
    with pytest.raises(
        RuntimeError, match=r"Expected a value of type 'str' for argument 'name' but instead found type 'int'"
    ):
        record_function(3).__enter__()
    with pytest.raises(RuntimeError, match=r"'Optional\[str\]' for argument 'args' but instead found type 'int'"):
        record_function("name", 3).__enter__()


def test_leaving_without_entering():
    with pytest.raises(AssertionError, match="^Expected record to be set$"):
        record_function("never").__exit__(None, None, None)


def test_a_scope_closed_by_another_thread_is_asynchronous():
    with profile() as prof:
        scope = record_function("handed over").__enter__()
        torch.ones(1)
        other = threading.Thread(target=scope.__exit__)
        other.start()
        other.join()
    store = store_of(prof)
    row = names(store).index("handed over")
    assert store.flags[row] == Flag.ASYNC
    assert row not in store.parent.tolist()


class _Future:
    """The least that a future must do."""

    def __init__(self) -> None:
        self.callbacks = []

    def then(self, callback):
        self.callbacks.append(callback)
        return self

    def value(self) -> int:
        return 5


def test_the_end_may_follow_a_future():
    future = _Future()
    with profile() as prof:
        with record_function("async") as scope:
            assert scope._call_end_callbacks_on_future(future) is future
            with pytest.raises(RuntimeError, match="can only be called once"):
                scope._call_end_callbacks_on_future(future)
        torch.ones(1)
        assert future.callbacks[0](future) == 5
    assert tree(store_of(prof))[0][0] == "async"
    assert tree(store_of(prof))[0][1][0][0] == "aten::ones"


def test_fast_scopes_look_like_operators():
    with profile(record_shapes=True) as prof, _RecordFunctionFast("fast", [torch.ones(2, 3), 4], {"stage": "forward"}):
        pass
    store = store_of(prof)
    row = names(store).index("fast")
    described = store.inputs_of(row)
    assert store.kind[row] == Kind.FUNCTION
    assert (described.shapes, described.values, described.keywords) == (
        ((2, 3), ()),
        (None, 4),
        (("stage", "forward"),),
    )
