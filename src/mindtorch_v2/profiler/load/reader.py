"""Traces in JSON, as this profiler and PyTorch write them, as stores.

Events are collected into columns, in C where that was built (`native_reader`, `_kineto_collector`); `_kineto_store`
makes a store of them.
"""

from __future__ import annotations

import os

from ..store.event_store import EventStore
from ..store.files import ProfileFileError, collector_paused
from . import native_reader
from .build import build
from .collector import Collector
from .json_stream import read_trace


def load_trace(path: str | os.PathLike[str]) -> EventStore:
    """The store of a trace file. ProfileFileError, with the file's name, for what cannot be read as one."""
    with collector_paused():
        try:
            collector = native_reader.read(path) or _read(path, exact=False)
            # an older form: microseconds since 1970 with decimals, which no double holds
            if collector.lost_digits:
                collector = _read(path, exact=True)
            return build(collector.collected())
        except ProfileFileError:
            raise
        except (OverflowError, TypeError, ValueError) as error:
            raise ProfileFileError(path, f"has numbers that make no sense ({error})") from error
        except RecursionError as error:
            raise ProfileFileError(path, "its values are nested too deeply") from error
        except MemoryError as error:
            raise ProfileFileError(path, "does not fit into memory") from error


def _read(path: str | os.PathLike[str], exact: bool) -> Collector:
    collector = Collector()
    take, index = collector.take, 0
    for what, key, value in read_trace(path, exact):
        if what == "member":
            collector.head[key] = value
            continue
        try:
            take(value)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            problem = f"lacks {error}" if isinstance(error, KeyError) else str(error)[:200]
            raise ProfileFileError(path, f"event {index} of the trace makes no sense: {problem}") from error
        index += 1
    return collector
