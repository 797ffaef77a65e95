"""Collections, finalisers and memory that outlives its profile."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _observer, nn
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function

from ..profiler.helpers import assert_sound, names, store_of
from .safety import EVERYTHING, ops, training_step

pytestmark = pytest.mark.usefixtures("nothing_is_left")


# --- garbage
class Cycle:
    """Garbage that does something when it is collected."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.me, self.work = self, work

    def __del__(self) -> None:
        self.work()


@pytest.fixture
def eager_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def test_finalisers_run_operators_inside_events(x, eager_collector):
    step = training_step()

    def finalise() -> None:
        with record_function("finaliser"), torch.no_grad():
            x * x

    def litter(*_: Any) -> None:
        Cycle(finalise)

    step()
    with profile(**EVERYTHING) as prof:
        for _ in range(10):
            with record_function("step"):
                litter()
                step()
        gc.collect()
    store = store_of(prof)
    assert_sound(store)
    assert names(store).count("finaliser") == 10
    for row, name in enumerate(names(store)):
        if name == "finaliser":
            inside = [r for r in range(len(store)) if store.parent[r] == row]
            assert "aten::mul" in [names(store)[r] for r in inside]


def test_a_collection_changes_no_events(eager_collector):
    """The operators of a step are the same, in the same tree, however often the collector runs in the middle."""
    step = training_step()

    def tree_of_ops() -> list[tuple[str, str]]:
        with profile(record_shapes=True, profile_memory=True, with_modules=True) as prof:
            step()
        store = store_of(prof)
        assert_sound(store)
        return [(n, names(store)[store.parent[r]] if store.parent[r] >= 0 else "") for r, n in enumerate(names(store))]

    step()
    eager = tree_of_ops()
    gc.disable()
    try:
        assert tree_of_ops() == eager
    finally:
        gc.enable()


def test_collections_and_callbacks_inside_events(x):
    layer = nn.Linear(2, 2)

    def note(phase: str, info: dict[str, int]) -> None:
        x - x

    handle = layer.register_forward_hook(lambda *_: gc.collect() and None)
    gc.callbacks.append(note)
    config = _ExperimentalConfig(record_python_gc_info=True)
    try:
        with profile(**EVERYTHING, experimental_config=config) as prof:
            for _ in range(3):
                layer(torch.ones(1, 2))
    finally:
        gc.callbacks.remove(note)
        handle.remove()
    store = store_of(prof)
    assert_sound(store)
    assert names(store).count("Python GC") >= 3 and ops(store).count("aten::sub") >= 6


def test_a_finaliser_ends_the_profile(eager_collector, x):
    step = training_step()
    step()
    for _ in range(30):
        prof = profile(**EVERYTHING)
        prof.start()
        Cycle(prof.stop)
        for _ in range(3):
            step()
        gc.collect()
        assert _observer.active is None
        assert_sound(store_of(prof))


def test_a_finaliser_ends_the_profile_wherever_a_call_is_traced(eager_collector):
    def nothing() -> None:
        pass

    for threshold in range(1, 40):
        prof = profile(with_stack=True)
        gc.disable()
        prof.start()
        Cycle(prof.stop)
        kept: list[Any] = []
        gc.set_threshold(threshold, 1, 1)
        gc.enable()
        for _ in range(30):
            kept.append([])
            nothing()
        gc.collect()
        assert sys.getprofile() is None and _observer.active is None


def test_a_gradient_that_a_leaf_takes_over_is_not_reported_as_gone():
    w = torch.ones(10, 10, requires_grad=True)
    with profile(profile_memory=True) as prof:
        (w * torch.ones(10, 10)).sum().backward()
        address = w.grad.data_ptr()
    memory = store_of(prof).memory
    last = [n for a, n in zip(memory.columns["address"].tolist(), memory.nbytes.tolist()) if a == address][-1]
    assert last == 400


def test_memory_that_outlives_its_profile(x):
    kept = []
    for _ in range(3):
        with profile(profile_memory=True) as prof:
            kept.append(torch.ones(100) + 1)
            gc.collect()
        assert 400 in store_of(prof).memory.nbytes.tolist()
    thread = threading.Thread(target=kept.clear)
    with profile(profile_memory=True):
        thread.start()
        thread.join()
