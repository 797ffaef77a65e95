"""Checkpoints without the contents of their tensors: `torch.serialization.skip_data`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

SKIPPING: list[bool] = []  # one entry for every open block


@contextlib.contextmanager
def skip_data(materialize_fake_tensors: bool = False) -> Iterator[None]:
    """A block in which `torch.save` writes zeros instead of what tensors hold, and `torch.load` makes tensors
    without reading what they held.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> _ = file.seek(0)
    >>> with torch.serialization.skip_data():
    ...     torch.load(file).shape
    torch.Size([2])
    """
    SKIPPING.append(True)
    try:
        yield
    finally:
        SKIPPING.pop()
