"""PyTorch's tensors without data that know their device.

None are made here; `device="meta"` gives tensors without data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake", "unset_fake_temporarily"]


class FakeTensor:
    """A tensor without data. There is none; `isinstance(x, FakeTensor)` is False."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("fake tensors are not made here; tensors on the meta device have no data")


class FakeTensorMode:
    """A block whose tensors have no data: refused. `with torch.device("meta")` is such a block."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("FakeTensorMode is not here; `with torch.device('meta')` makes tensors without data")


def is_fake(x: object) -> bool:
    """False: there are no fake tensors."""
    return False


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """A block without a mode of fake tensors, of which there is none."""
    yield None
