"""Modules of settings: names are fixed, values can be set, patched for a block, saved and loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any


class ConfigModule(ModuleType):
    """Setting a name that PyTorch's module has not is refused there; here any name is kept, because nothing acts on
    it anyway.
    """

    def patch(self, arg1: Any = None, arg2: Any = None, **kwargs: Any) -> contextlib.AbstractContextManager[None]:
        """A block, or decorator, with other values: `patch("name", value)`, `patch({"name": value})`,
        `patch(name=value)`.
        """
        changes = dict(arg1) if isinstance(arg1, dict) else {arg1: arg2} if arg1 is not None else {}
        return _patch_settings(self, {**changes, **kwargs})

    def save_config(self) -> bytes:
        """All values, pickled."""
        import pickle

        return pickle.dumps(self.get_config_copy())

    def load_config(self, data: bytes) -> None:
        """Sets the values that `save_config` gave."""
        import pickle

        self.__dict__.update(pickle.loads(data))

    def get_config_copy(self) -> dict[str, Any]:
        """The values by name."""
        return {
            n: v
            for n, v in self.__dict__.items()
            if not n.startswith("_") and not isinstance(v, ModuleType) and n not in _OWN
        }


_OWN = {"sys", "install", "annotations"}


@contextlib.contextmanager
def _patch_settings(module: ConfigModule, changes: dict[str, Any]) -> Iterator[None]:
    missing = object()
    before = {name: module.__dict__.get(name, missing) for name in changes}
    module.__dict__.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is missing:
                module.__dict__.pop(name, None)
            else:
                module.__dict__[name] = value


def install(module: ModuleType, public: str) -> None:
    """Makes a module of plain values a module of settings; `public` names it in errors."""

    def missing(name: str) -> Any:
        raise AttributeError(f"{public}.{name} does not exist")

    module.__dict__["__getattr__"] = missing
    module.__class__ = ConfigModule
