"""Random programs: whatever opens scopes and however Python calls come and go, the tree is what was open, and times
add up.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function
from mindtorch_v2.profiler.analysis.tree import EventTree
from mindtorch_v2.profiler.analysis.validate import validate
from mindtorch_v2.profiler.record import clock as clocks
from mindtorch_v2.profiler.record.kinds import Flag
from mindtorch_v2.profiler.results.loaded import load
from mindtorch_v2.profiler.store.event_store import EventStore

from .conftest import TickingClock
from .helpers import assert_tracks_nest, store_of

try:
    import greenlet
except ImportError:  # the programs then have none
    greenlet = None

x = torch.ones(2, 2)
x + x

# ---- the language: a program is a list of statements, a statement a tuple of its name and its parts
# -----------------------------------

WAYS = ["with", "contextmanager", "class", "exit stack", "decorator", "by hand", "callback"]
_simple = st.sampled_from([("op",), ("call", []), ("builtin",), ("forgotten",)])


def _compound(inner: Any) -> Any:
    body = st.lists(inner, max_size=4)
    several = st.lists(body, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("scope"), st.sampled_from(WAYS), body),
        st.tuples(st.just("call"), body),
        st.tuples(st.just("generator"), st.integers(1, 3), body),
        st.tuples(st.just("raise"), body),
        st.tuples(st.just("recursion"), st.integers(1, 4), body),
        st.tuples(st.just("thread"), body),
        st.tuples(st.just("module"), body),
        st.tuples(st.just("tasks"), several),
        st.tuples(st.just("greenlets"), several),
    )


programs = st.lists(st.recursive(_simple, _compound, max_leaves=12), min_size=1, max_size=4)
flags = st.fixed_dictionaries(
    {name: st.booleans() for name in ("with_stack", "with_modules", "record_shapes", "profile_memory", "with_flops")}
)


class _Stop(Exception):
    pass


class _Module(torch.nn.Module):
    def forward(self, run: Any) -> None:
        run()


class _Region:
    def __init__(self, scope: Any) -> None:
        self.scope = scope

    def __enter__(self) -> None:
        self.scope.__enter__()

    def __exit__(self, *exc: object) -> None:
        self.scope.__exit__(*exc)


class Machine:
    """Runs a program and notes what was open around each scope and operator."""

    def __init__(self, all_threads: bool) -> None:
        self.all_threads = all_threads
        self.numbers = itertools.count()
        self.open: list[str | None] = [None]  # of the task that runs
        self.scopes: dict[str, str | None] = {}  # name -> what was open when it began
        self.ops: list[str | None] = []  # what was open around each operator
        self.forgotten: list[Any] = []
        self.recorded = True
        self.on_loop = self.on_greenlet = False

    def run(self, body: list[Any]) -> None:
        for statement in body:
            getattr(self, "do_" + statement[0].replace(" ", "_"))(*statement[1:])

    @contextlib.contextmanager
    def noted(self) -> Iterator[str]:
        """A scope's name; it counts as open inside."""
        name = f"scope {next(self.numbers)}"
        if self.recorded:
            self.scopes[name] = self.open[-1]
        self.open.append(name)
        try:
            yield name
        finally:
            del self.open[self.open.index(name) :]  # with those that were opened inside and forgotten

    def do_op(self) -> None:
        if self.recorded:
            self.ops.append(self.open[-1])
        x + x

    def do_forgotten(self) -> None:
        """A scope that nobody closes: it ends with the scope around it."""
        name = f"scope {next(self.numbers)}"
        if self.recorded:
            self.scopes[name] = self.open[-1]
        self.open.append(name)
        self.forgotten.append(record_function(name).__enter__())

    def do_builtin(self) -> None:
        len([abs(-1), sorted([2, 1], key=lambda value: value)])

    def do_call(self, body: list[Any]) -> None:
        (lambda: self.run(body))()

    def do_recursion(self, depth: int, body: list[Any]) -> None:
        with self.noted() as name, record_function(name):
            self.run(body)
            if depth > 1:
                self.do_recursion(depth - 1, body)

    def do_raise(self, body: list[Any]) -> None:
        with contextlib.suppress(_Stop), self.noted() as name, record_function(name):
            self.run(body)
            raise _Stop

    def do_generator(self, turns: int, body: list[Any]) -> None:
        def generate() -> Iterator[int]:
            with self.noted() as name, record_function(name):
                yield from range(turns)

        for _ in generate():
            self.run(body)

    def do_module(self, body: list[Any]) -> None:
        _Module()(lambda: self.run(body))

    def do_scope(self, way: str, body: list[Any]) -> None:
        with self.noted() as name:
            self._scoped(way, record_function(name), lambda: self.run(body))

    def _scoped(self, way: str, scope: Any, run: Any) -> None:
        if way == "contextmanager":

            @contextlib.contextmanager
            def region() -> Iterator[None]:
                with scope:
                    yield

            with region():
                run()
        elif way == "exit stack":
            with contextlib.ExitStack() as stack:
                stack.enter_context(scope)
                run()
        elif way == "decorator":
            scope(run)()
        elif way == "callback":
            with contextlib.ExitStack() as stack:
                scope.__enter__()
                stack.callback(lambda: scope.__exit__(None, None, None))
                run()
        elif way == "by hand":
            (lambda: scope.__enter__())()
            run()
            (lambda: scope.__exit__(None, None, None))()
        else:
            with _Region(scope) if way == "class" else scope:
                run()

    def do_thread(self, body: list[Any]) -> None:
        before = self.open, self.recorded, self.on_loop, self.on_greenlet
        self.open, self.recorded, self.on_loop, self.on_greenlet = [None], self.all_threads, False, False
        other = threading.Thread(target=self.run, args=(body,))
        other.start()
        other.join()
        self.open, self.recorded, self.on_loop, self.on_greenlet = before

    # Tasks take turns after each of their statements, and have a scope of their own meanwhile.

    def do_tasks(self, bodies: list[list[Any]]) -> None:
        if self.on_loop or self.on_greenlet:
            return
        stacks = [[self.open[-1]] for _ in bodies]

        async def task(stack: list[str | None], body: list[Any]) -> None:
            self.open = stack
            with self.noted() as name, record_function(name):
                for statement in body:
                    self.run([statement])
                    await asyncio.sleep(0)
                    self.open = stack
            self.open = stack

        async def main() -> None:
            await asyncio.gather(*map(task, stacks, bodies))

        before, self.on_loop = self.open, True
        asyncio.run(main())
        self.open, self.on_loop = before, False

    def do_greenlets(self, bodies: list[list[Any]]) -> None:
        if greenlet is None or self.on_loop or self.on_greenlet:
            return
        here = greenlet.getcurrent()

        def task(stack: list[str | None], body: list[Any]) -> None:
            self.open = stack
            with self.noted() as name, record_function(name):
                for statement in body:
                    self.run([statement])
                    here.switch()
                    self.open = stack
            self.open = stack

        before, self.on_greenlet = self.open, True
        running = [greenlet.greenlet(task) for _ in bodies]
        for made, body in zip(running, bodies):
            made.switch([before[-1]], body)
        while running := [g for g in running if not g.dead]:
            for g in running:
                g.switch()
        self.open, self.on_greenlet = before, False


