"""PyTorch's switch that lets Python choose kernels. Here it always does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["enable_python_dispatcher", "no_python_dispatcher"]


@contextlib.contextmanager
def enable_python_dispatcher() -> Iterator[None]:
    """A block like any other: calls are dispatched in Python already.

    >>> from mindtorch_v2._dispatch.python import enable_python_dispatcher
    >>> with enable_python_dispatcher():
    ...     torch.ones(1) + 1
    tensor([2.])
    """
    yield


no_python_dispatcher = enable_python_dispatcher
