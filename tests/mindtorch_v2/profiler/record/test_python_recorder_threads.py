"""Threads that meet in the Python recorder: each moment at which one could disturb another is brought about."""

from __future__ import annotations

import itertools
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._native import available
from mindtorch_v2.profiler import _ExperimentalConfig, profile
from mindtorch_v2.profiler.record.descriptions import ThreadInfo
from mindtorch_v2.profiler.record.interning import InternTable
from mindtorch_v2.profiler.record.recorder import recorder
from mindtorch_v2.profiler.record.thread_buffer import ThreadBuffer

python_recorder_only = pytest.mark.skipif(available(), reason="the native recorder keeps its stacks in C")


class OwnList(list):
    """A list that remembers which threads changed it."""

    def __init__(self, values) -> None:
        super().__init__(values)
        self.changed_by = set()

    def _noted(name):
        def method(self, *args):
            self.changed_by.add(threading.get_ident())
            return getattr(list, name)(self, *args)

        return method

    append, pop, remove = _noted("append"), _noted("pop"), _noted("remove")
    __setitem__, __delitem__ = _noted("__setitem__"), _noted("__delitem__")


@python_recorder_only
def test_the_end_of_tracing_leaves_other_threads_stacks_to_them():
    """They may be between looking at their stack and taking something off it."""
    is_inside, go_on, stacks, done = threading.Event(), threading.Event(), [], []

    def inner(x):
        x + x
        buffer = recorder.buffers[recorder.thread_buffer().info.id]
        buffer.open = OwnList(buffer.open)
        stacks.append(buffer)
        is_inside.set()
        go_on.wait()
        x + x
        done.append(buffer.has_ended_calls)

    def outer():
        inner(torch.ones(2))

    everyone = {"experimental_config": _ExperimentalConfig(profile_all_threads=True)}
    with profile(**everyone) as longer:
        with profile(with_stack=True, **everyone) as shorter:
            thread = threading.Thread(target=outer)
            thread.start()
            is_inside.wait()
        assert threading.get_ident() not in stacks[0].open.changed_by
        go_on.set()
        thread.join()
        assert done == [False] and stacks[0].open.changed_by == {thread.ident}
    store = shorter.profiler.store
    names = [store.strings[n].rpartition(": ")[2] for n in store.name]
    assert names.count("outer") == names.count("inner") == 1
    adds = [e for e in longer.events() if e.name == "aten::add"]
    assert len(adds) == 2 and adds[1].cpu_parent is None


def test_threads_that_add_at_once_get_ids_of_their_own():
    """Between taking an id and storing its value another thread adds a value of its own."""
    table: InternTable[str] = InternTable()
    count, inside = itertools.count(), []

    def next_id():
        made = next(count)
        if not inside:
            inside.append(True)
            other = table.add("other", "another's value")
            assert table[other] == "another's value"
        return made

    table._next_id = next_id
    mine = table.add("mine", "my value")
    assert table[mine] == "my value" and table[table.find("other")] == "another's value"
    assert mine != table.find("other") and table.find("mine") == mine


def test_two_threads_that_add_the_same_agree():
    table: InternTable[str] = InternTable()
    count, others = itertools.count(), []

    def next_id():
        made = next(count)
        if not others:
            others.append(-1)
            others[0] = table.add("key", "value")
        return made

    table._next_id = next_id
    assert table.add("key", "value") == others[0] == table.find("key")


def test_a_scope_closed_by_another_thread_between_two_steps_of_its_own():
    """`end_elsewhere` empties the stack after its thread has looked at it."""
    buffer = ThreadBuffer(ThreadInfo(1, 1, "thread"))

    class Emptied(OwnList):
        def __bool__(self) -> bool:  # what the thread asks first
            was = len(self) > 0
            list.clear(self)
            return was

        def __len__(self) -> int:
            return list.__len__(self)

    buffer.open = Emptied([-2])
    assert buffer.innermost == -2
    buffer.open = Emptied([-2])
    buffer.end(0, 5)
    assert buffer.ends == [0, 5] and buffer.open_row == -1 and not buffer.is_in_op


def test_an_event_that_ends_while_another_thread_closes_a_scope_inside_it():
    """The scope leaves the stack after `end_event` has looked at it: what is taken off is the event, not its index."""
    buffer = ThreadBuffer(ThreadInfo(1, 1, "thread"))
    event, scope, call = 3, -2 - 4, -2 - 5

    class Changing(OwnList):
        def __getitem__(self, index):
            seen = list.__getitem__(self, index)
            if isinstance(index, slice) and scope in list(seen):
                list.remove(self, scope)
            return seen

    buffer.open, buffer.calls = Changing([1, scope, event, call]), {call}
    buffer.end_event(event, 7)
    assert list(buffer.open) == [1] and buffer.ends == [3, 7, 5, 7] and not buffer.calls
    buffer.open = Changing([1, scope, event])
    buffer.end_event(event, 8)
    buffer.end_event(event, 9)  # it has ended
    assert list(buffer.open) == [1] and buffer.ends[4:] == [3, 8]
