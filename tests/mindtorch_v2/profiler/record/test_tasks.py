"""Scopes belong to the asyncio task or greenlet that opened them."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import _ExperimentalConfig, profile, record_function
from mindtorch_v2.profiler.analysis.tree import EventTree
from mindtorch_v2.profiler.analysis.validate import validate
from mindtorch_v2.profiler.results.loaded import load
from mindtorch_v2.profiler.store import storefile

from ..helpers import assert_tracks_nest, store_of

x = torch.ones(2, 2)
x + x
FLAGS = [
    {},
    {"with_stack": True},
    {"with_stack": True, "with_modules": True, "profile_memory": True, "record_shapes": True},
]


async def work(name: str, turns: int = 3) -> None:
    with record_function(name):
        for _ in range(turns):
            x + x
            await asyncio.sleep(0)


async def eight() -> None:
    with record_function("epoch"):
        await asyncio.gather(*(work(f"task {i}") for i in range(8)))


def parents(prof: Any) -> dict[str, str | None]:
    assert not [e.name for e in prof.events() if e.is_async]
    return {e.name: e.cpu_parent and e.cpu_parent.name for e in prof.events() if not e.name.startswith("aten::")}


def covered_us(prof: Any, thread: int) -> float:
    """How long any event of a thread was open."""
    spans = sorted(
        (e.time_range.start, e.time_range.end) for e in prof.events() if e.thread == thread and not e.is_async
    )
    total, reached = 0.0, 0.0
    for start, end in spans:
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def test_equal_tasks_get_equal_shares(clock):
    with profile() as prof, record_function("all"):
        asyncio.run(eight())
    averages = {row.key: row for row in prof.key_averages()}
    tasks = [averages[f"task {i}"] for i in range(8)]
    assert len({row.cpu_time_total for row in tasks}) == len({row.self_cpu_time_total for row in tasks}) == 1
    assert all(e.cpu_parent.name.startswith("task ") for e in prof.events() if e.name == "aten::add")
    epoch = averages["epoch"]
    assert epoch.cpu_time_total == pytest.approx(epoch.self_cpu_time_total + 8 * tasks[0].cpu_time_total)
    assert tasks[0].count == 1


@pytest.mark.parametrize("flags", FLAGS)
def test_self_times_add_up_to_the_thread(flags, clock):
    with profile(**flags) as prof, record_function("all"):
        asyncio.run(eight())
    assert parents(prof) == {"all": None, "epoch": "all", **{f"task {i}": "epoch" for i in range(8)}}
    (thread,) = {e.thread for e in prof.events()}
    assert sum(e.self_cpu_time_total for e in prof.events()) == pytest.approx(covered_us(prof, thread))
    assert prof.validate() == []


def test_tasks_that_wait_in_scopes_of_one_name_take_no_more_than_there_is(clock):
    async def main() -> None:
        await asyncio.gather(*(work("request") for _ in range(8)))

    with profile() as prof:
        asyncio.run(main())
    (row,) = (row for row in prof.key_averages() if row.key == "request")
    assert row.covered_us == row.cpu_time_total == prof.key_averages().self_cpu_time_total  # all else runs inside
    assert "100.00%" in next(line for line in prof.key_averages().table().splitlines() if "request" in line)
    assert prof.validate() == []


@pytest.mark.parametrize("flags", FLAGS)
def test_a_profile_inside_a_task(flags, clock):
    async def main() -> Any:
        with profile(**flags) as prof:
            await eight()
        return prof

    prof = asyncio.run(main())
    assert parents(prof) == {"epoch": None, **{f"task {i}": "epoch" for i in range(8)}}
    assert prof.validate() == []


def test_a_task_inherits_the_scope_that_it_was_created_in(clock):
    async def main() -> None:
        with record_function("first"):
            early = asyncio.create_task(work("early"))
            await asyncio.sleep(0)
        with record_function("second"):
            await early
            late = asyncio.create_task(work("late"))
        await late

    with profile() as prof:
        asyncio.run(main())
    assert parents(prof) == {"first": None, "second": None, "early": None, "late": None}  # both outlived theirs
    with profile() as prof, record_function("all"):
        asyncio.run(main())
    assert parents(prof) == {"all": None, "first": "all", "second": "all", "early": "all", "late": "all"}


def test_operators_outside_scopes_belong_to_what_the_thread_has_open(clock):
    async def main() -> None:
        x + x

    with profile() as prof, record_function("all"):
        asyncio.run(main())
    assert [e.cpu_parent.name for e in prof.events() if e.name == "aten::add"] == ["all"]


def test_generators_share_the_scopes_of_their_caller(clock):
    def generate():
        with record_function("generator"):
            yield 1
            yield 2

    with profile(with_stack=True) as prof:
        for _ in generate():
            x + x
    assert [e.cpu_parent.name for e in prof.events() if e.name == "aten::add"] == ["generator"] * 2


def test_a_copied_context_is_no_task(clock):
    def inside() -> None:
        with record_function("inside"):
            x + x

    with profile() as prof, record_function("outside"):
        contextvars.copy_context().run(inside)
        x + x
    assert parents(prof) == {"outside": None, "inside": "outside"}
    assert [t.task for t in store_of(prof).threads] == [0]


def test_a_scope_closed_by_another_task(clock):
    scope = record_function("handed over")

    async def opens() -> None:
        scope.__enter__()
        x + x
        await asyncio.sleep(0)
        x + x

    async def closes() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        scope.__exit__(None, None, None)
        x + x

    async def main() -> None:
        await asyncio.gather(opens(), closes())

    with profile() as prof:
        asyncio.run(main())
    assert [e.cpu_parent and e.cpu_parent.name for e in prof.events() if e.name == "aten::add"] == [
        "handed over",
        "handed over",
        None,
    ]
    assert prof.validate() == []


def test_each_thread_has_its_own_tasks(clock):
    with profile(experimental_config=_ExperimentalConfig(profile_all_threads=True)) as prof:
        other = threading.Thread(target=lambda: asyncio.run(work("other")))
        other.start()
        other.join()
        asyncio.run(work("here"))
    by_name = {e.name: e.thread for e in prof.events() if e.name in ("other", "here")}
    assert by_name["other"] != by_name["here"]
    assert prof.validate() == []


@pytest.mark.parametrize("flags", FLAGS)
def test_tasks_are_tracks_of_their_own(flags, clock, tmp_path):
    async def main() -> None:
        await asyncio.gather(
            asyncio.create_task(work("a"), name="loader"), asyncio.create_task(work("b"), name="writer")
        )

    with profile(**flags) as prof, record_function("all"):
        asyncio.run(main())
    path = tmp_path / "t.json"
    prof.export_chrome_trace(str(path))
    assert_tracks_nest(path)
    events = json.loads(path.read_text())["traceEvents"]
    os_id = store_of(prof).threads[0].os_id
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    tracks = {e["name"]: names[e["tid"]] for e in events if e["ph"] == "X" and e["name"] in ("a", "b", "all")}
    assert (tracks["a"], tracks["b"]) == (f"task loader (thread {os_id})", f"task writer (thread {os_id})")
    assert tracks["all"].startswith(f"thread {os_id} (")
    again = load(path)
    assert {(e.name, e.cpu_parent and e.cpu_parent.name) for e in again.events() if e.name in "ab"} == {
        ("a", "all"),
        ("b", "all"),
    }
    assert validate(again.store) == []
    assert EventTree(again.store).self_ns.sum() == EventTree(store_of(prof)).self_ns.sum()


def test_files_keep_tasks(clock, tmp_path):
    with profile() as prof:
        asyncio.run(eight())
    store = store_of(prof)
    storefile.save(store, tmp_path / "s.mtp")
    again = storefile.load(tmp_path / "s.mtp")
    assert again.threads == store.threads and sum(t.task > 0 for t in store.threads) == 9
    assert np.array_equal(EventTree(again).self_ns, EventTree(store).self_ns)


@pytest.mark.parametrize("flags", FLAGS)
def test_greenlets(flags, clock):
    greenlet = pytest.importorskip("greenlet")

    def turns(name: str) -> None:
        with record_function(name):
            for _ in range(3):
                x + x
                main.switch()

    main = greenlet.getcurrent()
    with profile(**flags) as prof, record_function("all"):
        running = [greenlet.greenlet(turns) for _ in range(4)]
        for i, g in enumerate(running):
            g.switch(f"greenlet {i}")
        while running:
            for g in running:
                g.switch()
            running = [g for g in running if not g.dead]
    assert parents(prof) == {"all": None, **{f"greenlet {i}": "all" for i in range(4)}}
    averages = {row.key: row for row in prof.key_averages()}
    assert [
        len([c for c in e.cpu_children if c.name == "aten::add"])
        for e in prof.events()
        if e.name.startswith("greenlet")
    ] == [3] * 4
    if not flags:
        assert len({averages[f"greenlet {i}"].cpu_time_total for i in range(4)}) == 1
    assert prof.validate() == []
