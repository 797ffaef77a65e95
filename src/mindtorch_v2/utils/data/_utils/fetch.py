"""Fetching: from indices to a batch."""

from __future__ import annotations

from typing import Any


class _DatasetKind:
    """How a dataset gives its samples: by index, or one after the other."""

    Map, Iterable = 0, 1


def make_fetch(dataset: Any, is_iterable: bool, collate: Any, auto_batch: bool, drop_last: bool) -> Any:
    """A function from a list of indices (or one index) to a batch; StopIteration at the end of a stream."""
    if is_iterable:
        stream = iter(dataset)

        def fetch_stream(index: Any) -> Any:
            if not auto_batch:
                return collate(next(stream))
            batch = []
            for _ in index:
                try:
                    batch.append(next(stream))
                except StopIteration:
                    break
            if not batch or (drop_last and len(batch) < len(index)):
                raise StopIteration
            return collate(batch)

        return fetch_stream
    many = getattr(dataset, "__getitems__", None)

    def fetch(index: Any) -> Any:
        if not auto_batch:
            return collate(dataset[index])
        return collate(many(index) if callable(many) else [dataset[i] for i in index])

    return fetch
