"""What a habit that costs time is searched by: `Pattern`, and what patterns ask of an event."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..record.enums import _EventType
from .event_fields import _TensorMetadata
from .event_tree import _ProfilerEvent
from .event_walk import source_code_location as _python_call
from .event_walk import traverse_dfs

if TYPE_CHECKING:
    from ..profiler import profile

_PACKAGE = __name__.partition(".")[0]


class Pattern:
    """A habit. Subclasses say what an event of it looks like (`match`)."""

    def __init__(self, prof: profile, should_benchmark: bool = False) -> None:
        self.prof = prof
        self.should_benchmark = should_benchmark
        self.name = "Please specify a name for pattern"
        self.description = "Please specify a description for pattern"
        self.url = ""
        if prof.profiler is None or prof.profiler.kineto_results is None:
            raise AssertionError("Expected profiler and kineto_results to be initialized")
        self.event_tree = prof.profiler.kineto_results.experimental_event_tree()
        self.tid_root: dict[int, list[_ProfilerEvent]] = {}
        for event in self.event_tree:
            self.tid_root.setdefault(event.start_tid, []).append(event)

    @property
    def skip(self) -> bool:
        """Whether the profile lacks what the pattern needs."""
        return False

    def match(self, event: _ProfilerEvent) -> bool:
        """Whether this is an event of the habit."""
        raise NotImplementedError

    def matched_events(self) -> list[_ProfilerEvent]:
        return [] if self.skip else [event for event in self.eventTreeTraversal() if self.match(event)]

    def eventTreeTraversal(self) -> Iterator[_ProfilerEvent]:
        """The events to look at, in the order in which they are tried."""
        yield from traverse_dfs(self.event_tree)

    def report(self, event: _ProfilerEvent) -> str:
        return f"{self.description}\n[Source Code Location] {source_code_location(event)}"

    def summary(self, events: list[_ProfilerEvent]) -> str:
        text = f"{self.name}: {len(events)} events matched."
        benefit = self.benchmark_summary(events) if self.should_benchmark else ""
        return f"{text}\n{benefit}" if benefit else text

    def benchmark_summary(self, events: list[_ProfilerEvent]) -> str:
        """What a change would bring, where the pattern can measure that."""
        return ""

    # ---- around an event ------------------------------------------------------------------------------------

    def root_of(self, event: _ProfilerEvent) -> _ProfilerEvent:
        while event.parent is not None:
            event = event.parent
        return event

    def siblings_of(self, event: _ProfilerEvent) -> tuple[list[_ProfilerEvent], list[_ProfilerEvent]]:
        """What stands before and after an event under the same parent, or among the roots of its thread."""
        family = event.parent.children if event.parent is not None else self.tid_root[event.start_tid]
        index = next(i for i, member in enumerate(family) if member is event)
        return family[:index], family[index + 1 :]

    def next_of(self, event: _ProfilerEvent) -> _ProfilerEvent | None:
        following = self.siblings_of(event)[1]
        return following[0] if following else None

    def prev_of(self, event: _ProfilerEvent) -> _ProfilerEvent | None:
        before = self.siblings_of(event)[0]
        return before[-1] if before else None

    def go_up_until(
        self, event: _ProfilerEvent | None, predicate: Callable[[_ProfilerEvent], bool]
    ) -> _ProfilerEvent | None:
        """The nearest event, this one included, that the predicate accepts; None where there is none."""
        while event is not None and not predicate(event):
            event = event.parent
        return event


class NamePattern(Pattern):
    """Events of one name."""

    def __init__(self, prof: profile, name: str, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.description = f"Matched Name Event: {name}"
        self.name = name

    def match(self, event: _ProfilerEvent) -> bool:
        return re.search(self.name, event.name) is not None


def source_code_location(event: _ProfilerEvent | None) -> str:
    """The innermost Python call around an event that is the program's own."""
    while event is not None:
        if event.tag is _EventType.PyCall and ".py(" in event.name and not is_of_package(event):
            return event.name
        event = event.parent
    return _python_call(None)


def is_of_package(event: _ProfilerEvent) -> bool:
    """Whether a Python call belongs to this package: a module's call, or a function in one of its files."""
    return event.name.startswith(("nn.Module: ", f"{_PACKAGE}/"))


def input_shapes(event: _ProfilerEvent) -> tuple[tuple[int, ...], ...]:
    """The sizes of the tensors that went in; () for other arguments."""
    return tuple(tuple(x.sizes) if isinstance(x, _TensorMetadata) else () for x in event.extra_fields.inputs)


def input_dtypes(event: _ProfilerEvent) -> tuple[Any, ...]:
    """The types of the tensors that went in; None for other arguments."""
    return tuple(getattr(x, "dtype", None) for x in event.extra_fields.inputs)
