"""The stub of Tensor's methods: operators from the op table, the others from tensor_methods.txt or their own
annotations.
"""

from __future__ import annotations

import inspect
import pathlib
import re

from words import HEADER, body, by_annotations, class_name, definitions, imports, plain

from mindtorch_v2 import Tensor
from mindtorch_v2._dispatch.namespace import OPERATORS, LazyMethod
from mindtorch_v2._ops import table
from mindtorch_v2._ops.signatures import signatures

_WRITTEN = (pathlib.Path(__file__).parent / "tensor_methods.txt").read_text()
_WRITTEN_NAMES = frozenset(re.findall(r"^def (\w+)", _WRITTEN, re.M))
_REFLECTED = (
    "__rtruediv__",
    "__rpow__",
    "__rfloordiv__",
    "__rmod__",
    "__rmatmul__",
    "__rlshift__",
    "__rrshift__",
    "__rand__",
    "__ror__",
    "__rxor__",
)
_COMPARED = ("__eq__", "__ne__")


def op_methods() -> list[str]:
    """Methods that are operators, by name."""
    lines: list[str] = []
    for name in sorted(table.OVERLOADS):
        overloads = [op for op in table.OVERLOADS[name] if op.method]
        if overloads and not name.startswith("_") and name not in _WRITTEN_NAMES and name not in _own_names():
            lines += definitions(name, overloads, "method")
    return lines


def _own_names() -> set[str]:
    """What the class statement in _tensor.py itself defines."""
    tree = inspect.getsource(Tensor)
    return set(re.findall(r"^    def (\w+)", tree, re.M)) | set(re.findall(r"^    (\w+) = ", tree, re.M))


def operators() -> list[str]:
    """The methods behind `+`, `<` and so on."""
    lines = []
    for name in sorted({*OPERATORS, *_REFLECTED, "__invert__"}):
        if name in ("__neg__", "__abs__", "__pos__", "__invert__"):
            lines.append(f"def {name}(self) -> Tensor: ...")
        else:
            other = "_Any" if name in _COMPARED else "Tensor | _Number"
            lines.append(f"def {name}(self, other: {other}) -> Tensor: ...")
    return lines


def python_methods() -> list[str]:
    """Methods written in Python that tensor_methods.txt does not describe, by their annotations."""
    lines = []
    for name in sorted(dir(Tensor)):
        value = inspect.getattr_static(Tensor, name)
        known = name in _WRITTEN_NAMES or name in _own_names() or name.startswith("_") or name in vars(object)
        if (
            known
            or isinstance(value, LazyMethod)
            or name in table.OVERLOADS
            and any(op.method for op in table.OVERLOADS[name])
        ):
            continue
        if isinstance(value, property):
            lines += ["@property", f"def {name}(self) -> {plain(inspect.signature(value.fget).return_annotation)}: ..."]
        elif isinstance(value, bool):
            lines.append(f"{name}: _bool")
        elif inspect.isfunction(value):
            lines.append(by_annotations(name, value, is_method=True))
    return lines


def stub() -> str:
    """The whole of _op_methods.pyi."""
    written = [line for line in _WRITTEN.splitlines() if not line.startswith("#")]
    lines = [
        "class OpMethods:",
        '    """The methods of a tensor that the op table and other modules add to the class."""',
        "",
        *body(op_methods()),
        "",
        *body(operators()),
        *body(written),
        *body(python_methods()),
    ]
    head = [
        "import builtins",
        "from collections.abc import Callable, Iterator",
        "from typing import Literal, TypeVar",
        *imports(".", "\n".join(lines)),
        "",
        '_S = TypeVar("_S")',
        "",
    ]
    return "\n".join([HEADER, *head, *lines]).rstrip() + "\n"


def return_types() -> str:
    """The whole of _return_types.pyi: named tuples of ops with several results."""
    found: dict[str, tuple[str, ...]] = {}
    for op in table.OPS.values():
        signature = signatures(op, "function")[0]
        if signature.fields:
            found[class_name(op.base, signature)] = signature.fields
    lines = [HEADER, "from typing import NamedTuple", "", "from ._tensor import Tensor", ""]
    for name in sorted(found):
        lines += ["", f"class {name}(NamedTuple):", *body(f"{field}: Tensor" for field in found[name])]
    return "\n".join(lines) + "\n"
