"""The stubs of `torch`, `torch.nn.functional`, `torch.linalg` and others: operators from the op table, the rest from
its own module.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import types
from typing import Any

import words

import mindtorch_v2
from mindtorch_v2._dispatch.namespace import fronts, function_of
from mindtorch_v2._ops import table

PACKAGE = pathlib.Path(mindtorch_v2.__file__).parent
_CONSTANTS = {
    "dtype": "_DType",
    "float": "_float",
    "memory_format": "_MemoryFormat",
    "layout": "_Layout",
    "Generator": "_Generator",
    "NoneType": "None",
    "str": "_str",
    "int": "_int",
    "bool": "_bool",
    "dict": "dict[_str, _Any]",
    "TypedConstructor": "_TypedConstructor",
}


def _module_of(value: Any) -> str | None:
    """The module of the package in which a function or class is written, whatever name it is published under."""
    code = getattr(value, "__code__", None)
    if code is not None:
        path = pathlib.Path(code.co_filename)
        if PACKAGE not in path.parents:
            return None
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return value.__module__ if str(getattr(value, "__module__", "")).startswith("mindtorch_v2.") else None


def _relative(module: str, package: str) -> str:
    """`mindtorch_v2.nn.init` as seen from a module of the package `mindtorch_v2.nn`: `.init`."""
    here, there = package.split("."), module.split(".")
    shared = 0
    while shared < min(len(here), len(there)) and here[shared] == there[shared]:
        shared += 1
    return "." * (len(here) - shared + 1) + ".".join(there[shared:])


def _imported(name: str, value: Any, package: str) -> str | None:
    value = inspect.unwrap(value) if callable(value) else value  # what a decorator put around it has its types
    module = _module_of(value)
    own = getattr(value, "__name__", name)
    found = importlib.import_module(module) if module else None
    if found is None or module == package:
        return None
    source = next((word for word in (own, name) if inspect.unwrap(getattr(found, word, None)) is value), None)
    if source != name:  # only `import x as x` shows a name to others
        return None
    return f"from {_relative(found.__name__, package)} import {name} as {name}"


def entry(name: str, value: Any, base: str | None, package: str) -> list[str]:
    """The lines that declare one public name; `base` is the operator that it may be."""
    if isinstance(value, types.ModuleType):
        return [
            f"from {_relative(value.__name__.rpartition('.')[0], package)} import "
            f"{value.__name__.rpartition('.')[2]} as {name}"
        ]
    if type(value).__name__ in _CONSTANTS:
        return [f"{name}: {_CONSTANTS[type(value).__name__]}"]
    is_operator = base in table.OVERLOADS and base not in fronts and value is function_of(base, "function")
    imported = None if is_operator else _imported(name, value, package)
    if imported:
        return [imported]
    if base in table.OVERLOADS:
        return words.definitions(
            name, [op for op in table.OVERLOADS[base] if op.function] or table.OVERLOADS[base], "function"
        )
    if inspect.isfunction(value):
        return [words.by_annotations(name, value)]
    return [f"{name}: _Any"]


def stub(module: Any, names: list[str], operators: dict[str, str], package: str, extra: list[str]) -> str:
    """The whole stub of a module: imports first, then values, then functions."""
    lines = [line for name in names for line in entry(name, getattr(module, name), operators.get(name), package)]
    lines += extra
    imports = sorted(line for line in lines if line.startswith("from "))
    dots = _relative("mindtorch_v2", package)
    others = [line for line in lines if not line.startswith("from ")]
    head = words.imports(dots, "\n".join(others))
    head = [line for line in head if f"{line} as Tensor" not in imports]
    return "\n".join([words.HEADER, *head, *imports, "", *others]).rstrip() + "\n"


def public(module: Any) -> list[str]:
    """The public names of a module that are its own, in order."""
    foreign = ("annotations", "Any")
    return [
        name
        for name in sorted(dir(module))
        if not name.startswith("_")
        and name not in foreign
        and not getattr(getattr(module, name), "__module__", "").startswith(("typing", "collections"))
    ]
