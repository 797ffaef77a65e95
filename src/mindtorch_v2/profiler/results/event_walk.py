"""Walking the event tree, and which events keep a device waiting: `torch.profiler._utils`."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ... import _accelerators


@cache
def _launch() -> re.Pattern[str]:
    """The names of calls into runtimes that put work onto devices."""
    prefixes = [
        "cuda",
        "cu",
        "hip",
        *(prefix for backend in _accelerators.all_backends() for prefix in backend.runtime_prefixes),
    ]
    return re.compile(rf"({'|'.join(prefixes)})\w*(Launch|Memcpy|Memset)\w*", re.IGNORECASE)


_SOURCE = re.compile(r"\.py\(\d+\)")
_PEAK = 4  # a queue of so many launches is one that the host keeps filled
_WEIGHT_OF_SELF_TIME = 0.6
NOWHERE = "No source code location found"


def traverse_dfs(
    tree: Iterable[Any], children_fn: Callable[[Any], Iterable[Any]] = lambda node: node.children, reverse: bool = False
) -> Iterator[Any]:
    """The nodes of trees, parents before children, one branch after the other."""

    def in_order(nodes: Iterable[Any]) -> list[Any]:
        return list(nodes) if reverse else list(nodes)[::-1]

    stack = in_order(tree)
    while stack:
        node = stack.pop()
        yield node
        stack += in_order(children_fn(node))


def traverse_bfs(
    tree: Iterable[Any], children_fn: Callable[[Any], Iterable[Any]] = lambda node: node.children, reverse: bool = False
) -> Iterator[Any]:
    """The nodes of trees, level by level."""
    queue = deque(list(tree)[::-1] if reverse else tree)
    while queue:
        node = queue.popleft()
        yield node
        children = list(children_fn(node))
        queue += children[::-1] if reverse else children


@dataclass
class EventMetrics:
    """What is known of an event: its time, that of itself alone, how long the device was idle meanwhile, and how
    many launches were waiting when it began.
    """

    duration_time_ns: int = 0
    self_time_ns: int = 0
    idle_time_ns: int = 0
    queue_depth: int = 0

    @property
    def fraction_idle_time(self) -> float:
        return self.idle_time_ns / self.duration_time_ns if self.duration_time_ns else 0.0


@dataclass
class Interval:
    """A span of time, and how many launches were waiting from its start on."""

    start: int
    end: int
    queue_depth: int = 0


class EventKey:
    """An event as a key: two are equal if they stand for the same event."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def __hash__(self) -> int:
        return hash(self.event.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventKey) and self.event.id == other.event.id

    def __repr__(self) -> str:
        return f"{self.event.name}"

    def intervals_overlap(self, intervals: Sequence[Interval]) -> int:
        """How long the event lies inside the intervals; where those overlap one another, time counts once."""
        covered, at = 0, self.event.start_time_ns
        for interval in sorted(intervals, key=lambda i: i.start):
            start, end = max(at, interval.start), min(interval.end, self.event.end_time_ns)
            if start < end:
                covered, at = covered + end - start, end
        return covered


