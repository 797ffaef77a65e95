"""A `FunctionEvent` as a mapping: the keys that it answers to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..analysis.source import KIND_NAMES


def _kind(event: Any) -> str:
    if event._source.is_store:
        return KIND_NAMES[event._source.kind[event._index]]
    return "scope" if event.is_user_annotation else "op"


def _nanoseconds(column: str) -> Callable[[Any], int]:
    def read(event: Any) -> int:
        if event._source.is_store:
            return getattr(event._source, f"{column}_ns")[event._index]
        return round(getattr(event.time_range, column) * 1000)

    return read


_start_ns, _end_ns = _nanoseconds("start"), _nanoseconds("end")
_KEYS: dict[str, Callable[[Any], Any]] = {
    "name": lambda event: event.name,
    "kind": _kind,
    "device_type": lambda event: event.device_type.name,
    "step": lambda event: event._source.step[event._index],
    "thread_id": lambda event: event.device_resource_id,
    "start_ns": _start_ns,
    "end_ns": _end_ns,
    "duration_ns": lambda event: _end_ns(event) - _start_ns(event),
    "correlation_id": lambda event: event.id,
}


class EventMapping:
    """The part of an event that is a mapping. `_source` and `_index` are those of the event."""

    __slots__ = ()
    _source: Any
    _index: int

    def keys(self) -> list[str]:
        """The keys that this event answers to; what was not recorded is not among them."""
        keys = list(_KEYS)
        if not self._source.is_store:
            return [key for key in keys if key != "step"] + [
                key for key in ("input_shapes", "stack") if getattr(self, key) is not None
            ]
        metadata = self._source.tree.store.metadata
        keys += ["input_shapes"] * metadata.options.record_shapes + ["stack"] * metadata.options.with_stack
        if metadata.options.profile_memory:
            for device in ("cpu", *([metadata.use_device] if metadata.use_device else ())):
                keys += [f"{device}_memory_allocated_{moment}" for moment in ("before", "after", "delta")]
        return keys

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __getitem__(self, key: str) -> Any:
        simple = _KEYS.get(key)
        if simple is not None and (self._source.is_store or key != "step"):
            return simple(self)
        if not isinstance(key, str) or key not in self:
            raise KeyError(key)
        if key in ("input_shapes", "stack"):
            return getattr(self, key)
        before, after = self._source.live_bytes(self._index, key.startswith("cpu_"))
        return {"before": before, "after": after, "delta": after - before}[key.rpartition("_")[2]]

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default
