"""`Timer`: runs a statement often enough to know how long it takes."""

from __future__ import annotations

import sys
import textwrap
import timeit
from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from .... import _accelerators
from . import common

__all__ = ["Timer", "timer", "Language"]

_ROOT = __name__.partition(".")[0]
_OVERHEAD_SHARE = 1e-4  # a block is long enough when reading the clock takes less than this part of it
_MOST_RUNS = 2**31 - 1


def timer() -> float:
    """Seconds on a clock; work that devices have not finished yet is waited for."""
    for backend in _accelerators.active():
        backend.synchronize()
    return timeit.default_timer()


class Language(Enum):
    """What statements are written in."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures a Python statement.

    stmt, setup    code to run again and again, and code that runs once before each block of runs
    globals        names that the code may use; `torch` is always known
    timer          the clock
    label, sub_label, description, env    names for `Compare`: of the table, its rows, its columns, and of what
    differs between runs num_threads    threads of the kernels; one unless said otherwise, so that results can be
    compared

    Unlike `timeit` it warms up, sets the count of threads, and returns `Measurement`s.
    """

    _timer_cls: Any = timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError(
                f"Timer measures Python statements; there is no C++ interface here, got language={language!r}"
            )
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        self._globals = {"torch": sys.modules[_ROOT], **(globals or {})}
        self._language = Language.PYTHON
        stmt, setup = _dedent(stmt), _dedent(setup)
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=self._globals)
        self._task_spec = common.TaskSpec(
            stmt=stmt,
            setup=setup,
            global_setup=global_setup,
            label=label,
            sub_label=sub_label,
            description=description,
            env=env,
            num_threads=num_threads,
        )

    def _timeit(self, number: int) -> float:
        """Seconds of so many runs; never nothing, as results are divided by them."""
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> common.Measurement:
        """One measurement of so many runs, after a hundredth of them to warm up."""
        with common.set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._measurement(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> None:
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _measurement(self, number: int, times: list[float]) -> common.Measurement:
        return common.Measurement(number_per_run=number, raw_times=times, task_spec=self._task_spec)

    def _estimate_block_size(self, min_run_time: float) -> int:
        """The smallest power of ten of runs for which the clock's own cost does not matter."""
        with common.set_torch_threads(self._task_spec.num_threads):
            overhead = float(np.median([self._timeit(0) for _ in range(5)]))
            number = 1
            while True:
                taken = self._timeit(number)
                is_precise = overhead / taken <= _OVERHEAD_SHARE and taken >= min_run_time / 1000
                if is_precise or taken > min_run_time or number * 10 > _MOST_RUNS:
                    return number
                number *= 10

    def _threaded_measurement_loop(
        self,
        number: int,
        time_hook: Callable[[], float],
        stop_hook: Callable[[list[float]], bool],
        min_run_time: float,
        max_run_time: float | None = None,
        callback: Callable[[int, float], NoReturn] | None = None,
    ) -> list[float]:
        """Measures until `min_run_time` has passed and `stop_hook` agrees, or `max_run_time` has passed."""
        total, times = 0.0, []
        with common.set_torch_threads(self._task_spec.num_threads):
            while True:
                spent = time_hook()
                times.append(spent)
                total += spent
                if callback is not None:
                    callback(number, spent)
                is_enough = stop_hook(times)
                if (total >= min_run_time and is_enough) or (max_run_time is not None and total > max_run_time):
                    return times

    def blocked_autorange(
        self, callback: Callable[[int, float], NoReturn] | None = None, min_run_time: float = 0.2
    ) -> common.Measurement:
        """Measures blocks of runs for at least `min_run_time` seconds.

        `callback` is told the runs and seconds of each.
        """
        number = self._estimate_block_size(min_run_time)
        times = self._threaded_measurement_loop(
            number, lambda: self._timeit(number), lambda times: True, min_run_time=min_run_time, callback=callback
        )
        return self._measurement(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], NoReturn] | None = None,
    ) -> common.Measurement:
        """Measures until the quartiles are closer than `threshold` times the median, within `max_run_time` seconds."""
        number = self._estimate_block_size(min_run_time=0.05)

        def is_enough(times: list[float]) -> bool:
            return len(times) > 3 and self._measurement(number, times).meets_confidence(threshold)

        times = self._threaded_measurement_loop(
            number, lambda: self._timeit(number), is_enough, min_run_time, max_run_time, callback
        )
        return self._measurement(number, times)

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> Any:
        """Counting instructions needs Valgrind and an interpreter built for it: not available."""
        raise NotImplementedError(
            "collect_callgrind() is not available; use blocked_autorange() or adaptive_autorange()"
        )


def _dedent(code: str) -> str:
    """Code without the indentation it shares, and without the line break after an opening quote."""
    return textwrap.dedent(code).removeprefix("\n").rstrip()
