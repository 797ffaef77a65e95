"""Random programs, profiled on the recorder in C and on its fallback in Python: the same events, parents, steps, shapes,
stacks and memory.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mindtorch_v2._storage import native

from . import recorder_worker

pytestmark = pytest.mark.skipif(native is None, reason="the native recorder was not built or is switched off")
_SIMPLE = st.sampled_from(sorted(recorder_worker.SIMPLE)).map(lambda name: [name])
_PROGRAMS = st.recursive(
    st.lists(_SIMPLE, max_size=4),
    lambda inner: st.lists(
        st.one_of(_SIMPLE, st.tuples(st.sampled_from(sorted(recorder_worker.NESTED)), inner).map(list)), max_size=5
    ),
    max_leaves=12,
)
_OPTIONS = st.fixed_dictionaries(
    {name: st.booleans() for name in ("record_shapes", "profile_memory", "with_stack", "with_modules")}
)
PROGRAM = [["scope", [["call", [["add"], ["len"]]], ["backward"]]], ["layer"], ["step"], ["drop"]]
EVERYTHING = {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True}


class Worker:
    """A process with one of the recorders."""

    def __init__(self, native_on: str) -> None:
        root = pathlib.Path(__file__).parents[3]
        environment = {
            **os.environ,
            "MINDTORCH_NATIVE": native_on,
            "PYTHONPATH": os.pathsep.join([str(root), *(p for p in sys.path if p)]),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mindtorch_v2.native.recorder_worker"],
            env=environment,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def record(self, program: Any, options: Any) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([program, options]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


@pytest.fixture(scope="module")
def workers() -> Iterator[tuple[Worker, Worker]]:
    made = Worker("1"), Worker("0")
    # What is imported at first use is imported: each operation twice, because the second gradient of a leaf is added to
    # the first; and without stacks too, because Python 3.10 copies gradients where stacks are recorded.
    everything = [*PROGRAM, *([name] for name in sorted(recorder_worker.SIMPLE) for _ in range(2))]
    for worker in made:
        for with_stack in (True, False):
            worker.record(everything, {**EVERYTHING, "with_stack": with_stack})
    yield made
    for worker in made:
        worker.end()


def test_the_workers_record_everything(workers):
    rows, memory, freed = workers[0].record(PROGRAM, EVERYTHING)
    names = [row[0] for row in rows]
    assert {
        "scope",
        "aten::add",
        "aten::linear",
        "MulBackward0",
        "<built-in function len>",
        "nn.Module: Linear_0",
    } <= set(names)
    assert any(name.endswith(": called") for name in names) and len(memory) > 5 and freed
    assert "called" in str(next(row for row in rows if row[0] == "aten::add")[-1])


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=_PROGRAMS, options=_OPTIONS)
def test_both_recorders_give_the_same_of_random_programs(workers, program, options):
    if sys.version_info < (3, 11) and "backward" in json.dumps(program):
        # 3.10's profile functions in Python hold all locals, so gradients are copied
        options = {**options, "with_stack": False}
    native_store, python_store = (worker.record(program, options) for worker in workers)
    for native_part, python_part in zip(native_store, python_store, strict=True):
        assert native_part == python_part
