"""A fixture for tests that must not become slower or larger. In conftest.py: `pytest_plugins =
["mindtorch_v2.profiler.pytest_plugin"]`.

    def test_training_step(mindprof):
        run = mindprof.record(step, steps=30)
        mindprof.check(run, "baselines/step.mindprof", {"step_time": "+5%", "aten::copy_": {"count": "+0"}})

`pytest --mindprof-update` writes the baselines anew.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from .analysis.diff import Diff, diff
from .analysis.gate import check
from .cli.diff import markdown
from .profiler import profile
from .results.loaded import load
from .schedule import schedule
from .store import storefile
from .store.event_store import EventStore

_OPTIONS = {"record_shapes": True, "with_modules": True, "profile_memory": True}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mindprof-update", action="store_true", help="write the baselines of mindprof.check anew")


class Mindprof:
    """What the fixture gives."""

    def __init__(self, update: bool) -> None:
        self._update = update

    def record(self, step: Callable[[], Any], steps: int = 30, warmup: int = 3, **options: Any) -> EventStore:
        """Calls `step` so often under a profile; the store of the steps after the first `warmup`.

        `options` are those of `profile`.
        """
        plan = schedule(wait=max(warmup - 1, 0), warmup=min(warmup, 1), active=steps, repeat=1)
        with profile(schedule=plan, **{**_OPTIONS, **options}) as prof:
            for _ in range(warmup + steps):
                step()
                prof.step()
        return _store(prof)

    def compare(self, before: Any, after: Any) -> Diff:
        """What changed between two runs: stores, profiles, or paths of files."""
        return diff(_store(before), _store(after))

    def check(self, run: Any, baseline: str | os.PathLike[str], rules: Mapping[str, Any]) -> Diff | None:
        """Fails the test if `run` breaks a rule against the baseline, which is a file; the first run writes it."""
        if self._update or not os.path.exists(baseline):
            os.makedirs(os.path.dirname(os.path.abspath(baseline)), exist_ok=True)
            storefile.save(_store(run), baseline)
            warnings.warn(f"the baseline {os.fspath(baseline)!r} was written; nothing was compared", stacklevel=2)
            return None
        compared = self.compare(baseline, run)
        broken = check(compared, rules)
        if broken:
            pytest.fail(markdown(compared, broken, os.fspath(baseline), "this run", True), pytrace=False)
        return compared


def _store(run: Any) -> EventStore:
    if isinstance(run, EventStore):
        return run
    if isinstance(run, (str, os.PathLike)):
        return load(run).store
    if isinstance(run, profile):
        store = run.profiler.store if run.profiler is not None else None
        if store is None:
            raise ValueError("the profile has recorded nothing yet")
        return store
    return run.store


@pytest.fixture
def mindprof(request: pytest.FixtureRequest) -> Mindprof:
    """Records runs and compares them with baselines."""
    return Mindprof(bool(request.config.getoption("--mindprof-update")))
