"""`Results`: everything that can be asked of one store."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..._dispatch.modes import call_locked
from ..store import storefile
from ..store.event_store import EventStore
from ..store.filters import shown_in_trace
from .trim import TrimAtDeath

if TYPE_CHECKING:
    from ..analysis.modules import ModuleReport
    from ..export.memory_timeline import MemoryProfileTimeline
    from .event_list import EventList
    from .event_tree import Tree
    from .memory_profiler import MemoryProfile

Path = str | os.PathLike[str]
_building = threading.RLock()  # held while a store is made, so that it is made once


class Results:
    """Events, averages, reports and files of one store. Finished profiles, loaded files and PyTorch's low-level
    results are all read through one of these.

    `source` is the store, or a function that makes it: it is called once, when the store is first needed, so that
    ending a profile costs nothing per event.
    """

    def __init__(self, source: EventStore | Callable[[], EventStore]) -> None:
        self._store: EventStore | None = None
        self._build: Callable[[], EventStore] | None = None
        if isinstance(source, EventStore):
            self._store = source
        else:
            self._build = source

    def __del__(self) -> None:
        trim = TrimAtDeath.of(self.__dict__.get("_store") or ())
        self.__dict__.clear()  # the store goes first: then its memory can be given back
        del trim

    @property
    def store(self) -> EventStore:
        """The columns that all answers are computed from."""
        if self._build is not None:
            call_locked(_building, self._make_store)
        assert self._store is not None
        return self._store

    def _make_store(self) -> None:
        if self._build is not None:
            self._store, self._build = self._build(), None

    @property
    def is_built(self) -> bool:
        """Whether the store has been made."""
        return self._build is None

    # --- events and averages ----------------------------------------------------------------------------------------
    @cached_property
    def _events(self) -> EventList:
        from .event_list import build_events

        return build_events(self.store)

    def events(self) -> EventList:
        """The events, in the order of their start; the same list at every call."""
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events summed up by name, and by input shapes, innermost stack frames or overloads where asked. While
        nobody has asked for the events themselves they are not made.
        """
        by = (group_by_input_shape, group_by_stack_n, group_by_overload_name)
        from .event_list import key_averages

        return self._events.key_averages(*by) if "_events" in self.__dict__ else key_averages(self.store, *by)

    def table(self, *args: Any, **options: Any) -> str:
        """The averages as a table: `key_averages().table(...)`."""
        return self.key_averages().table(*args, **options)

    # --- reports ----------------------------------------------------------------------------------------------------
    @cached_property
    def event_tree(self) -> Tree:
        """The tree of everything recorded: operators, annotations, Python calls, allocations."""
        from .event_tree import Tree  # few programs ask for it

        return Tree(self.store)

    def memory_profile(self) -> MemoryProfile:
        """Which block of memory was there when, and what it was for."""
        from .memory_profiler import MemoryProfile

        return MemoryProfile(self.store)

    def module_report(self) -> ModuleReport:
        """What each nn.Module cost, forward and backward, as a tree; `print(....table())` shows it."""
        from ..analysis.modules import module_report

        return module_report(self.store)

    def validate(self) -> list[Any]:
        """Checks that the numbers hold together; returns what does not."""
        from ..analysis.validate import validate

        return validate(self.store)

    @property
    def dropped_events(self) -> int:
        """How many events a bound kept out of the profile."""
        return self.store.metadata.dropped_events

    def get_trace_id(self) -> str:
        return self.store.metadata.trace_id

    def start_ns(self) -> int:
        """When the window began, in nanoseconds since 1970."""
        return self.store.metadata.start_ns + self.store.metadata.epoch_offset_ns

    # --- files ------------------------------------------------------------------------------------------------------
    def export_chrome_trace(
        self, path: Path, use_python_export: bool = False, metadata: Mapping[str, str] | None = None
    ) -> None:
        """Writes a trace for Perfetto, chrome://tracing or TensorBoard; compressed if the path ends in ".gz".
        `metadata` adds keys with JSON texts. There is one exporter: `use_python_export` changes nothing.
        """
        store = self.store
        if metadata:
            store = store.with_metadata(user={**store.metadata.user, **metadata})
        from ..export import chrome_trace

        chrome_trace.write(shown_in_trace(store), path)

    def export_stacks(self, path: Path, metric: str = "self_cpu_time_total") -> None:
        """Writes collapsed stacks, one `frame;frame value` per line, for flamegraph.pl and speedscope."""
        if not self.store.metadata.options.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.events().export_stacks(path, metric)

    def export_memory_timeline(self, path: Path, device: str | None = None) -> MemoryProfileTimeline:
        """Writes the memory in use over time by category: JSON, ".json.gz", "raw.json.gz" or a self-contained
        ".html". Returns what was written.
        """
        from ..export import memory_timeline

        return memory_timeline.write(self.store, path, device)

    def export_report(self, path: Path) -> None:
        """Writes one self-contained HTML page: where the time of a step goes, operators, flame graphs, timeline,
        modules, memory, devices and advice. It needs no network and no server.
        """
        from ..report import write

        write([(os.path.basename(os.fspath(path)), self.store)], path)

    def save(self, path: Path) -> None:
        """Writes the events to a compact file that `profiler.load` reads at once."""
        storefile.save(self.store, path)
