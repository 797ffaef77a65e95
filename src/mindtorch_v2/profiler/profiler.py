"""`torch.profiler.profile`: a profile over the steps of a loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from .._guarded import guarded
from .record.config import _ExperimentalConfig, supported_activities, warn_caller
from .record.enums import ProfilerAction
from .record.step_tracker import KinetoStepTracker
from .record.steps import StepScope
from .results.execution_trace import ExecutionTraceObserver
from .results.handlers import tensorboard_trace_handler
from .results.kineto_profile import _KinetoProfile
from .results.transitions import TRANSITIONS, WARNINGS
from .schedule import always_record, schedule

__all__ = [
    "supported_activities",
    "ProfilerAction",
    "schedule",
    "tensorboard_trace_handler",
    "profile",
    "ExecutionTraceObserver",
]

PROFILER_STEP_NAME = _STEP_REQUESTER = "ProfilerStep"
_default_schedule_fn = always_record
# told of every profile that does "start", "step" or "stop": a tool that records the same program
on_change: list[Callable[[profile, str], None]] = []


def _tell(prof: profile, change: str) -> None:
    for told in on_change:
        told(prof, change)


class profile(_KinetoProfile):
    """A profile as a context manager, or between `start` and `stop`, over the steps of a loop if there is one.

    schedule        a function from step numbers to actions, such as `schedule(...)` makes; without it every step is
                    recorded, as one trace
    on_trace_ready  called with the profile whenever a cycle has been recorded
    use_cuda        deprecated; say it with `activities`

    The other options are those of `_KinetoProfile`.

    >>> with torch.profiler.profile() as prof:
    ...     y = torch.ones(2) + 1
    >>> [event.name for event in prof.events() if event.name == "aten::add"]
    ['aten::add']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: _ExperimentalConfig | None = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        if use_cuda is not None:
            warn_caller("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning)
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
        )
        self.schedule = schedule or always_record
        self.record_steps = bool(schedule)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.step_rec_fn: StepScope | None = None
        self.current_action = self._action_of(0)
        self._running = False
        # in the midst of a move from one action to the next, or such a move was interrupted
        self._is_moving = False
        KinetoStepTracker.init_step_count(_STEP_REQUESTER)

    @property
    def action_map(self) -> dict[tuple[ProfilerAction, ProfilerAction | None], list[Callable[[], None]]]:
        """What is done when one action follows another. Made anew at each reading, so that the profile does not refer
        to itself."""
        return {pair: [getattr(self, name) for name in names] for pair, names in TRANSITIONS.items()}

    @guarded("_end_recording")
    def __enter__(self) -> profile:
        self.start()
        return self

    @guarded("_end_recording")
    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            if self.execution_trace_observer is not None:
                self.execution_trace_observer.cleanup()

    @guarded("_give_up_start")
    def start(self) -> None:
        """Begins the current step as the schedule says. Where that fails or is interrupted, nothing is recorded."""
        self._close_step()
        self._running = True
        self._move(ProfilerAction.NONE, self.current_action)
        self._open_step()
        _tell(self, "start")

    @guarded("_end_recording")
    def stop(self) -> None:
        """Ends the profile. A second call, and one from another thread, changes nothing and loses nothing. An
        interrupt ends the recording too; then a second call gives the results.
        """
        self._close_step()
        _tell(self, "stop")
        KinetoStepTracker.erase_step_count(_STEP_REQUESTER)
        # a move that an interrupt ended: what was recorded is kept, nothing else is begun
        if self._is_moving:
            if self.profiler is not None:
                self.stop_trace()
                self._trace_ready()
            self.current_action = ProfilerAction.NONE
            self._running = self._is_moving = False
        elif self._running or self.profiler is None:
            self._move(self.current_action, None)
            self._running = False

    @guarded("_end_interrupted_move")
    def step(self) -> None:
        """Ends the current step of the loop and begins the next."""
        next_action = self._action_of(self.step_num + 1)
        self._close_step()
        self._is_moving = True
        previous, self.current_action = self.current_action, next_action
        self.step_num += 1
        if self.profiler is not None:
            self.profiler.mark_step(self.step_num)
        self._move(previous, next_action)
        if os.environ.get("KINETO_USE_DAEMON"):
            KinetoStepTracker.increment_step(_STEP_REQUESTER)
        if self.record_steps and self.profiler is not None:
            self.profiler.read_speed()
        self._open_step()
        _tell(self, "step")

    def _give_up_start(self) -> None:
        self._is_moving = True
        self._end_recording()

    def _end_interrupted_move(self) -> None:
        if self._is_moving:
            self._end_recording()

    def _action_of(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if action is ProfilerAction.DEVICE_STOPPED:
            raise ValueError(
                "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a "
                "user-provided schedule"
            )
        return action

    def _move(self, previous: ProfilerAction, following: ProfilerAction | None) -> None:
        """Does what the transition asks for. Unknown ones ask for nothing."""
        self._is_moving = True
        if (previous, following) in WARNINGS:
            warn_caller(WARNINGS[previous, following])
        for name in TRANSITIONS.get((previous, following), ()):
            getattr(self, name)()
        if following is ProfilerAction.WARMUP and self.profiler is not None:
            self.profiler.warm_up()
        self._is_moving = False

    def _open_step(self) -> None:
        if self.record_steps and self.profiler is not None:
            self.step_rec_fn = self.profiler.step_scope(self.step_num)
            if self.step_rec_fn is not None:
                self.step_rec_fn.__enter__()

    def _close_step(self) -> None:
        scope, self.step_rec_fn = self.step_rec_fn, None
        if scope is not None:
            scope.__exit__(None, None, None)

    def _trace_ready(self) -> None:
        """Hands a recorded cycle to the callback, once."""
        unread, self._unread = self._unread, False
        if unread and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _loses_events(self) -> bool:
        return self.on_trace_ready is None or self._unread

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Takes effect for the next trace that is prepared."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The id of the current cycle's trace."""
        return None if self.profiler is None else self.profiler.trace_id

    def _stats(self) -> Any:
        """What profiling itself cost; None before preparation."""
        return None if self.profiler is None else self.profiler._stats


def switch_step_recording(prof: profile, enabled: bool) -> None:
    """Starts or stops recording the steps of a profile that is running; the current step begins or ends now."""
    if enabled:
        prof.record_steps = True
        prof._open_step()
    else:
        prof._close_step()
        prof.record_steps = False
