"""When to record: the schedule of a profile over the steps of a loop."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from .record.enums import ProfilerAction


class _InvalidSchedule(AssertionError, ValueError):
    """A schedule that makes no sense: PyTorch's AssertionError, which is a ValueError too."""


_InvalidSchedule.__name__ = _InvalidSchedule.__qualname__ = "AssertionError"  # messages read as PyTorch's do


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function from step numbers to actions: after `skip_first` steps, cycles of `wait` idle, `warmup` warming and
    `active` recorded steps follow one another, `repeat` times or (0) without end. A `skip_first_wait` other than 0
    leaves out the idle steps of the first cycle.

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise _InvalidSchedule(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def action_of_step(step: int) -> ProfilerAction:
        if step < 0:
            raise _InvalidSchedule(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat > 0 and step / cycle >= repeat:
            return ProfilerAction.NONE
        position = step % cycle
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action_of_step


def always_record(step: int) -> ProfilerAction:
    """The schedule of a profile that was given none."""
    return ProfilerAction.RECORD
