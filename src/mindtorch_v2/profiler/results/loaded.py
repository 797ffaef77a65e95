"""`load`: profiles from files, with what can be read from a profile that has just been recorded."""
from __future__ import annotations

import json
import os
from functools import cached_property
from typing import Any

from ..analysis.modules import ModuleReport, module_report
from ..analysis.validate import validate
from ..export import chrome_trace, memory_timeline
from ..load.reader import load_trace
from ..store import storefile
from ..store.event_store import EventStore
from ..store.files import ProfileFileError
from ..store.filters import shown_in_trace
from .event_list import EventList, build_events
from .event_list import key_averages as _key_averages
from .trim import ReturnsMemory

Path = str | os.PathLike[str]


def load(path: Path) -> LoadedProfile:
    """A profile from a file that `prof.save` wrote, or from a trace (".json", ".json.gz") that this profiler or PyTorch wrote.

    The events, tables and exports are those of a profile that has just been recorded; what ran on a GPU is attributed to the
    operators that launched it. OSError where there is no such file, ProfileFileError (a ValueError) where it is damaged,
    incomplete or something else.
    """
    with open(path, "rb") as file:
        start = file.read(len(storefile.MAGIC))
    if not start:
        raise ProfileFileError(path, "is empty")
    return LoadedProfile(storefile.load(path) if storefile.is_store_file(start) else load_trace(path), path)


class LoadedProfile:
    """The results of a profile, from a file. `store` holds the events, `path` is where they came from, `metadata` what was
    added to the profile (`add_metadata_json`, distributedInfo and the like)."""

    def __init__(self, store: EventStore, path: Path | None = None) -> None:
        self.store = store
        self.path = path
        options = store.metadata.options
        self.record_shapes, self.profile_memory = options.record_shapes, options.profile_memory
        self.with_stack, self.with_flops, self.with_modules = options.with_stack, options.with_flops, options.with_modules
        self.use_device = store.metadata.use_device

    def __del__(self) -> None:
        returned = ReturnsMemory.of(self.__dict__.get("store", ()))
        self.__dict__.clear()      # first the memory, then its return
        del returned

    @cached_property
    def metadata(self) -> dict[str, Any]:
        return {key: _parsed(text) for key, text in self.store.metadata.user.items()}

    @cached_property
    def _events(self) -> EventList:
        return build_events(self.store)

    def events(self) -> EventList:
        """The events, in the order of their start; the same list at every call."""
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The events summed up by name, and by input shapes, innermost stack frames or overloads where asked."""
        by = (group_by_input_shape, group_by_stack_n, group_by_overload_name)
        return self._events.key_averages(*by) if "_events" in self.__dict__ else _key_averages(self.store, *by)

    def table(self, *args: Any, **options: Any) -> str:
        """The averages as a table: `key_averages().table(...)`."""
        return self.key_averages().table(*args, **options)

    @property
    def dropped_events(self) -> int:
        """How many events a bound kept out of the profile."""
        return self.store.metadata.dropped_events

    def get_trace_id(self) -> str:
        return self.store.metadata.trace_id

    def export_chrome_trace(self, path: Path, use_python_export: bool = False) -> None:
        """Writes a trace for Perfetto, chrome://tracing or TensorBoard; compressed if the path ends in ".gz"."""
        chrome_trace.write(shown_in_trace(self.store), path)

    def export_stacks(self, path: Path, metric: str = "self_cpu_time_total") -> None:
        """Writes collapsed stacks, one `frame;frame value` per line, for flamegraph.pl and speedscope."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._events.export_stacks(path, metric)

    def export_memory_timeline(self, path: Path, device: str | None = None) -> None:
        """Writes the memory in use over time by category: JSON, ".json.gz", "raw.json.gz" or a self-contained ".html"."""
        memory_timeline.write(self.store, path, device)

    def module_report(self) -> ModuleReport:
        """What each nn.Module cost, forward and backward, as a tree."""
        return module_report(self.store)

    def validate(self) -> list[Any]:
        """Checks that the numbers hold together; returns what does not."""
        return validate(self.store)

    def save(self, path: Path) -> None:
        """Writes the profile to a file that `load` reads at once."""
        storefile.save(self.store, path)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        source = "" if self.path is None else f" from {os.fspath(self.path)!r}"
        return f"<LoadedProfile of {len(self.store)} rows{source}>"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
