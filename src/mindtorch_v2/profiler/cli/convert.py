"""Converts a profile to another format, which the ending of OUT chooses.

.json .json.gz          Chrome trace, as PyTorch writes it
.pftrace                Perfetto's protocol buffers
.speedscope.json        speedscope, one profile per track
.pprof                  pprof (own time and calls by stack)
.collapsed.txt          collapsed stacks, for flamegraph.pl
.pickle                 memory snapshot, for pytorch.org/memory_viz
.csv .csv.gz .parquet   one line per event (Parquet needs pyarrow)
.html                   the page of `mindprof report`
.mindprof               a saved profile, which loads at once
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from ..store.event_store import EventStore
from .main import UsageError
from .source import open_profile
from .terminal import size

EXAMPLE = ("mindprof convert trace.json.gz trace.pftrace", "mindprof convert profile.mindprof flame.speedscope.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("input", metavar="IN", help="a saved profile, a trace, or torch_npu's output folder")
    parser.add_argument("output", metavar="OUT", help="the new file")


def run(options: argparse.Namespace) -> int:
    writer_for(options.output)  # a wrong ending is said before a large file is read
    write_as(open_profile(options.input), options.output)
    print(f"{options.output}: {size(os.path.getsize(options.output))}")
    return 0


def write_as(store: EventStore, path: str) -> None:
    """Writes a store in the format that the ending of the name asks for."""
    try:
        writer_for(path)(store, path)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{path!r}: {error}") from error


def writer_for(path: str) -> Callable[[EventStore, str], None]:
    """The function that writes files with this ending; UsageError for unknown ones."""
    name = os.path.basename(path).lower()
    for ending, writer in _WRITERS.items():
        if name.endswith(ending):
            return writer
    raise UsageError(f"{path!r}: the ending is none of {', '.join(_WRITERS)}")


def _chrome(store: EventStore, path: str) -> None:
    from ..export import chrome_trace

    chrome_trace.write(store, path)


def _perfetto(store: EventStore, path: str) -> None:
    from ..export import perfetto

    perfetto.write(store, path)


def _speedscope(store: EventStore, path: str) -> None:
    from ..export import speedscope

    speedscope.write(store, path)


def _pprof(store: EventStore, path: str) -> None:
    from ..export.folded import write_pprof

    write_pprof(store, path)


def _collapsed(store: EventStore, path: str) -> None:
    from ..export.folded import write_collapsed

    write_collapsed(store, path)


def _snapshot(store: EventStore, path: str) -> None:
    from ..export import memory_snapshot

    memory_snapshot.write(store, path)


def _csv(store: EventStore, path: str) -> None:
    from ..export.columns import write_csv

    write_csv(store, path)


def _parquet(store: EventStore, path: str) -> None:
    from ..export.columns import write_parquet

    write_parquet(store, path)


def _page(store: EventStore, path: str) -> None:
    from ..report import write

    write([(os.path.basename(path), store)], path)


def _save(store: EventStore, path: str) -> None:
    from ..store import storefile

    storefile.save(store, path)


_WRITERS: dict[str, Callable[[EventStore, str], None]] = {  # longer endings come first
    ".speedscope.json": _speedscope,
    ".json.gz": _chrome,
    ".json": _chrome,
    ".pftrace": _perfetto,
    ".perfetto-trace": _perfetto,
    ".pprof": _pprof,
    ".pb.gz": _pprof,
    ".collapsed.txt": _collapsed,
    ".pickle": _snapshot,
    ".csv.gz": _csv,
    ".csv": _csv,
    ".parquet": _parquet,
    ".html": _page,
    ".mindprof": _save,
    ".mtprof": _save,
}
