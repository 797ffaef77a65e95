"""`torch.distributed.rendezvous`: where processes meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlparse

from . import _rendezvous
from .process_groups import default_pg_timeout, expected_rank_and_size
from .store import Store

__all__ = ["register_rendezvous_handler", "rendezvous"]


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[tuple[Store, int, int]]]) -> None:
    """Has `rendezvous` ask `handler(url, timeout=...)` for addresses that begin with `scheme://`."""
    if scheme in _rendezvous.handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _rendezvous.handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = default_pg_timeout, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    """Yields (store, rank, size) for an address: `env://`, `tcp://host:port`, `file:///path`."""
    scheme = urlparse(url).scheme
    if scheme in _rendezvous.handlers:
        yield from _rendezvous.handlers[scheme](url, timeout=timeout, **kwargs)
        return
    rank, world_size = _rendezvous.rank_and_size(url, *expected_rank_and_size(rank, world_size, url, None))
    if rank < 0 or world_size < 0:
        raise ValueError(f"Error initializing torch.distributed using {url}: the rank or the world size is missing")
    yield _rendezvous.open_store(url, rank, world_size, timeout), rank, world_size
