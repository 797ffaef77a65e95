"""Modules whose parts are imported when a program first asks for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_parts(
    module: str, submodules: Iterable[str] = (), names: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module that imports `submodules` and `names` when they are asked for.

    `names` says where each name is found: a module, counted from the root of this package, and after a colon its name
    there if it is another one. All are listed by `dir`, and a name is kept once it was found.

    A module writes `__getattr__, __dir__ = lazy_parts(__name__, ("parallel",), {"DataParallel": "nn.parallel"})`.
    """
    root = __name__.partition(".")[0]
    sources = dict.fromkeys(submodules, "") | dict(names or {})

    def find(name: str) -> Any:
        if name not in sources:
            public = module.replace(root, "torch", 1)
            raise AttributeError(f"module '{public}' has no attribute '{name}'")
        where, _, original = sources[name].partition(":")
        if not where:
            return import_module(f"{module}.{name}")
        found = getattr(import_module(f"{root}.{where}"), original or name)
        setattr(sys.modules[module], name, found)
        return found

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[module]), *sources})

    return find, listed
