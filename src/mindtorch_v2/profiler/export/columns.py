"""All events as a table: CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import io
import os
from typing import Any

from ..._files import atomic_file
from ..analysis.values import plain_shapes
from ..record.kinds import Kind
from ..store.event_store import EventStore
from .atomic import atomic_writer

_CHUNK = 16384
HEADS = (
    "row",
    "name",
    "kind",
    "start_ns",
    "duration_ns",
    "parent",
    "thread",
    "device",
    "step",
    "sequence_nr",
    "correlation",
    "shapes",
    "module",
    "line",
)


def table(store: EventStore, first: int = 0, last: int | None = None) -> dict[str, list[Any]]:
    """Columns of the rows [first, last)."""
    rows = slice(first, len(store) if last is None else last)
    shapes = [str(plain_shapes(inputs.shapes)) for inputs in store.inputs]
    modules = [module.path or module.type_name for module in store.modules]
    kinds = [kind.name.lower() for kind in Kind]
    threads = [thread.name for thread in store.threads]
    devices = [thread.device for thread in store.threads]
    frames, nodes = store.stacks.frame, store.stack[rows].tolist()
    return {
        "row": list(range(rows.start, rows.stop)),
        "name": [store.strings[i] for i in store.name[rows].tolist()],
        "kind": [kinds[i] for i in store.kind[rows].tolist()],
        "start_ns": store.start_ns[rows].tolist(),
        "duration_ns": (store.end_ns[rows] - store.start_ns[rows]).tolist(),
        "parent": store.parent[rows].tolist(),
        "thread": [threads[i] for i in store.thread[rows].tolist()],
        "device": [devices[i] for i in store.thread[rows].tolist()],
        "step": store.step[rows].tolist(),
        "sequence_nr": store.sequence_nr[rows].tolist(),
        "correlation": store.correlation[rows].tolist(),
        "shapes": [shapes[i] if i >= 0 else "" for i in store.columns["inputs"][rows].tolist()],
        "module": [modules[i] if i >= 0 else "" for i in store.module[rows].tolist()],
        "line": [store.strings[frames[i]] if i >= 0 else "" for i in nodes],
    }


def write_csv(store: EventStore, path: str | os.PathLike[str]) -> None:
    """One line per event; texts that spreadsheets would take for formulas begin with an apostrophe."""
    with atomic_writer(path) as out:
        for first in range(0, max(len(store), 1), _CHUNK):
            text = io.StringIO(newline="")
            writer = csv.writer(text)
            if not first:
                writer.writerow(HEADS)
            columns = table(store, first, min(first + _CHUNK, len(store)))
            writer.writerows(
                zip(
                    *(
                        [_harmless(v) for v in columns[h]] if h in ("name", "thread", "module", "line") else columns[h]
                        for h in HEADS
                    )
                )
            )
            out.write(text.getvalue())


def _harmless(text: str) -> str:
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def write_parquet(store: EventStore, path: str | os.PathLike[str]) -> None:
    """The same as Parquet; ImportError, which says what to install, where pyarrow is not there."""
    try:
        import pyarrow  # type: ignore[import-not-found]
        import pyarrow.parquet  # type: ignore[import-not-found]
    except ImportError as error:
        raise ImportError("writing Parquet needs pyarrow: pip install 'mindtorch-v2[parquet]'") from error
    columns = {
        head: [_text(v) for v in values] if head in ("name", "line") else values
        for head, values in table(store).items()
    }
    with atomic_file(path) as out:
        pyarrow.parquet.write_table(pyarrow.table(columns), out)


def _text(value: str) -> str:
    return value.encode("utf-8", "backslashreplace").decode("utf-8")