# ---- what must hold
# -------------------------------------------------------------------------------------------------------------------


def assert_nested(store: EventStore) -> None:
    """Rows lie inside their parents and beside their siblings of the same track; none is asynchronous."""
    assert not (store.flags & Flag.ASYNC).any()
    for row, parent in enumerate(store.parent.tolist()):
        if parent >= 0:
            assert store.start_ns[parent] <= store.start_ns[row] <= store.end_ns[row] <= store.end_ns[parent], (
                store.name_of(row)
            )
    last: dict[tuple[int, int], int] = {}
    for row in range(len(store)):
        sibling = last.get((int(store.thread[row]), int(store.parent[row])))
        assert sibling is None or store.end_ns[sibling] <= store.start_ns[row], (
            store.name_of(sibling),
            store.name_of(row),
        )
        last[int(store.thread[row]), int(store.parent[row])] = row


def assert_times_add_up(store: EventStore) -> None:
    """Per thread, the self times of events sum to the time during which any of them was open."""
    tree = EventTree(store)
    numbers = np.array([thread.id for thread in store.threads])[tree.column(store.thread, 0)]
    is_row = tree.row >= 0 if not tree._is_all_rows else np.ones(len(tree), bool)
    for number in np.unique(numbers):
        mine = np.flatnonzero((numbers == number) & is_row)
        covered = reached = 0
        for start, end in zip(tree.start_ns[mine].tolist(), tree.end_ns[mine].tolist()):
            covered += max(0, end - max(start, reached))
            reached = max(reached, end)
        assert int(tree.self_ns[mine].sum()) == covered


