"""Objects that hold tensors with a purpose: modules and optimizers. They are known while they live, by whoever made
them (a constructor, a copy, unpickling), so that a memory profile can say what a block is for.
"""

from __future__ import annotations

import weakref
from typing import Any


class Owners:
    """Live objects of one kind, held weakly. They need not be hashable."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Any]] = {}

    def add(self, owner: Any) -> None:
        key = id(owner)
        forget = self._known.pop
        self._known[key] = weakref.ref(owner, lambda _: forget(key, None))

    def alive(self) -> list[Any]:
        return [owner for owner in [known() for known in list(self._known.values())] if owner is not None]


modules = Owners()
optimizers = Owners()