class BasicEvaluation:
    """Metrics of every event of a profile (the inner one: `prof.profiler`).

    metrics           `EventKey` -> `EventMetrics`
    cuda_events       launches and kernels, in the order of time
    queue_depth_list  how many launches were waiting after each of those
    """

    def __init__(self, prof: Any) -> None:
        self.profile = prof
        self.events = list(traverse_dfs(prof.kineto_results.experimental_event_tree()))
        self.events.sort(key=lambda event: event.start_time_ns)
        self.event_keys = [EventKey(event) for event in self.events]
        self.metrics: dict[EventKey, EventMetrics] = {}
        self.compute_self_time()
        self.cuda_events: list[Any] = []
        self.queue_depth_list = self.compute_queue_depth()
        self.compute_idle_time()

    def compute_self_time(self) -> None:
        """Elapsed time less that of the children, for every event."""
        for key in self.event_keys:
            event = key.event
            own = event.duration_time_ns - sum(child.duration_time_ns for child in event.children)
            self.metrics[key] = EventMetrics(duration_time_ns=event.duration_time_ns, self_time_ns=own)

    def compute_queue_depth(self) -> list[Interval]:
        """The number of launches that wait for the device, after each launch and each start of a kernel. Events get
        the number that held when they began.
        """
        if self.profile.kineto_results is None:
            raise AssertionError("Expected kineto_results to be set")
        found = [event for event in self.profile.kineto_results.events() if _is_device_work(event) or _is_launch(event)]
        self.cuda_events = sorted(found, key=lambda event: event.start_ns())
        launched = {event.linked_correlation_id() for event in found if _is_launch(event)}
        depths, waiting = [], 0
        for event in self.cuda_events:
            if not _is_device_work(event):
                waiting += 1
            elif event.linked_correlation_id() in launched:
                waiting -= 1
            depths.append(Interval(event.start_ns(), event.start_ns() + event.duration_ns(), waiting))
        self._note_depths(depths)
        return depths

    def _note_depths(self, depths: list[Interval]) -> None:
        starts = np.array([depth.start for depth in depths], np.int64)
        for key in self.event_keys:
            last = int(np.searchsorted(starts, key.event.start_time_ns, "right")) - 1
            self.metrics[key].queue_depth = depths[last].queue_depth if last >= 0 else 0

    def compute_idle_time(self) -> None:
        """How long the device had nothing to do while each event ran."""
        if not self.queue_depth_list or not self.events:
            return
        idle = [Interval(self.events[0].start_time_ns, self.queue_depth_list[0].start)]
        following = [*self.queue_depth_list[1:], None]
        for depth, after in zip(self.queue_depth_list, following):
            if depth.queue_depth == 0:
                idle.append(Interval(depth.end, self.events[-1].end_time_ns if after is None else after.start))
        idle = [interval for interval in idle if interval.start < interval.end]
        for key in self.event_keys:
            self.metrics[key].idle_time_ns = key.intervals_overlap(idle)

    def rank_events(self, length: int) -> list[EventKey]:
        """The events during which a well filled queue ran empty, those first that look most worth making faster: the
        device idled for much of their time, and they took long themselves.
        """
        falls = self._falls()
        suspects = [key for key in self.metrics if key.intervals_overlap(falls)]
        if not suspects:
            return []
        idle = _standardise([self.metrics[key].fraction_idle_time for key in suspects])
        own = _standardise([self.metrics[key].self_time_ns for key in suspects])
        order = np.argsort(-(idle + _WEIGHT_OF_SELF_TIME * own), kind="stable")
        return [suspects[i] for i in order[:length].tolist()]

    def _falls(self) -> list[Interval]:
        """The spans from the peak of a filled queue to when it was empty."""
        found: list[Interval] = []
        peak: Interval | None = None
        for depth in self.queue_depth_list:
            if depth.queue_depth == 0:
                if peak is not None and peak.queue_depth >= _PEAK:
                    found.append(Interval(peak.start, depth.start))
                peak = None
            elif peak is None or depth.queue_depth >= peak.queue_depth:
                peak = depth
        return found

    def get_optimizable_events(self, length: int = 1, print_enable: bool = True) -> list[EventKey]:
        """The first `length` events of `rank_events`; a report of them is printed unless `print_enable` is False."""
        found = self.rank_events(length)
        if print_enable:
            print(self._report(found))
        return found

    def _report(self, found: list[EventKey]) -> str:
        if not found:
            return "No events to optimize\n"
        rule = "-" * 80
        lines = ["Optimizable events:", rule]
        for key in found:
            metrics = self.metrics[key]
            lines += [
                f"Event:                {key}",
                f"Source code location: {source_code_location(key.event)}",
                f"Percentage idle time: {metrics.fraction_idle_time * 100:.2f}%",
                rule,
            ]
        return "\n".join(lines) + "\n"


def _name(event: Any) -> str:
    return event.name() if callable(event.name) else event.name


def _is_device_work(event: Any) -> bool:
    return event.device_type().name != "CPU"


def _is_launch(event: Any) -> bool:
    return not _is_device_work(event) and _launch().fullmatch(_name(event)) is not None


def _standardise(values: Sequence[float]) -> np.ndarray:
    """The values in deviations from their mean; zeros where all are the same."""
    array = np.array(values, np.float64)
    deviation = array.std(ddof=1) if len(array) > 1 else 0.0
    return (array - array.mean()) / deviation if deviation else np.zeros(len(array))


def index_of_first_match(
    seq: Sequence[Any], predicate: Callable[[Any], bool], start: int = 0, end: int | None = None
) -> int | None:
    """The first index in [start, end) whose element the predicate accepts, or None."""
    stop = len(seq) if end is None or end >= len(seq) else end
    return next((i for i in range(start, stop) if predicate(seq[i])), None)


def argmax(
    seq: Sequence[Any], key: Callable[[Any], Any] = lambda x: x, start: int = 0, end: int | None = None
) -> int | None:
    """The index of the largest element in [start, end), the first of several; None where there is none."""
    indices = range(start, len(seq) if end is None else min(end, len(seq)))
    return max(indices, key=lambda i: key(seq[i])) if indices else None


def source_code_location(event: Any) -> str:
    """The innermost Python call around an event."""
    while event is not None:
        if _SOURCE.search(event.name) is not None:
            return str(event.name)
        event = event.parent
    return NOWHERE