def assert_as_opened(prof: Any, machine: Machine) -> None:
    """Each scope and operator is inside what was open when it began."""
    found = [(e.name, e.cpu_parent.name if e.cpu_parent is not None else None) for e in prof.events()]
    assert {name: parent for name, parent in found if name.startswith("scope ")} == machine.scopes
    assert [parent for name, parent in found if name == "aten::add"] == machine.ops


@settings(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(program=programs, flags=flags, all_threads=st.booleans())
def test_the_tree_is_what_was_open(program, flags, all_threads, tmp_path_factory):
    machine = Machine(all_threads)
    with (
        clocks.use(TickingClock()),
        profile(**flags, experimental_config=_ExperimentalConfig(profile_all_threads=all_threads)) as prof,
    ):
        machine.run(program)
    check(prof, machine, tmp_path_factory.getbasetemp() / "random.json")


def check(prof: Any, machine: Machine, path: Path) -> None:
    store = store_of(prof)
    assert_as_opened(prof, machine)
    assert_nested(store)
    assert_times_add_up(store)
    assert prof.validate() == []
    prof.export_chrome_trace(str(path))
    assert_tracks_nest(path)
    again = load(path).store
    assert_nested(again)
    assert validate(again) == []
    assert int(EventTree(again).self_ns.sum()) == int(EventTree(store).self_ns.sum())


EVERYTHING = [("scope", way, [("op",), ("call", [("op",)])]) for way in WAYS] + [
    ("scope", "contextmanager", [("call", [("op",), ("call", [("forgotten",)])]), ("op",), ("call", [("op",)])]),
    ("generator", 2, [("op",)]),
    ("raise", [("op",)]),
    ("recursion", 3, [("op",)]),
    ("thread", [("op",)]),
    ("module", [("op",)]),
    ("tasks", [[("op",), ("scope", "contextmanager", [("op",)])] for _ in range(3)]),
    ("greenlets", [[("op",), ("scope", "exit stack", [("op",)])] for _ in range(3)]),
]


@pytest.mark.parametrize("mask", range(32))
def test_every_combination_of_flags(mask, clock, tmp_path):
    names = ("with_stack", "with_modules", "record_shapes", "profile_memory", "with_flops")
    machine = Machine(all_threads=mask % 2 == 0)
    config = _ExperimentalConfig(profile_all_threads=machine.all_threads, record_python_gc_info=mask % 3 == 0)
    with profile(**{name: bool(mask >> i & 1) for i, name in enumerate(names)}, experimental_config=config) as prof:
        machine.run(EVERYTHING)
    check(prof, machine, tmp_path / "t.json")


def test_times_of_the_system_add_up_too(tmp_path):
    machine = Machine(all_threads=True)
    with profile(
        with_stack=True, profile_memory=True, experimental_config=_ExperimentalConfig(profile_all_threads=True)
    ) as prof:
        machine.run(EVERYTHING * 3)
    check(prof, machine, tmp_path / "t.json")
