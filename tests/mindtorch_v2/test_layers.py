"""The tree is the pipeline: a layer imports only what stands before it."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator

import pytest

import mindtorch_v2

ROOT = pathlib.Path(mindtorch_v2.__file__).parent
VALUES = [
    "_native",
    "_files",
    "_errors",
    "_dtype",
    "_keys",
    "_accelerators",
    "_device",
    "_shape",
    "_observer",
    "_storage",
    "_op_methods",
    "_tensor",
    "_owners",
    "_lazy_parts",
    "_guarded",
    "_quiet",
]  # _op_methods is a stub: type checkers alone import it
ORDER = [*VALUES, "_ops", "_dispatch", "_autograd", "_backends", "_python"]
# What looks up from inside a function, when it is called: nothing may be added here.
LOOKS_UP = {
    ("_dispatch/bind.py", "_python"),  # pin_memory=True
    # a layer that must be differentiable again is run step by step
    ("_autograd/derivatives/rnn.py", "_backends"),
    ("_backends/composite/rnn.py", "_python"),  # torch.tensor
    ("_backends/npu/backend.py", "npu"),  # the module torch.npu, for who asks the backend for it
    ("_python/autograd_methods.py", "autograd"),  # Tensor.backward with arguments
}


PACKAGE = ROOT.name
# Functions that import the module that their first argument names.
IMPORTERS = {"import_module", "_import_module", "__import__"}
Module = tuple[str, ...]


def _imported(text: str, path: Module, is_package: bool = False) -> Iterator[Module]:
    """The package's own modules that a file imports anywhere, inside functions too, as paths below the package.

    A name that is imported from a module is the last part of its path.
    """
    return (target for _, target in _imports_with_nodes(ast.parse(text), path, is_package))


def _imports_with_nodes(tree: ast.AST, path: Module, is_package: bool) -> Iterator[tuple[ast.AST, Module]]:
    package = path if is_package else path[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [("." * node.level + (node.module or ""), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in IMPORTERS:
            names = [(a.value, "") for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        else:
            continue
        for module, name in names:
            absolute = _absolute(module, package)
            if absolute is not None:
                yield node, (*absolute, name) if name else absolute


def _absolute(module: str, package: Module) -> Module | None:
    """The path below the package of a module named as in an import statement; None for what others wrote."""
    parts = tuple(part for part in module.lstrip(".").split(".") if part)
    level = len(module) - len(module.lstrip("."))
    if not level:
        return parts[1:] if parts[:1] == (PACKAGE,) else None
    return (*package[: len(package) - level + 1], *parts) if level <= len(package) + 1 else None


def _parts(path: pathlib.Path) -> Module:
    """The path of a file's module below the package, without an `__init__` at its end."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _imports(path: pathlib.Path) -> set[str]:
    """First parts of the package's own modules that a file imports; "" is the package itself."""
    found = _imported(path.read_text(), _parts(path), path.name == "__init__.py")
    return {target[0] if target else "" for target in found}


@pytest.mark.parametrize(
    "statement",
    [
        "from ..nn import Module",
        "from .. import nn",
        "from mindtorch_v2.nn import Module",
        "from mindtorch_v2 import nn",
        "import mindtorch_v2.nn.modules",
        "importlib.import_module('mindtorch_v2.nn')",
        "import_module('..nn', __package__)",
        "__import__('mindtorch_v2.nn')",
    ],
)
def test_an_import_inside_a_function_is_seen(statement: str) -> None:
    code = f"def function():\n    if True:\n        {statement}\n"
    assert {target[0] for target in _imported(code, ("_dispatch", "module"))} == {"nn"}


def _looks_up() -> set[tuple[str, str]]:
    """Files of the layers with what they import of layers above them, or of what stands above all layers."""
    found = set()
    for path in ROOT.rglob("*.py"):
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer in ORDER:
            allowed = ORDER[: ORDER.index(layer) + 1]
            found |= {(str(path.relative_to(ROOT)), name) for name in _imports(path) if name not in allowed}
    return found


def test_layers_import_only_what_stands_before_them():
    wrong = sorted(_looks_up() - LOOKS_UP)
    assert not wrong, "\n".join(f"{file} imports {name}, which stands above it" for file, name in wrong)


def test_exceptions_are_in_use():
    assert not LOOKS_UP - _looks_up()


def test_the_observer_slot_imports_nothing_of_the_package():
    assert not list(_imports(ROOT / "_observer.py"))


def test_gradients_are_switched_off_only_where_that_is_certain_to_be_undone():
    """`set_grad` beside `modes` and the user's own switch could be interrupted before it is undone: `call_with_grad`
    cannot.
    """
    users = {path.name for path in ROOT.rglob("*.py") if "modes.set_grad(" in path.read_text()}
    assert users == {"grad_mode.py"}


# The profiler's rooms: each imports itself and what stands before it. Modules that carry PyTorch's names belong to the
# room named here.
ROOMS = ["record", "store", "load", "analysis", "ranks", "export", "report", "results", "capture", "profiler", "cli"]
ROOM_OF_MODULE = {
    "itt": "record",
    "record_function": "record",
    "schedule": "record",
    "_memory_profiler": "results",
    "_pattern_matcher": "results",
    "_utils": "results",
    "profiler": "profiler",
    "__init__": "profiler",
    "__main__": "cli",
    "pytest_plugin": "cli",
}


def _room(parts: tuple[str, ...]) -> str:
    """The room of a module of the profiler, given by its path below profiler/."""
    return parts[0] if parts[0] in ROOMS and parts[0] != "profiler" else ROOM_OF_MODULE[parts[0]]


def _imported_from_the_profiler(path: pathlib.Path) -> Iterator[Module]:
    """What a module of the profiler imports from the profiler, as paths below profiler/: at module level and inside
    functions. Imports that only type checkers see do not count.
    """
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node, target in _imports_with_nodes(tree, _parts(path), path.name == "__init__.py"):
        if len(target) > 1 and target[0] == "profiler" and id(node) not in typing_only:
            yield target[1:]


def test_rooms_of_the_profiler_import_only_what_stands_before_them():
    wrong = []
    for path in (ROOT / "profiler").rglob("*.py"):
        room = _room(path.relative_to(ROOT / "profiler").with_suffix("").parts)
        wrong += [
            f"{path.relative_to(ROOT)} ({room}) imports {'.'.join(target)}"
            for target in _imported_from_the_profiler(path)
            if ROOMS.index(_room(target)) > ROOMS.index(room)
        ]
    assert not wrong, "\n".join(wrong)


def _table(title: str) -> list[str]:
    """The names in the first column of the first table below a heading of docs/architecture.md."""
    page = (pathlib.Path(__file__).parents[2] / "docs/architecture.md").read_text(encoding="utf-8")
    lines = page.partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("| `")]
    return [name.rstrip("/").removesuffix(".py") for row in rows for name in re.findall(r"`([\w./]+)`", row)]


def test_the_guide_lists_layers_and_rooms_in_their_order():
    layers = _table("Layers")
    above = layers.index(ORDER[-1]) + 1  # the public API and the profiler follow
    assert sorted(layers[:above]) == sorted(set(ORDER) - {"_op_methods"})
    assert [name for name in layers if name in ORDER[len(VALUES) :]] == ORDER[len(VALUES) :]
    assert _table("An event")[: len(ROOMS)] == ROOMS
