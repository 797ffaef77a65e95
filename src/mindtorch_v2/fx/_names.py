"""Names of functions in the text and code of graphs, and the name space of a graph."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from typing import Any

from .._dispatch.packets import OpOverload, OpOverloadPacket

PACKAGE = __name__.partition(".")[0]
# Where functions of this package are found; the first module that has the object under its name gives the name.
_MODULES = (
    "nn.functional",
    "",
    "linalg",
    "fft",
    "special",
    "nn.init",
    "_C._nn",
    "sparse",
    "nested",
    "func",
    "utils.checkpoint",
    "signal.windows",
    "functional",
    "autograd",
    "jit",
    "distributed",
)


def package_module(path: str) -> Any:
    """A module of this package that was imported, by its path below `torch`, or None."""
    return sys.modules.get(f"{PACKAGE}.{path}" if path else PACKAGE)


def module_and_name(target: Any) -> tuple[str, str] | None:
    """The module below `torch` that shows this very function, and its name there; None if no module does."""
    name = getattr(target, "__name__", None)
    if not isinstance(name, str):
        return None
    for path in _MODULES:
        module = package_module(path)
        if module is None:
            continue
        for known in (name.removeprefix(f"{path}_"), name):  # torch.linalg.norm calls itself linalg_norm
            if known and known.isidentifier() and _shows(module, known, target):
                return path, known
    return None


def _shows(module: Any, name: str, target: Any) -> bool:
    try:
        return getattr(module, name) is target
    except AttributeError:
        return False


def qualified_name(target: Any) -> str:
    """The name of a function from anywhere: "torch.relu", "operator.add", "builtins.getattr", "mymodule.f"."""
    if isinstance(target, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{target}"
    module = getattr(target, "__module__", None)
    if module == PACKAGE or (isinstance(module, str) and module.startswith(f"{PACKAGE}.")):
        found = module_and_name(target)
        if found is not None:
            return ".".join(part for part in ("torch", *found) if part)
        module = "torch" + module[len(PACKAGE) :]
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    if name is None:
        return repr(target)
    if getattr(builtins, name, None) is target:
        return f"builtins.{name}"
    if module == "_operator":
        module = "operator"
    if name == "<lambda>" or "<locals>" in name:
        name = getattr(target, "__name__", name)
    return f"{module}.{name}" if module else name


def snake_case(text: str) -> str:
    """ "LayerNorm" -> "layer_norm"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()


_NUMBERED = re.compile(r"(.*)_(\d+)$")
_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
_RESERVED = frozenset(
    {*keyword.kwlist, *dir(builtins), "inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"}
)


class Namespace:
    """The names that are taken in a graph. Objects keep the name that they got first."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._last: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A legal name like `candidate` that nothing else has: with a suffix at the end, where needed."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        name = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        match = _NUMBERED.match(name)
        base = name if match is None else match[1]
        if name in self._used_names or self._is_reserved(name, obj):
            suffix = self._last.get(base, 0) + 1
            while f"{base}_{suffix}" in self._used_names or self._is_reserved(f"{base}_{suffix}", obj):
                suffix += 1
            name = f"{base}_{suffix}"
            self._last[base] = suffix
        elif match is not None:
            self._last[base] = max(self._last.get(base, 0), int(match[2]))
        self._used_names.add(name)
        if obj is not None:
            self._obj_to_name[obj] = name
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Notes that an object has a name that is taken already."""
        self._obj_to_name.setdefault(obj, name)

    def _rename_object(self, obj: Any, name: str) -> None:
        self._obj_to_name[obj] = name
        self._used_names.add(name)

    @staticmethod
    def _is_reserved(name: str, obj: Any) -> bool:
        """Names of Python and of generated code are not for values; an object of Python keeps its own name."""
        if name not in _RESERVED:
            return False
        return obj is None or getattr(builtins, name, _RESERVED) is not obj
