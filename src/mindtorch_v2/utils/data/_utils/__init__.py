"""What loaders are made of, under the names that libraries import it by."""

from . import collate, fetch, pin_memory, worker

__all__ = ["collate", "fetch", "pin_memory", "worker"]
