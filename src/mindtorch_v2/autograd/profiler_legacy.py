"""`torch.autograd.profiler_legacy`: the oldest form of the profiler, kept for programs that name it."""

from __future__ import annotations

from os import PathLike
from types import TracebackType
from typing import Any

from ..profiler.results import autograd_profile
from ..profiler.results.event_list import EventList
from ..profiler.results.low_level import mark_legacy

__all__ = ["profile"]


class profile:
    """Records what runs inside a `with` block. Use `torch.profiler.profile` instead."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
    ) -> None:
        self.enabled = enabled
        if enabled:
            self._inner = autograd_profile.profile(
                use_cuda=use_cuda,
                record_shapes=record_shapes,
                with_flops=with_flops,
                profile_memory=profile_memory,
                with_stack=with_stack,
                with_modules=with_modules,
            )

    def config(self) -> Any:
        return self._inner.config()

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        self._inner.__enter__()
        mark_legacy(True)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        if self.enabled:
            mark_legacy(False)
            self._inner.__exit__(exc_type, exc_val, exc_tb)
            for event in self._inner.function_events:
                event.is_legacy = True

    @property
    def function_events(self) -> EventList | None:
        """The events; None until the block has ended."""
        return None if self._inner.store is None else self._inner.function_events

    def __repr__(self) -> str:
        return (
            "<unfinished profile.profiler_legacy.profile>" if self._inner.store is None else repr(self.function_events)
        )

    def __str__(self) -> str:
        return "<unfinished profile.profiler_legacy.profile>" if self._inner.store is None else self._inner.table()

    def _finished_profile(self) -> autograd_profile.profile:
        if self._inner.store is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._inner

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        return self._finished_profile().function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        return self._finished_profile().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> Any:
        return self._finished_profile().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self._finished_profile().self_cpu_time_total

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        self._finished_profile().export_chrome_trace(path)

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        self._finished_profile().export_stacks(path, metric)
